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
import { tokenize, literalOf, type CelToken } from "./lexer.ts";
import { expandMacro } from "./macros.ts";

/** How deep an expression may nest. */
const maxDepth = 250;

const reserved: ReadonlySet<string> = new Set(
  "as break const continue else false for function if import in let loop package namespace null return true var void while".split(
    " ",
  ),
);

const binary: ReadonlyMap<string, { readonly name: string; readonly power: number }> = new Map(
  (
    [
      [1, "<", "<=", ">", ">=", "==", "!=", "in"],
      [2, "+", "-"],
      [3, "*", "/", "%"],
    ] as const
  ).flatMap(([power, ...signs]) =>
    signs.map((sign) => [sign, { name: sign === "in" ? "@in" : `_${sign}_`, power }] as const),
  ),
);

/** What a parsed expression consists of: its root, and how many nodes it has. */
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
  if (peek(parser).kind !== "end") {
    const last = parser.tokens[parser.at + 1]?.kind === "end";
    throw unexpected(parser, last ? "extraneous input" : "mismatched input", "<EOF>");
  }
  return { root, nodeCount: parser.nodes.count() };
}

/** What ANTLR says may start an expression, and what may stand in a list, a map or a message that has just been opened. */
const literals = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
const startOfExpression = `{'[', '{', '(', '.', '-', '!', ${literals}`;
const startOfList = `{'[', '{', ']', '(', '.', ',', '-', '!', '?', ${literals}`;
const startOfMap = `{'[', '{', '}', '(', '.', ',', '-', '!', '?', ${literals}`;
const startOfFields = "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}";

function peek(parser: Parser): CelToken {
  const end = parser.source.length;
  return parser.tokens[parser.at] ?? { kind: "end", text: "<EOF>", offset: end, end };
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
  return accept(parser, text) ?? fail(unexpected(parser, "mismatched input", `'${text}'`));
}

function fail(error: Error): never {
  throw error;
}

function unexpected(parser: Parser, what: string, expected: string): Error {
  const token = peek(parser);
  const written =
    token.kind === "end" ? token.text : parser.source.slice(token.offset, Math.min(token.end, token.offset + 80));
  return syntaxError(parser, token.offset, `${what} '${written}' expecting ${expected}`);
}

function syntaxError(parser: Parser, offset: number, message: string): Error {
  return celError("syntax", parser.source, [{ offset, message: `Syntax error: ${message}` }]);
}

function expression(parser: Parser): CelExpression {
  if (++parser.depth > maxDepth) {
    const message = `expression recursion limit exceeded: ${maxDepth}`;
    throw celError("size", parser.source, [{ offset: peek(parser).offset, message }]);
  }
  const condition = logical(parser, "||");
  const question = accept(parser, "?");
  let result = condition;
  if (question !== undefined) {
    const then = logical(parser, "||");
    expect(parser, ":");
    result = call(parser, question, { name: "_?_:_", args: [condition, then, expression(parser)] });
  }
  parser.depth--;
  return result;
}

function call(
  parser: Parser,
  token: CelToken,
  given: { readonly name: string; readonly target?: CelExpression; readonly args: readonly CelExpression[] },
): CelExpression {
  return make(parser, token, { kind: "call", ...given });
}

function make(parser: Parser, token: CelToken, node: NewNode): CelExpression {
  return parser.nodes.make(token.offset, node);
}

/** Chains of `&&` and `||` become balanced trees, so that long ones do not nest deeply. */
function logical(parser: Parser, sign: "||" | "&&"): CelExpression {
  const operand = (): CelExpression => (sign === "||" ? logical(parser, "&&") : binaryExpression(parser, 1));
  const terms = [operand()];
  const signs: CelToken[] = [];
  for (let token = accept(parser, sign); token !== undefined; token = accept(parser, sign)) {
    signs.push(token);
    terms.push(operand());
  }
  return balanced(parser, { name: `_${sign}_`, terms, signs });
}

