import {
  newNodes,
  type CelElement,
  type CelEntry,
  type CelExpression,
  type CelFieldValue,
  type NewNode,
  type Nodes,
} from "./ast.ts";
import { celError } from "./cel-error.ts";
import { literalOf, reservedWords, tokenize, type CelToken } from "./lexer.ts";
import { expandMacro } from "./macros.ts";

/** Maximum depth of an expression. */
const maxDepth = 250;

/** Precedence of each binary operator. */
const powers: ReadonlyMap<string, number> = new Map(
  [
    ["<", "<=", ">", ">=", "==", "!=", "in"],
    ["+", "-"],
    ["*", "/", "%"],
  ].flatMap((signs, power) => signs.map((sign) => [sign, power] as const)),
);

/** A parsed expression: its root, and its number of nodes. */
export interface CelParsed {
  readonly root: CelExpression;
  readonly nodeCount: number;
}

interface Parser {
  readonly source: string;
  readonly tokens: readonly CelToken[];
  readonly nodes: Nodes;
  at: number;
  depth: number;
}

/**
 * Reads an expression; macros are expanded.
 * @throws CelError `syntax` or `size`
 */
export function parseCel(source: string): CelParsed {
  const parser: Parser = { source, tokens: tokenize(source), nodes: newNodes(source), at: 0, depth: 0 };
  const root = expression(parser);
  if (peek(parser).kind !== "end") throw reportUnexpected(parser, "<EOF>", peek(parser, 1).kind === "end");
  return { root, nodeCount: parser.nodes.count() };
}

/** ANTLR's lists of tokens that may start an expression, and that may follow an opening list, map or message. */
const literals = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
const startOfExpression = `{'[', '{', '(', '.', '-', '!', ${literals}`;
const startOfList = `{'[', '{', ']', '(', '.', ',', '-', '!', '?', ${literals}`;
const startOfMap = `{'[', '{', '}', '(', '.', ',', '-', '!', '?', ${literals}`;
const startOfFields = "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}";

function peek({ source, tokens, at }: Parser, ahead = 0): CelToken {
  return tokens[at + ahead] ?? { kind: "end", text: "<EOF>", offset: source.length, end: source.length };
}

function take(parser: Parser): CelToken {
  const token = peek(parser);
  parser.at++;
  return token;
}

function isSign(token: CelToken, text: string): boolean {
  return token.kind === "sign" && token.text === text;
}

function accept(parser: Parser, text: string): CelToken | undefined {
  return isSign(peek(parser), text) ? take(parser) : undefined;
}

function expect(parser: Parser, text: string): CelToken {
  const token = accept(parser, text);
  if (token === undefined) throw reportUnexpected(parser, `'${text}'`);
  return token;
}

/** Reports an unexpected token; `extraneous` where the expected one follows it, as ANTLR does. */
function reportUnexpected(parser: Parser, expected: string, extraneous = false): Error {
  return misread(parser, extraneous ? "extraneous input" : "mismatched input", expected);
}

function misread(parser: Parser, what: string, expected: string): Error {
  const { kind, text, offset, end } = peek(parser);
  const written = kind === "end" ? text : parser.source.slice(offset, Math.min(end, offset + 80));
  return parser.nodes.error(offset, `Syntax error: ${what} '${written}' expecting ${expected}`);
}

function make(parser: Parser, { offset }: CelToken, node: NewNode): CelExpression {
  return parser.nodes.make(offset, node);
}

type Call = Omit<Extract<NewNode, { readonly kind: "call" }>, "kind">;

function call(parser: Parser, token: CelToken, given: Call): CelExpression {
  return make(parser, token, { kind: "call", ...given });
}

function expression(parser: Parser): CelExpression {
  if (++parser.depth > maxDepth) {
    const message = `expression recursion limit exceeded: ${maxDepth}`;
    throw celError("size", parser.source, [{ offset: peek(parser).offset, message }]);
  }
  let result = logical(parser, "||");
  const question = accept(parser, "?");
  if (question !== undefined) {
    const then = logical(parser, "||");
    expect(parser, ":");
    result = call(parser, question, { name: "_?_:_", args: [result, then, expression(parser)] });
  }
  parser.depth--;
  return result;
}

