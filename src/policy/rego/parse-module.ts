import {
  innerTerms,
  type Import,
  type Module,
  type RegoVersion,
  type Rule,
  type Term,
  type Branch,
  type Literal,
} from "./ast.ts";
import { parseBody, parseLiteral, attempt } from "./parse-body.ts";
import { parseStep, parseTerm, parseList, templateFunction } from "./parse-term.ts";
import { RegoError, type RegoPlace } from "./rego-error.ts";
import { tokenReader, type TokenReader } from "./token-reader.ts";

/**
 * Parses a module as Rego v1, or, where that fails, as v0.
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
      // A module that imports keywords of the future is v0, so the error of v0 is reported.
      throw other instanceof RegoError && /^\s*import\s+future\./m.test(source) ? other : error;
    }
  }
}

/** Parses `data.a.b` and the like. @throws RegoError `rego_parse_error` */
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
  while (isStep(reader)) {
    const step = parseStep(reader);
    if (step.kind !== "scalar" || typeof step.value !== "string") return reader.fail("expected a string", step.at);
    path.push(step.value);
  }
  return path;
}

/** Whether `.name` or `[term]` follows without a gap. */
function isStep(reader: TokenReader): boolean {
  return (reader.isSign(".") || reader.isSign("[")) && reader.peek().isAdjacent;
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
  if (!isKnownImport(reader, path)) reader.fail(`unexpected import ${path.join(".")}`, at);
  if (root === "rego" && reader.version === "v0") reader.fail(`import rego.${second} makes the module a v1 module`, at);
  if (second === "v1") return;
  for (const keyword of third === undefined ? reader.future : [third]) {
    reader.keywords.add(keyword);
    if (keyword === "not") reader.notBodies.areOn = true;
  }
  // The syntax of `every` includes `in`.
  if (third === "every") reader.keywords.add("in");
}

function isKnownImport({ future }: TokenReader, path: readonly string[]): boolean {
  const [root, second = "", third] = path;
  if (root === "rego") return /^v[12]$/.test(second) && path.length === 2;
  return second === "keywords" && path.length <= 3 && (third === undefined || future.includes(third));
}

/** One rule; several where v0 has several bodies. */
function parseRule(reader: TokenReader): readonly Rule[] {
  const { at } = reader.peek();
  const isDefault = reader.took("default");
  const head = parseHead(reader);
  const hasValue = reader.isSign(":=") || reader.isSign("=");
  const value = parseValue(reader, at);
  const { args, tests } = templatesApart(reader, head.args);
  if (isDefault) {
    refuseDefault(reader, value, head.args);
    const { path, member } = head;
    return [{ path, args, member, isDefault, at, branches: [{ value, body: tests }] }];
  }
  const bodies = parseBodies(reader);
  const [first, ...more] = bodies;
  const { path, member } = asSet(reader, head, { hasValue, hasIf: first?.hasIf === true });
  if (first === undefined && !hasValue && member === undefined)
    reader.fail(`${head.name} must have value assignment and/or body declaration`, at);
  const elses = parseElses(reader);
  if (elses.length > 0) refuseElse(reader, path, member);
  const rule = { path, args, member, isDefault, at };
  const branch = (each: Branch): Branch => ({ value: each.value, body: [...tests, ...each.body] });
  return [
    { ...rule, branches: [{ value, body: first?.body ?? [] }, ...elses].map(branch) },
    ...more.map(({ body }) => ({ ...rule, branches: [branch({ value, body })] })),
  ];
}

/** In v0, `p[x]` without a value and without `if` is a set. */
function asSet(
  { version }: TokenReader,
  { path, member, isBracketed }: Head,
  { hasValue, hasIf }: { readonly hasValue: boolean; readonly hasIf: boolean },
): Pick<Head, "path" | "member"> {
  const isSet = version === "v0" && member === undefined && !hasValue && !hasIf && isBracketed;
  return isSet ? { path: path.slice(0, -1), member: path.at(-1) } : { path, member };
}

/** Only a rule of one value has an `else`. */
function refuseElse(reader: TokenReader, path: readonly Term[], member: Term | undefined): void {
  if (member !== undefined) reader.fail("else keyword cannot be used on multi-value rules");
  if (path.some((part) => part.kind !== "scalar"))
    reader.fail("else keyword cannot be used on rules with variables in head");
}

