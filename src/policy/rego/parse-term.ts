import { dottedName, type Literal, type Term } from "./ast.ts";
import { RegoError, type RegoPlace } from "./rego-error.ts";
import type { TokenReader } from "./token-reader.ts";

const comparisons = new Map([
  ["==", "equal"],
  ["!=", "neq"],
  ["<", "lt"],
  ["<=", "lte"],
  [">", "gt"],
  [">=", "gte"],
]);
/** From the lowest precedence to the highest. */
const levels: readonly ReadonlyMap<string, string>[] = [
  comparisons,
  new Map([["|", "or"]]),
  new Map([["&", "and"]]),
  new Map([
    ["+", "plus"],
    ["-", "minus"],
  ]),
  new Map([
    ["*", "mul"],
    ["/", "div"],
    ["%", "rem"],
  ]),
];
const tighterThanOr = 2;
/** Maximum number of operators in a row without parentheses. */
const maxChain = 200;

/** A term with operators; `k, v in xs` only where a comma separates nothing else. */
export function parseTerm(reader: TokenReader, mayHaveKey = false): Term {
  return reader.nested(() => {
    let left = parseOperators(reader, 0);
    for (let count = 0; count <= maxChain; count++) {
      const { at } = left;
      if (mayHaveKey && reader.isSign(",") && reader.keywords.has("in")) {
        const mark = reader.mark();
        reader.next();
        const value = parseOperators(reader, 0);
        if (!reader.took("in")) {
          reader.backTo(mark);
          return left;
        }
        left = call("internal.member_3", [left, value, parseOperators(reader, 0)], at);
      } else if (reader.took("in")) {
        left = call("internal.member_2", [left, parseOperators(reader, 0)], at);
      } else return left;
    }
    return reader.fail("too many operators in one expression");
  });
}

function call(name: string, args: readonly Term[], at: RegoPlace): Term {
  return { kind: "call", name: [name], args, at };
}

function parseOperators(reader: TokenReader, level: number): Term {
  const operators = levels[level];
  if (operators === undefined) return parsePrimary(reader);
  let left = parseOperators(reader, level + 1);
  for (let count = 0; count <= maxChain; count++) {
    const { kind, text } = reader.peek();
    const operator = kind === "sign" ? operators.get(text) : undefined;
    if (operator === undefined) return left;
    reader.next();
    left = call(operator, [left, parseOperators(reader, level + 1)], left.at);
  }
  return reader.fail("too many operators in one expression");
}

function parsePrimary(reader: TokenReader): Term {
  const start = reader.peek();
  const { at } = start;
  switch (start.kind) {
    case "number":
      reader.next();
      return { kind: "scalar", value: start.number ?? 0, at };
    case "string":
      reader.next();
      return parseSuffixes(reader, { kind: "scalar", value: start.text, at });
    case "template":
      return reader.remembered(() => parseTemplate(reader));
    case "name":
      return parseSuffixes(reader, parseName(reader));
    case "templateRest":
    case "sign":
      return reader.remembered(() => parseSigned(reader, start.text, at));
    case "end":
      return reader.fail();
  }
}

function parseSigned(reader: TokenReader, sign: string, at: RegoPlace): Term {
  if (sign === "-") {
    reader.next();
    const next = reader.peek();
    if (next.kind === "name" && !constants.has(next.text))
      return call("minus", [{ kind: "scalar", value: 0, at }, parseSuffixes(reader, parseName(reader))], at);
    if (next.kind !== "number" || next.number === undefined) return reader.fail();
    reader.next();
    return { kind: "scalar", value: next.number === 0 ? 0 : -next.number, at };
  }
  if (sign === "(") {
    reader.next();
    const inner = parseTerm(reader, true);
    reader.expect(")");
    return inner;
  }
  if (sign === "[") return parseSuffixes(reader, parseArray(reader));
  if (sign === "{") return parseSuffixes(reader, parseBraces(reader));
  return reader.fail();
}

/** The function that concatenates a template; an expression is a set of at most one value. */
export const templateFunction = "internal.template_string";

function parseTemplate(reader: TokenReader): Term {
  const { at } = reader.peek();
  const items: Term[] = [];
  for (;;) {
    const { text, isOpen, at: place } = reader.next();
    if (text !== "") items.push({ kind: "scalar", value: text, at: place });
    if (!isOpen) return call(templateFunction, [{ kind: "array", items, at }], at);
    items.push(templateItem(reader, reader.literal()));
    if (reader.peek().kind !== "templateRest") reader.fail("expected } to end template string expression");
  }
}

function templateItem(reader: TokenReader, literal: Literal): Term {
  const { at } = literal;
  if (literal.kind !== "expression")
    return reader.fail("unexpected expression in a template string: it must have a value", at);
  const { term } = literal;
  if (term.kind === "call" && term.name[0] === "walk")
    reader.fail("illegal call to relation built-in 'walk' that may cause multiple outputs", at);
  if (term.kind === "scalar" && literal.with.length === 0) return term;
  const item: Term = { kind: "var", name: `%t${reader.fresh()}`, at };
  const body: readonly Literal[] = [{ kind: "unify", left: item, right: term, with: literal.with, at }];
  return { kind: "comprehension", makes: "set", key: undefined, item, body, isTemplate: true, at };
}