/** Chains of `&&` and `||` become balanced trees, so that long ones do not nest deeply. */
function logical(parser: Parser, sign: "||" | "&&"): CelExpression {
  const operand = (): CelExpression => (sign === "||" ? logical(parser, "&&") : binary(parser, 0));
  const first = operand();
  const terms = [first];
  const signs: CelToken[] = [];
  for (let token = accept(parser, sign); token !== undefined; token = accept(parser, sign)) {
    signs.push(token);
    terms.push(operand());
  }
  if (signs.length === 0) return first;
  const tree = (from: number, to: number): CelExpression => {
    if (to - from === 1) return terms[from] ?? first;
    const middle = from + ((to - from) >> 1);
    const args = [tree(from, middle), tree(middle, to)];
    return call(parser, signs[middle - 1] ?? peek(parser), { name: `_${sign}_`, args });
  };
  return tree(0, terms.length);
}

function binary(parser: Parser, least: number): CelExpression {
  let left = unary(parser);
  for (;;) {
    const token = peek(parser);
    const { kind, text } = token;
    const power = kind === "sign" || kind === "identifier" ? powers.get(text) : undefined;
    if (power === undefined || power < least) return left;
    take(parser);
    left = call(parser, token, { name: text === "in" ? "@in" : `_${text}_`, args: [left, binary(parser, power + 1)] });
  }
}

/** A row of signs reduces to none or one. The minus before a number is part of it. */
function unary(parser: Parser): CelExpression {
  const first = peek(parser);
  let count = 0;
  if (isSign(first, "-")) for (; isSign(peek(parser), "-") && !isNumber(peek(parser, 1)); parser.at++) count++;
  else while (isSign(first, "!") && accept(parser, "!") !== undefined) count++;
  const operand = postfix(parser, primary(parser));
  return count % 2 === 0 ? operand : call(parser, first, { name: `${first.text}_`, args: [operand] });
}

function isNumber({ kind }: CelToken): boolean {
  return kind === "int" || kind === "double";
}

function postfix(parser: Parser, start: CelExpression): CelExpression {
  let operand = start;
  for (;;) {
    const token = peek(parser);
    if (accept(parser, ".") !== undefined) operand = member(parser, token, operand);
    else if (accept(parser, "[") !== undefined) {
      const name = accept(parser, "?") === undefined ? "_[_]" : "_[?_]";
      const index = expression(parser);
      expect(parser, "]");
      operand = call(parser, token, { name, args: [operand, index] });
    } else return operand;
  }
}

function member(parser: Parser, dot: CelToken, operand: CelExpression): CelExpression {
  const optional = accept(parser, "?") !== undefined;
  const name = fieldName(parser);
  const open = peek(parser);
  if (optional || name.kind === "name" || accept(parser, "(") === undefined)
    return make(parser, dot, { kind: "select", operand, field: name.text, optional });
  return callOrMacro(parser, open, { name: name.text, target: operand });
}

/** The call of a function or macro; its opening parenthesis was read. */
function callOrMacro(parser: Parser, open: CelToken, callee: Omit<Call, "args">): CelExpression {
  const args: CelExpression[] = [];
  if (accept(parser, ")") === undefined) {
    do args.push(expression(parser));
    while (accept(parser, ",") !== undefined);
    expect(parser, ")");
  }
  const given = { ...callee, args };
  return expandMacro(parser.nodes, { ...given, offset: open.offset }) ?? call(parser, open, given);
}

const notNames = ["in", "true", "false", "null"];

function fieldName(parser: Parser): CelToken {
  const { kind, text } = peek(parser);
  if (kind === "name" || (kind === "identifier" && !notNames.includes(text))) return take(parser);
  throw misread(parser, kind === "end" ? "no viable alternative at input" : "mismatched input", "IDENTIFIER");
}