function balanced(
  parser: Parser,
  chain: { readonly name: string; readonly terms: readonly CelExpression[]; readonly signs: readonly CelToken[] },
): CelExpression {
  const { name, terms, signs } = chain;
  const [first] = terms;
  if (terms.length === 1 && first !== undefined) return first;
  const middle = terms.length >> 1;
  const left = balanced(parser, { name, terms: terms.slice(0, middle), signs: signs.slice(0, middle - 1) });
  const right = balanced(parser, { name, terms: terms.slice(middle), signs: signs.slice(middle) });
  return call(parser, signs[middle - 1] ?? peek(parser), { name, args: [left, right] });
}

function binaryExpression(parser: Parser, power: number): CelExpression {
  let left = unary(parser);
  for (;;) {
    const token = peek(parser);
    const operator =
      token.kind === "sign" || (token.kind === "identifier" && token.text === "in")
        ? binary.get(token.text)
        : undefined;
    if (operator === undefined || operator.power < power) return left;
    take(parser);
    const right = binaryExpression(parser, operator.power + 1);
    left = call(parser, token, { name: operator.name, args: [left, right] });
  }
}

function unary(parser: Parser): CelExpression {
  const first = peek(parser);
  if (isSign(first, "-")) {
    const next = parser.tokens[parser.at + 1];
    if (next?.kind === "int" || next?.kind === "double") return postfix(parser, primary(parser));
  }
  if (!isSign(first, "-") && !isSign(first, "!")) return postfix(parser, primary(parser));
  let count = 0;
  while (accept(parser, first.text) !== undefined) count++;
  const negative = first.text === "-" && ["int", "double"].includes(peek(parser).kind);
  if (negative) {
    parser.at--;
    count--;
  }
  const operand = postfix(parser, primary(parser));
  return count % 2 === 0 ? operand : call(parser, first, { name: `${first.text}_`, args: [operand] });
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
  if (optional || name.kind === "name" || accept(parser, "(") === undefined) {
    return make(parser, dot, { kind: "select", operand, field: name.text, optional });
  }
  const args = argumentsUntil(parser, ")");
  return (
    expandMacro(parser.nodes, { name: name.text, target: operand, args, offset: open.offset }) ??
    call(parser, open, { name: name.text, target: operand, args })
  );
}

function fieldName(parser: Parser): CelToken {
  const token = peek(parser);
  const keyword = token.kind === "identifier" && ["in", "true", "false", "null"].includes(token.text);
  if ((token.kind !== "identifier" && token.kind !== "name") || keyword) {
    throw unexpected(
      parser,
      token.kind === "end" ? "no viable alternative at input" : "mismatched input",
      "IDENTIFIER",
    );
  }
  return take(parser);
}

function argumentsUntil(parser: Parser, close: string): readonly CelExpression[] {
  const args: CelExpression[] = [];
  if (accept(parser, close) !== undefined) return args;
  do args.push(expression(parser));
  while (accept(parser, ",") !== undefined);
  expect(parser, close);
  return args;
}

function primary(parser: Parser): CelExpression {
  const token = peek(parser);
  if (token.kind === "sign") {
    if (token.text === "(") return parenthesized(parser);
    if (token.text === "[") return list(parser);
    if (token.text === "{") return map(parser);
    if (token.text === ".") return identifier(parser);
  }
  const literal = literalOf(parser.tokens, parser.at);
  if (literal !== undefined) {
    if ("problem" in literal) throw parser.nodes.error(token.offset, literal.problem);
    parser.at += literal.length;
    return make(parser, token, { kind: "literal", value: literal.value });
  }
  if (token.kind === "identifier" && token.text !== "in") return identifier(parser);
  throw misplaced(parser, startOfExpression);
}

/** A word that starts no expression. When one starts right behind it, the word is too much as ANTLR sees it. */
function misplaced(parser: Parser, expected: string): Error {
  return unexpected(
    parser,
    startsExpression(parser.tokens[parser.at + 1]) ? "extraneous input" : "mismatched input",
    expected,
  );
}

