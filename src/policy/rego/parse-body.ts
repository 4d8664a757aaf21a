import type { Literal, Term, VarTerm } from "./ast.ts";
import { isOperator, negatedIf, parseLed, parseNotBody, parseTail } from "./parse-logical.ts";
import { parseExpression, withReplaced } from "./parse-expression.ts";
import { parseTerm } from "./parse-term.ts";
import type { RegoPlace } from "./rego-error.ts";
import type { TokenReader } from "./token-reader.ts";

/** Expressions up to a closing sign, which is read, too; there is at least one. */
export function parseBody(reader: TokenReader, close: string): readonly Literal[] {
  const body: Literal[] = [];
  for (;;) {
    body.push(parseLiteral(reader));
    const isSeparated = reader.took(";");
    if (!isSeparated && reader.took(close)) return body;
    if (!isSeparated && !reader.peek().afterNewline) reader.fail();
  }
}

/** One expression, with what is replaced while it is evaluated. */
export function parseLiteral(reader: TokenReader): Literal {
  return reader.nested(() => {
    const led = parseLed(reader);
    if (led !== undefined) return led;
    const { at, text } = reader.peek();
    if (reader.isReference()) reader.allowAsName();
    if (reader.took("some")) return withReplaced(reader, parseSome(reader, at));
    if (reader.took("every")) return withReplaced(reader, parseEvery(reader, at));
    const isNegated = reader.took("not");
    if (isNegated && (reader.isKeyword("some") || reader.isKeyword("every")))
      reader.fail(`illegal negation of '${reader.peek().text}'`);
    const body = isNegated && reader.notBodies.areOn ? parseNotBody(reader, at) : undefined;
    if (body !== undefined) return parseTail(reader, { body: [body], isExplicit: false });
    const literal = withReplaced(reader, negatedIf(reader, isNegated ? at : undefined, parseExpression(reader)));
    if (!isOperator(reader)) return literal;
    if (literal.with.length > 0) reader.fail("with may not be applied to an operand without parentheses");
    if (text === "{") reader.fail("`{...}` in an operand position must contain expression(s)", at);
    return parseTail(reader, { body: [literal], isExplicit: false });
  });
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