function primary(parser: Parser): CelExpression {
  const token = peek(parser);
  if (isSign(token, "(")) {
    take(parser);
    const inner = expression(parser);
    expect(parser, ")");
    return inner;
  }
  if (isSign(token, "[")) return list(parser);
  if (isSign(token, "{")) return map(parser);
  if (isSign(token, ".")) return identifier(parser);
  const literal = literalOf(parser.tokens, parser.at);
  if (literal !== undefined) {
    if ("problem" in literal) throw parser.nodes.error(token.offset, literal.problem);
    parser.at += literal.length;
    return make(parser, token, { kind: "literal", value: literal.value });
  }
  if (token.kind === "identifier" && token.text !== "in") return identifier(parser);
  throw reportUnexpected(parser, startOfExpression, startsExpression(peek(parser, 1)));
}

/** Whether an expression may start with a token. */
function startsExpression({ kind, text }: CelToken): boolean {
  if (kind === "end" || kind === "name") return false;
  return kind === "sign" ? ["[", "{", "(", ".", "-", "!"].includes(text) : text !== "in";
}

/** A name, perhaps absolute (`.a`), a call of a function, or a message `a.b{...}`. */
function identifier(parser: Parser): CelExpression {
  const absolute = accept(parser, ".") !== undefined;
  const token = peek(parser);
  const { text, offset } = token;
  if (token.kind !== "identifier") throw reportUnexpected(parser, "IDENTIFIER");
  const messageEnd = messageName(parser);
  if (messageEnd !== undefined) return message(parser, messageEnd);
  if (reservedWords.has(text)) throw parser.nodes.error(offset, `reserved identifier: ${text}`);
  take(parser);
  const open = accept(parser, "(");
  if (open !== undefined) return callOrMacro(parser, open, { name: text });
  return make(parser, token, { kind: "identifier", name: absolute ? `.${text}` : text });
}

/** How many tokens ahead the brace is if these are a dotted name and a brace. */
function messageName(parser: Parser): number | undefined {
  for (let ahead = 0; peek(parser, ahead).kind === "identifier"; ahead += 2) {
    const next = peek(parser, ahead + 1);
    if (isSign(next, "{")) return ahead + 1;
    if (!isSign(next, ".")) return undefined;
  }
  return undefined;
}

function message(parser: Parser, length: number): CelExpression {
  const name = Array.from({ length }, () => take(parser).text).join("");
  const open = take(parser);
  const startsField = ({ kind }: CelToken): boolean => kind === "identifier" || kind === "name";
  const first = peek(parser);
  if (!startsField(first) && !isSign(first, "?") && !isSign(first, "}"))
    throw reportUnexpected(parser, startOfFields, startsField(peek(parser, 1)));
  const fields = parseUntil(parser, "}", (optional): CelFieldValue => {
    const { text } = fieldName(parser);
    const { offset } = expect(parser, ":");
    return { name: text, optional, offset, value: expression(parser) };
  });
  return make(parser, open, { kind: "message", name, fields });
}

/** The parts between an opening and a closing sign, each of which may be marked as optional. */
function parseUntil<T>(parser: Parser, close: string, read: (optional: boolean) => T): readonly T[] {
  const parts: T[] = [];
  while (accept(parser, close) === undefined) {
    parts.push(read(accept(parser, "?") !== undefined));
    if (accept(parser, ",") === undefined && !isSign(peek(parser), close)) expect(parser, close);
  }
  return parts;
}

/** The opening of a list or a map, followed by an element, optional or not, or its end. */
function opening(parser: Parser, close: string, expected: string): CelToken {
  const open = take(parser);
  const next = peek(parser);
  if (startsExpression(next) || isSign(next, "?") || isSign(next, close)) return open;
  throw reportUnexpected(parser, expected, startsExpression(peek(parser, 1)));
}

function list(parser: Parser): CelExpression {
  const open = opening(parser, "]", startOfList);
  const elements = parseUntil(parser, "]", (optional): CelElement => ({ optional, value: expression(parser) }));
  return make(parser, open, { kind: "list", elements });
}

function map(parser: Parser): CelExpression {
  const open = opening(parser, "}", startOfMap);
  const entries = parseUntil(parser, "}", (optional): CelEntry => {
    const key = expression(parser);
    expect(parser, ":");
    return { optional, key, value: expression(parser) };
  });
  return make(parser, open, { kind: "map", entries });
}