const constants = new Map<string, null | boolean>([
  ["null", null],
  ["true", true],
  ["false", false],
]);

function parseName(reader: TokenReader): Term {
  const token = reader.next();
  const { text, at } = token;
  const isReserved = reader.isReserved(token);
  const constant = constants.get(text);
  if (constant !== undefined && isReserved) return { kind: "scalar", value: constant, at };
  if (isReserved && text !== "contains" && !isFunction(reader, text))
    return reader.fail(`unexpected ${text} keyword`, at);
  if (text === "set" && reader.isSign("(") && reader.peek(1).text === ")") {
    reader.next();
    reader.next();
    return { kind: "set", items: [], at };
  }
  return { kind: "var", name: text === "_" ? `$${reader.fresh()}` : text, at };
}

/** Whether a keyword is the name of a function that is called here. */
function isFunction(reader: TokenReader, keyword: string): boolean {
  return ["and", "or"].includes(keyword) && reader.isSign("(") && reader.peek().isAdjacent;
}

/** What follows a term without a gap: `.name`, `[term]`, `(arguments)`. */
export function parseSuffixes(reader: TokenReader, head: Term): Term {
  const { at } = head;
  let term = head;
  for (;;) {
    const { kind, text, isAdjacent } = reader.peek();
    if (kind !== "sign" || !isAdjacent) return term;
    if (text === "(") {
      const name = dottedName(term);
      if (name === undefined) return reader.fail();
      reader.next();
      term = { kind: "call", name, args: parseList(reader, ")"), at };
    } else if (text === "." || text === "[") term = extendReference(term, parseStep(reader), at);
    else return term;
  }
}

/** `.name` or `[term]`. */
export function parseStep(reader: TokenReader): Term {
  if (reader.took(".")) {
    const { kind, text, at, isAdjacent } = reader.next();
    if (kind !== "name" || !isAdjacent) return reader.fail("expected a name behind the dot", at);
    return { kind: "scalar", value: text, at };
  }
  reader.expect("[");
  const step = parseTerm(reader);
  reader.expect("]");
  return step;
}

function extendReference(term: Term, step: Term, at: RegoPlace): Term {
  if (term.kind === "scalar" && typeof term.value !== "string") return term;
  if (term.kind === "ref") return { ...term, path: [...term.path, step] };
  return { kind: "ref", head: term, path: [step], at };
}

/** Terms up to a closing sign, inclusive. A comma may follow the last. */
export function parseList(reader: TokenReader, close: string): readonly Term[] {
  const items: Term[] = [];
  while (!reader.took(close)) {
    items.push(parseTerm(reader));
    if (!reader.isSign(close)) reader.expect(",");
  }
  return items;
}

function parseArray(reader: TokenReader): Term {
  const { at } = reader.expect("[");
  const found = comprehension(reader, "]", at);
  if (found !== undefined) return { ...found, makes: "array" };
  return { kind: "array", items: parseList(reader, "]"), at };
}

function parseBraces(reader: TokenReader): Term {
  const { at } = reader.expect("{");
  if (reader.took("}")) return { kind: "object", pairs: [], at };
  const set = comprehension(reader, "}", at);
  if (set !== undefined) return { ...set, makes: "set" };
  const first = parseTerm(reader);
  if (!reader.took(":")) {
    if (!reader.isSign("}")) reader.expect(",");
    return { kind: "set", items: [first, ...parseList(reader, "}")], at };
  }
  const found = comprehension(reader, "}", at);
  if (found !== undefined) return { ...found, makes: "object", key: first };
  const pairs: [Term, Term][] = [[first, parseTerm(reader)]];
  while (!reader.took("}")) {
    reader.expect(",");
    if (reader.took("}")) break;
    const key = parseTerm(reader);
    reader.expect(":");
    pairs.push([key, parseTerm(reader)]);
  }
  return { kind: "object", pairs: lastOfEach(pairs), at };
}

/** Of several members with the same constant key, only the last is kept. */
function lastOfEach(pairs: readonly (readonly [Term, Term])[]): readonly (readonly [Term, Term])[] {
  const last = new Map<unknown, number>();
  for (const [at, [key]] of pairs.entries()) if (key.kind === "scalar") last.set(key.value, at);
  return pairs.filter(([key], at) => key.kind !== "scalar" || last.get(key.value) === at);
}

type Found = Extract<Term, { readonly kind: "comprehension" }>;

/** `item | body` and the closing sign, if that follows; a union of sets is parsed again as such. */
function comprehension(reader: TokenReader, close: string, at: RegoPlace): Found | undefined {
  const mark = reader.mark();
  try {
    const item = reader.nested(() => parseOperators(reader, tighterThanOr));
    if (reader.took("|")) {
      const body: readonly Literal[] = reader.body(close);
      return { kind: "comprehension", makes: "array", key: undefined, item, body, at };
    }
  } catch (error) {
    if (!(error instanceof RegoError) || error.code !== "rego_parse_error") throw error;
  }
  reader.backTo(mark);
  return undefined;
}