/** A default is a constant, whatever the arguments. */
function refuseDefault(reader: TokenReader, value: Term, args: readonly Term[] | undefined): void {
  const found = notConstant(value);
  if (found !== undefined) reader.fail(`illegal default rule (value cannot contain ${found.kind})`, found.at);
  const names = (args ?? []).map((arg) => (arg.kind === "var" ? arg.name : undefined));
  if (names.includes(undefined)) reader.fail("illegal default rule (arguments must be variables)", value.at);
  if (new Set(names).size < names.length) reader.fail("illegal default rule (arguments cannot be repeated)", value.at);
}

function notConstant(term: Term): Term | undefined {
  if (["var", "ref", "call"].includes(term.kind)) return term;
  return innerTerms(term)
    .map(notConstant)
    .find((found) => found !== undefined);
}

interface Arguments {
  readonly args: readonly Term[] | undefined;
  readonly tests: readonly Literal[];
}

/** Arguments that are templates become variables, which the bodies compare with the values of the templates. */
function templatesApart(reader: TokenReader, args: readonly Term[] | undefined): Arguments {
  const tests: Literal[] = [];
  const plain = args?.map((arg): Term => {
    if (arg.kind !== "call" || arg.name[0] !== templateFunction) return arg;
    const { at } = arg;
    const left: Term = { kind: "var", name: `$${reader.fresh()}`, at };
    tests.push({ kind: "unify", left, right: arg, with: [], at });
    return left;
  });
  return { args: plain, tests };
}

interface Head {
  readonly name: string;
  readonly path: readonly Term[];
  readonly args: readonly Term[] | undefined;
  readonly member: Term | undefined;
  /** Whether it is a name and one part in brackets. */
  readonly isBracketed: boolean;
}

function parseHead(reader: TokenReader): Head {
  const isReference = reader.isReference();
  const { kind, text, at } = reader.next();
  if (kind !== "name" || (reader.keywords.has(text) && !isReference))
    return reader.fail(`var cannot be used for rule name`, at);
  const path: Term[] = [{ kind: "scalar", value: text, at }];
  let isBracketed = false;
  while (isStep(reader)) {
    isBracketed = reader.isSign("[") && path.length === 1;
    path.push(parseStep(reader));
  }
  const args = parseArgs(reader);
  const member = args === undefined && reader.took("contains") ? parseTerm(reader) : undefined;
  return { name: text, path, args, member, isBracketed: isBracketed && args === undefined };
}

function parseArgs(reader: TokenReader): readonly Term[] | undefined {
  if (!reader.isSign("(") || !reader.peek().isAdjacent) return undefined;
  reader.next();
  const args = parseList(reader, ")");
  // `f()` is the rule `f`.
  return args.length === 0 ? undefined : args;
}

function parseValue(reader: TokenReader, at: RegoPlace): Term {
  if (reader.took(":=") || reader.took("=")) return parseTerm(reader);
  return { kind: "scalar", value: true, at };
}

interface Body {
  readonly body: readonly Literal[];
  readonly hasIf: boolean;
}

function parseBodies(reader: TokenReader): readonly Body[] {
  if (reader.took("if")) return [{ body: parseIfBody(reader, true), hasIf: true }];
  const bodies: Body[] = [];
  while (reader.isSign("{") && (bodies.length === 0 || !reader.peek().afterNewline)) {
    if (reader.version === "v1") reader.fail("`if` keyword is required before rule body");
    bodies.push({ body: parseIfBody(reader, false), hasIf: false });
  }
  return bodies;
}

function parseIfBody(reader: TokenReader, hasIf: boolean): readonly Literal[] {
  if (hasIf && !reader.isSign("{")) return [parseLiteral(reader)];
  const mark = reader.mark();
  // A quick look-ahead avoids parsing most bodies twice.
  const { kind, text } = reader.peek(1);
  const isBody = kind === "name" && ["some", "every", "not"].includes(text) && reader.peek(2).text !== ".";
  const literal = hasIf && !isBody ? attempt(reader, () => parseLiteral(reader)) : undefined;
  // A set would always be true, so it is parsed as a body.
  if (literal !== undefined && !(literal.kind === "expression" && literal.term.kind === "set")) return [literal];
  reader.backTo(mark);
  reader.expect("{");
  return parseBody(reader, "}");
}

function parseElses(reader: TokenReader): readonly Branch[] {
  const branches: Branch[] = [];
  while (reader.isKeyword("else")) {
    const { at } = reader.next();
    const value = parseValue(reader, at);
    const hasIf = reader.took("if");
    if (!hasIf && reader.isSign("{") && reader.version === "v1")
      reader.fail("`if` keyword is required before rule body");
    branches.push({ value, body: hasIf || reader.isSign("{") ? parseIfBody(reader, hasIf) : [] });
  }
  return branches;
}