/** Whether an expression may start with a word. */
function startsExpression(token: CelToken | undefined): boolean {
  if (token === undefined || token.kind === "end" || token.kind === "name") return false;
  return token.kind === "sign" ? ["[", "{", "(", ".", "-", "!"].includes(token.text) : token.text !== "in";
}

function parenthesized(parser: Parser): CelExpression {
  take(parser);
  const inner = expression(parser);
  expect(parser, ")");
  return inner;
}

/** A name, perhaps absolute (`.a`), a call of a function, or a message `a.b{...}`. */
function identifier(parser: Parser): CelExpression {
  const absolute = accept(parser, ".") !== undefined;
  const token = peek(parser);
  if (token.kind !== "identifier") throw unexpected(parser, "mismatched input", "IDENTIFIER");
  const messageEnd = messageName(parser);
  if (messageEnd !== undefined) return message(parser, messageEnd);
  if (reserved.has(token.text)) throw parser.nodes.error(token.offset, `reserved identifier: ${token.text}`);
  take(parser);
  const open = accept(parser, "(");
  const name = absolute ? `.${token.text}` : token.text;
  if (open === undefined) return make(parser, token, { kind: "identifier", name });
  const args = argumentsUntil(parser, ")");
  return (
    expandMacro(parser.nodes, { name: token.text, args, offset: open.offset }) ??
    call(parser, open, { name: token.text, args })
  );
}

/** Where the brace stands if the words ahead are a dotted name and a brace. */
function messageName(parser: Parser): number | undefined {
  let at = parser.at;
  while (parser.tokens[at]?.kind === "identifier") {
    const next = parser.tokens[at + 1];
    if (next === undefined) return undefined;
    if (isSign(next, "{")) return at + 1;
    if (!isSign(next, ".")) return undefined;
    at += 2;
  }
  return undefined;
}

function message(parser: Parser, brace: number): CelExpression {
  const name = parser.tokens
    .slice(parser.at, brace)
    .map((token) => token.text)
    .join("");
  parser.at = brace;
  const open = take(parser);
  const fields: CelFieldValue[] = [];
  const first = peek(parser);
  if (first.kind !== "identifier" && first.kind !== "name" && !isSign(first, "?") && !isSign(first, "}")) {
    const next = parser.tokens[parser.at + 1]?.kind;
    throw unexpected(
      parser,
      next === "identifier" || next === "name" ? "extraneous input" : "mismatched input",
      startOfFields,
    );
  }
  while (accept(parser, "}") === undefined) {
    const optional = accept(parser, "?") !== undefined;
    const field = fieldName(parser);
    const { offset } = expect(parser, ":");
    fields.push({ name: field.text, optional, offset, value: expression(parser) });
    if (accept(parser, ",") === undefined && !isSign(peek(parser), "}")) expect(parser, "}");
  }
  return make(parser, open, { kind: "message", name, fields });
}

/** Whether what was just opened goes on as it may: with an element, optional or not, or its end. */
function startsElement(parser: Parser, close: string): boolean {
  const token = peek(parser);
  return startsExpression(token) || isSign(token, "?") || isSign(token, close);
}

function list(parser: Parser): CelExpression {
  const open = take(parser);
  const elements: CelElement[] = [];
  if (!startsElement(parser, "]")) throw misplaced(parser, startOfList);
  while (accept(parser, "]") === undefined) {
    const optional = accept(parser, "?") !== undefined;
    elements.push({ optional, value: expression(parser) });
    if (accept(parser, ",") === undefined && !isSign(peek(parser), "]")) expect(parser, "]");
  }
  return make(parser, open, { kind: "list", elements });
}

function map(parser: Parser): CelExpression {
  const open = take(parser);
  const entries: CelEntry[] = [];
  if (!startsElement(parser, "}")) throw misplaced(parser, startOfMap);
  while (accept(parser, "}") === undefined) {
    const optional = accept(parser, "?") !== undefined;
    const key = expression(parser);
    expect(parser, ":");
    entries.push({ optional, key, value: expression(parser) });
    if (accept(parser, ",") === undefined && !isSign(peek(parser), "}")) expect(parser, "}");
  }
  return make(parser, open, { kind: "map", entries });
}
