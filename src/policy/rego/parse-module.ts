import type { Import, Module, RegoVersion, Rule, Term } from "./ast.ts";
import { parseBody, parseLiteral } from "./parse-body.ts";
import { parseRule } from "./parse-rule.ts";
import { parseStep, parseTerm } from "./parse-term.ts";
import { RegoError, type RegoPlace } from "./rego-error.ts";
import { tokenReader, type TokenReader } from "./token-reader.ts";

/**
 * Reads a module: as Rego v1, and where it is none, as v0.
 * @throws RegoError `size` or `rego_parse_error`
 */
export function parseModule(source: string, file: string): Module {
  try {
    return parseAs(source, file, "v1");
  } catch (error) {
    if (!(error instanceof RegoError) || error.code !== "rego_parse_error") throw error;
    try {
      return parseAs(source, file, "v0");
    } catch (other) {
      // Who imports keywords of the future writes v0, and is told what is wrong with that.
      throw other instanceof RegoError && /^\s*import\s+future\./m.test(source) ? other : error;
    }
  }
}

/** Reads `data.a.b` and the like. @throws RegoError `rego_parse_error` */
export function parseQuery(source: string): Term {
  const reader = tokenReader(source, { file: "query", version: "v1", parseBody, parseLiteral });
  const term = parseTerm(reader);
  if (reader.peek().kind !== "end") reader.fail();
  return term;
}

function parseAs(source: string, file: string, version: RegoVersion): Module {
  const reader = tokenReader(source, { file, version, parseBody, parseLiteral });
  const { at } = reader.expect("package");
  const name = parsePath(reader);
  const imports: Import[] = [];
  const rules: Rule[] = [];
  for (;;) {
    while (reader.took(";"));
    const { kind, afterNewline } = reader.peek();
    if (kind === "end") break;
    if (!afterNewline && rules.length > 0) reader.fail();
    if (reader.isKeyword("import")) parseImport(reader, imports);
    else rules.push(...parseRule(reader));
  }
  return { file, package: name, at, imports, rules, version };
}

function parsePath(reader: TokenReader): readonly string[] {
  const first = reader.next();
  if (first.kind !== "name") return reader.fail("expected a name", first.at);
  const path = [first.text];
  while ((reader.isSign(".") || reader.isSign("[")) && reader.peek().isAdjacent) {
    const step = parseStep(reader);
    if (step.kind !== "scalar" || typeof step.value !== "string") return reader.fail("expected a string", step.at);
    path.push(step.value);
  }
  return path;
}

function parseImport(reader: TokenReader, imports: Import[]): void {
  const { at } = reader.expect("import");
  const path = parsePath(reader);
  const [root] = path;
  if (root === "future" || root === "rego") return importKeywords(reader, path, at);
  if (root !== "data" && root !== "input")
    reader.fail(
      "unexpected import path, must begin with one of: {data, future, input, rego}, got: " + String(root),
      at,
    );
  const alias = importedName(reader, path, at);
  imports.push({ alias, path, at });
}

function importedName(reader: TokenReader, path: readonly string[], at: RegoPlace): string {
  if (reader.took("as")) {
    const token = reader.next();
    if (token.kind !== "name" || reader.isReserved(token)) reader.fail("expected var", token.at);
    return token.text;
  }
  const last = path.at(-1) ?? "";
  if (path.length > 1 && reader.keywords.has(last))
    reader.fail(`unexpected import path, must not end with a keyword, got: ${last}`, at);
  return last;
}

function importKeywords(reader: TokenReader, path: readonly string[], at: RegoPlace): void {
  const [root, second, third] = path;
  const isKnown =
    root === "rego" ? /^v[12]$/.test(second ?? "") && path.length === 2 : second === "keywords" && path.length <= 3;
  if (!isKnown || (third !== undefined && !reader.future.includes(third)))
    reader.fail(`unexpected import ${path.join(".")}`, at);
  if (root === "rego" && reader.version === "v0") reader.fail(`import rego.${second} makes the module a v1 module`, at);
  if (second === "v1") return;
  for (const keyword of third === undefined ? reader.future : [third]) {
    reader.keywords.add(keyword);
    if (keyword === "not") reader.notBodies.areOn = true;
  }
  // `every` is read with `in`.
  if (third === "every") reader.keywords.add("in");
}
