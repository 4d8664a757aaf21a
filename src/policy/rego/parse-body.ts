import type { Literal, Term, VarTerm, Operand, With } from "./ast.ts";
import { parseTerm } from "./parse-term.ts";
import { RegoError, type RegoPlace } from "./rego-error.ts";
import type { TokenReader } from "./token-reader.ts";

/** Parses expressions up to a closing sign, inclusive; there is at least one. */
export function parseBody(reader: TokenReader, close: string): readonly Literal[] {
  const body: Literal[] = [];
  for (;;) {
    body.push(parseLiteral(reader));
    const isSeparated = reader.took(";");
    if (!isSeparated && reader.took(close)) return body;
    if (!isSeparated && !reader.peek().afterNewline) reader.fail();
  }
}

/** Parses one expression with its `with` modifiers. */
export function parseLiteral(reader: TokenReader): Literal {
  return reader.nested(() => parseBracketed(reader) ?? parsePlain(reader));
}

function parsePlain(reader: TokenReader): Literal {
  const { at, text } = reader.peek();
  if (reader.isReference()) reader.allowAsName();
  if (reader.took("some")) return parseWith(reader, parseSome(reader, at));
  if (reader.took("every")) return parseWith(reader, parseEvery(reader, at));
  const negatedAt = reader.took("not") ? at : undefined;
  const body = negatedAt && parseNotBody(reader, negatedAt);
  if (body !== undefined) return parseTail(reader, { body: [body], isExplicit: false });
  const literal = parseWith(reader, negatedIf(reader, negatedAt, parseExpression(reader)));
  if (!isOperator(reader)) return literal;
  if (literal.with.length > 0) reader.fail("with may not be applied to an operand without parentheses");
  if (text === "{") reader.fail("`{...}` in an operand position must contain expression(s)", at);
  return parseTail(reader, { body: [literal], isExplicit: false });
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

/** Whether `and` or `or` are keywords of this module. */
function isLogical({ keywords }: TokenReader): boolean {
  return keywords.has("and") || keywords.has("or");
}

/** Whether `and` or `or` is next. */
function isOperator(reader: TokenReader): boolean {
  return reader.isKeyword("and") || reader.isKeyword("or");
}

/** An expression that begins with a body in braces or a group in parentheses; undefined where these are a term. */
function parseBracketed(reader: TokenReader): Literal | undefined {
  if (!isLogical(reader)) return undefined;
  if (reader.isSign("{")) {
    const mark = reader.mark();
    const operand = attempt(reader, () => parseBraces(reader));
    if (operand !== undefined && isOperator(reader)) return parseTail(reader, operand);
    reader.backTo(mark);
  }
  if (!reader.isSign("(")) return undefined;
  const group = parseGroup(reader, false);
  return group === undefined ? undefined : parseTail(reader, group);
}

/** What follows an operand: operators and their other operands, and the `with` modifiers of the whole. */
function parseTail(reader: TokenReader, operand: Operand): Literal {
  const [first] = operand.body;
  if (first === undefined) return reader.fail();
  return parseWith(reader, isOperator(reader) ? parseChain(reader, operand) : first);
}

/** `not {…}`, or `not (…)` with more than a term inside; undefined where neither follows. `not` was read. */
function parseNotBody(reader: TokenReader, at: RegoPlace): Literal | undefined {
  if (reader.isKeyword("some") || reader.isKeyword("every")) reader.fail(`illegal negation of '${reader.peek().text}'`);
  if (!reader.notBodies.areOn) return undefined;
  const inner = reader.isSign("{") ? parseBraces(reader) : reader.isSign("(") ? parseGroup(reader, true) : undefined;
  return inner === undefined ? undefined : { kind: "notBody", inner, with: [], at };
}

/** A body in braces. @throws RegoError for one that may be a comprehension as well */
function parseBraces(reader: TokenReader): Operand {
  const { at } = reader.expect("{");
  const start = reader.peek();
  const body = reader.body("}");
  const [first] = body;
  const isUnion = first?.kind === "expression" && first.term.kind === "call" && first.term.name[0] === "or";
  if (isUnion && start.text !== "(" && start.text !== "or")
    reader.fail("ambiguous `{ ... | ... }` operand: read as a body holding a set-union expression", at);
  return { body, isExplicit: true };
}

/** A chain of operators; `and` binds tighter than `or`. The first operand was read, an operator is next. */
function parseChain(reader: TokenReader, first: Operand): Literal {
  return reader.nested(() => {
    const [whole] = chainOf(reader, "or", parseAnds(reader, first), () => parseAnds(reader, parseOperand(reader))).body;
    return whole ?? reader.fail();
  });
}

function parseAnds(reader: TokenReader, first: Operand): Operand {
  return chainOf(reader, "and", first, () => parseOperand(reader));
}

/** All operands of one operator; the first alone where the operator does not follow. */
// oxlint-disable-next-line max-params
function chainOf(reader: TokenReader, operator: "and" | "or", first: Operand, read: () => Operand): Operand {
  if (!reader.isKeyword(operator)) return first;
  const { at } = reader.peek();
  const operands = [first];
  while (reader.isKeyword(operator)) {
    reader.next();
    operands.push(read());
  }
  return implicit({ kind: "logical", operator, operands, with: [], at });
}

function implicit(literal: Literal): Operand {
  return { body: [literal], isExplicit: false };
}

/** One operand of `and`, `or`, or a group. */
function parseOperand(reader: TokenReader): Operand {
  if (reader.isSign("{")) return parseBraces(reader);
  const { at } = reader.peek();
  const isNegated = reader.took("not");
  if (isNegated && reader.notBodies.areOn) {
    const inner = parseNotBody(reader, at);
    if (inner !== undefined) return implicit(inner);
  } else if (!isNegated && reader.isSign("(")) {
    const group = parseGroup(reader, true);
    if (group !== undefined) return group;
  }
  return implicit(negatedIf(reader, isNegated ? at : undefined, parseExpression(reader)));
}

/** The expression, negated in the way of this module if there was a `not`. */
function negatedIf(reader: TokenReader, at: RegoPlace | undefined, literal: Literal): Literal {
  if (at === undefined) return literal;
  if (!reader.notBodies.areOn) return { kind: "not", body: literal, with: [], at };
  return { kind: "notBody", inner: implicit(literal), with: [], at };
}

/** Operands in parentheses; undefined, with nothing read, where the parentheses enclose a term. */
function parseGroup(reader: TokenReader, isOperand: boolean): Operand | undefined {
  return reader.nested(() => {
    const mark = reader.mark();
    reader.expect("(");
    const first = attempt(reader, () => parseOperand(reader));
    const group = first === undefined ? undefined : groupFrom(reader, first, isOperand);
    if (group === undefined) reader.backTo(mark);
    return group;
  });
}

function groupFrom(reader: TokenReader, first: Operand, isOperand: boolean): Operand | undefined {
  const [literal] = first.body;
  if (literal === undefined) return undefined;
  if (isOperator(reader)) {
    const whole = parseWith(reader, parseChain(reader, first));
    reader.expect(")");
    return implicit(whole);
  }
  if (reader.isKeyword("with") && !first.isExplicit) {
    const whole = parseWith(reader, literal);
    if (isOperator(reader)) reader.fail("with may not be applied to an operand without parentheses");
    reader.expect(")");
    return isOperand || isOperator(reader) ? implicit(whole) : undefined;
  }
  if (first.isExplicit || !["logical", "not", "notBody"].includes(literal.kind)) return undefined;
  reader.expect(")");
  return first;
}

/** The result of `read`, or undefined, with nothing read, where that fails. */
export function attempt<T>(reader: TokenReader, read: () => T): T | undefined {
  const mark = reader.mark();
  try {
    return read();
  } catch (error) {
    if (!(error instanceof RegoError) || error.code !== "rego_parse_error") throw error;
    reader.backTo(mark);
    return undefined;
  }
}

/** The expression with its `with` modifiers, if there are any. */
function parseWith(reader: TokenReader, literal: Literal): Literal {
  const replaced: With[] = [];
  while (reader.took("with")) {
    const target = parseTerm(reader);
    reader.expect("as");
    replaced.push({ target, value: parseTerm(reader) });
  }
  return replaced.length === 0 ? literal : { ...literal, with: replaced };
}

/** A term, or two with `:=` or `=` between them. */
function parseExpression(reader: TokenReader): Literal {
  const { at } = reader.peek();
  const left = parseTerm(reader, true);
  if (reader.took(":=")) return { kind: "assign", left, right: parseTerm(reader, true), with: [], at };
  if (reader.took("=")) return { kind: "unify", left, right: parseTerm(reader, true), with: [], at };
  return { kind: "expression", term: left, with: [], at };
}
