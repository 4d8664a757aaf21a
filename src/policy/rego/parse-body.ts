import type { Literal, Term, VarTerm, With } from "./ast.ts";
import { parseTerm } from "./parse-term.ts";
import type { RegoPlace } from "./rego-error.ts";
import type { TokenReader } from "./token-reader.ts";

/** Expressions up to a closing sign, which is read, too; there is at least one. */
export function parseBody(reader: TokenReader, close: string): readonly Literal[] {
  const body: Literal[] = [];
  for (;;) {
    body.push(parseLiteral(reader));
    const isSeparated = reader.took(";");
    if (reader.took(close)) return body;
    if (!isSeparated && !reader.peek().afterNewline) reader.fail();
  }
}

/** One expression, with what is replaced while it is evaluated. */
export function parseLiteral(reader: TokenReader): Literal {
  return reader.nested(() => {
    const literal = parseBare(reader);
    const replaced: With[] = [];
    while (reader.took("with")) {
      const target = parseTerm(reader);
      reader.expect("as");
      replaced.push({ target, value: parseTerm(reader) });
    }
    return replaced.length === 0 ? literal : { ...literal, with: replaced };
  });
}

function parseBare(reader: TokenReader): Literal {
  const { at } = reader.peek();
  if (reader.took("not")) return { kind: "not", body: reader.nested(() => parseBare(reader)), with: [], at };
  if (reader.took("some")) return parseSome(reader, at);
  if (reader.took("every")) return parseEvery(reader, at);
  const left = parseTerm(reader, true);
  if (reader.took(":=")) return { kind: "assign", left, right: parseTerm(reader, true), with: [], at };
  if (reader.took("=")) return { kind: "unify", left, right: parseTerm(reader, true), with: [], at };
  return { kind: "expression", term: left, with: [], at };
}

function parseSome(reader: TokenReader, at: RegoPlace): Literal {
  const start = reader.mark();
  const term = parseTerm(reader, true);
  const member = term.kind === "call" ? term.name[0] : undefined;
  if (term.kind === "call" && (member === "internal.member_2" || member === "internal.member_3")) {
    const [first, second, third] = term.args as readonly [Term, Term, Term | undefined];
    if (third === undefined) return { kind: "someIn", key: undefined, value: first, domain: second, with: [], at };
    return { kind: "someIn", key: first, value: second, domain: third, with: [], at };
  }
  reader.backTo(start);
  const vars: VarTerm[] = [];
  do {
    const { kind, text, at: place } = reader.next();
    if (kind !== "name" || reader.keywords.has(text)) reader.fail("expected a variable behind some", place);
    vars.push({ kind: "var", name: text, at: place });
  } while (reader.took(","));
  return { kind: "some", vars, with: [], at };
}

function parseEvery(reader: TokenReader, at: RegoPlace): Literal {
  const variable = (): Term => {
    const { kind, text, at: place } = reader.next();
    if (kind !== "name" || reader.keywords.has(text)) reader.fail("expected a variable behind every", place);
    return { kind: "var", name: text === "_" ? `$${reader.fresh()}` : text, at: place };
  };
  const first = variable();
  const second = reader.took(",") ? variable() : undefined;
  reader.expect("in");
  const domain = parseTerm(reader);
  reader.expect("{");
  const body = parseBody(reader, "}");
  const [key, value] = second === undefined ? [undefined, first] : [first, second];
  return { kind: "every", key, value, domain, body, with: [], at };
}
