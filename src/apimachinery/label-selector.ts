import { labelRequirement, requirementHolds, type LabelOperator, type LabelRequirement } from "./label-requirement.ts";
import { qualifiedNameProblems } from "./names.ts";
import { SelectorError } from "./selector-error.ts";

/** Requirements that must all match, sorted by key; an empty list selects everything. */
export type LabelSelector = readonly LabelRequirement[];

/** Selects nothing: what an absent LabelSelector object means. */
const selectsNothing: LabelSelector = [{ key: "", operator: "in", values: [] }];

/** The LabelSelector of API objects, with decoded types. Source: apimachinery meta/v1 LabelSelector. */
export interface LabelSelectorObject {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/**
 * The selector of `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1,m<2`.
 * @throws SelectorError syntax, worded as Kubernetes words it. Source: apimachinery labels.Parse.
 */
export function parseLabelSelector(text: string): LabelSelector {
  return sorted(parseRequirements(text));
}

/** The selector of an API object; absent selects nothing, empty selects everything. @throws SelectorError syntax. Source: meta/v1 LabelSelectorAsSelector. */
export function labelSelectorFrom(object: LabelSelectorObject | undefined): LabelSelector {
  if (object === undefined) return selectsNothing;
  const equal = Object.entries(object.matchLabels ?? {}).map(([key, value]) => labelRequirement(key, "=", [value]));
  const others = (object.matchExpressions ?? []).map(({ key, operator, values }) => {
    const known = expressionOperators.get(operator);
    if (known === undefined) {
      throw new SelectorError("syntax", `${JSON.stringify(operator)} is not a valid label selector operator`);
    }
    return labelRequirement(key, known, values ?? []);
  });
  return sorted([...equal, ...others]);
}

/** Whether all requirements match an object with these labels. */
export function matchesLabels(selector: LabelSelector, labels: Readonly<Record<string, string>> | undefined): boolean {
  return selector.every((requirement) =>
    requirementHolds(
      requirement,
      labels !== undefined && Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined,
    ),
  );
}

/** The operators of `matchExpressions`. */
export const expressionOperators: ReadonlyMap<string, LabelOperator> = new Map([
  ["In", "in"],
  ["NotIn", "notin"],
  ["Exists", "exists"],
  ["DoesNotExist", "!"],
]);

function sorted(requirements: readonly LabelRequirement[]): LabelSelector {
  return requirements.toSorted((one, other) => (one.key < other.key ? -1 : Number(one.key > other.key)));
}

interface Token {
  readonly kind: "symbol" | "word" | "end";
  readonly text: string;
}

interface Cursor {
  readonly peek: () => Token;
  readonly next: () => Token;
}

/** Symbols, words and an end; `in` and `notin` are words whose position decides their meaning. */
function cursorOver(text: string): Cursor {
  const found: Token[] = [];
  for (const [token] of text.matchAll(/[^ \t\r\n=!(),<>]+|==|!=|[=!(),<>]/g)) {
    found.push({ kind: /^[=!(),<>]/.test(token) ? "symbol" : "word", text: token });
  }
  const end: Token = { kind: "end", text: "" };
  let position = 0;
  const peek = (): Token => found[position] ?? end;
  const next = (): Token => {
    const token = peek();
    position += 1;
    return token;
  };
  return { peek, next };
}

function parseRequirements(text: string): readonly LabelRequirement[] {
  const cursor = cursorOver(text);
  const requirements: LabelRequirement[] = [];
  while (cursor.peek().kind !== "end") {
    const first = cursor.peek();
    if (first.kind === "symbol" && first.text !== "!") {
      throw unexpected(first, requirements.length > 0 ? "identifier after ','" : "!, identifier, or 'end of string'");
    }
    try {
      requirements.push(parseRequirement(cursor));
    } catch (error) {
      if (!(error instanceof SelectorError)) throw error;
      throw new SelectorError("syntax", `unable to parse requirement: ${error.message}`);
    }
    const after = cursor.next();
    if (after.kind === "end") break;
    if (after.text !== ",") throw unexpected(after, "',' or 'end of string'");
    if (cursor.peek().kind === "end") throw unexpected(cursor.peek(), "identifier after ','");
  }
  return requirements;
}

function parseRequirement(cursor: Cursor): LabelRequirement {
  let token = cursor.next();
  const negated = token.text === "!";
  if (negated) token = cursor.next();
  if (token.kind !== "word") throw unexpected(token, "identifier");
  const key = token.text;
  const problems = qualifiedNameProblems(key);
  if (problems.length > 0) {
    // Kubernetes prints its absent path as <nil>.
    throw new SelectorError("syntax", `<nil>: Invalid value: ${JSON.stringify(key)}: ${problems.join("; ")}`);
  }
  if (negated) return labelRequirement(key, "!", []);
  if (endsTerm(cursor.peek())) return labelRequirement(key, "exists", []);
  const operator = parseOperator(cursor);
  const set = operator === "in" || operator === "notin";
  return labelRequirement(key, operator, set ? parseSet(cursor) : [parseExactValue(cursor)]);
}

const binaryOperators: ReadonlyMap<string, LabelOperator> = new Map([
  ["in", "in"],
  ["notin", "notin"],
  ["=", "="],
  ["==", "=="],
  ["!=", "!="],
  [">", "gt"],
  ["<", "lt"],
]);

function parseOperator(cursor: Cursor): LabelOperator {
  const token = cursor.next();
  const operator = binaryOperators.get(token.text);
  if (operator === undefined) throw unexpected(token, "in, notin, =, ==, !=, gt, lt");
  return operator;
}

function parseExactValue(cursor: Cursor): string {
  if (endsTerm(cursor.peek())) return "";
  const token = cursor.next();
  if (token.kind !== "word") throw unexpected(token, "identifier");
  return token.text;
}

/** `(a,b)`; no text between commas and parentheses is the empty string as a value. */
function parseSet(cursor: Cursor): readonly string[] {
  const open = cursor.next();
  if (open.text !== "(") throw new SelectorError("syntax", `found '${open.text}' expected: '('`);
  const values: string[] = [];
  for (;;) {
    let token = cursor.next();
    if (token.kind === "word") {
      values.push(token.text);
      token = cursor.next();
    } else {
      values.push("");
    }
    if (token.text === ")") return values;
    if (token.text === ",") continue;
    const first = values.length === 1 ? "',', ')' or identifier" : "',', or identifier";
    throw unexpected(token, values.at(-1) === "" ? first : "',' or ')'");
  }
}

function endsTerm(token: Token): boolean {
  return token.kind === "end" || token.text === ",";
}

function unexpected(token: Token, expected: string): SelectorError {
  return new SelectorError("syntax", `found '${token.text}', expected: ${expected}`);
}
