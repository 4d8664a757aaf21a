import { isJsonArray, isJsonObject, ownValue } from "../../apimachinery/json-value.ts";
import { ageOf } from "../builtin-kind.ts";
import type { Column } from "../resource.ts";
import type { PrinterColumn } from "./crd-object.ts";

/** The column of a kind that names none: its age. */
const ageOnly: readonly PrinterColumn[] = [
  {
    name: "Age",
    type: "date",
    description: "How long ago the server created the object.",
    jsonPath: ".metadata.creationTimestamp",
  },
];

/**
 * The columns after the name that a definition asks for; only the age where it asks for none. What is missing in an object shows as null.
 * Source: apiextensions-apiserver pkg/registry/customresource/tableconvertor.
 */
export function printerColumns(columns: readonly PrinterColumn[] | undefined): readonly Column[] {
  const wanted = columns === undefined || columns.length === 0 ? ageOnly : columns;
  return wanted.map((column) => {
    const { name, type, format, description = "", priority } = column;
    const read = pathReader(column.jsonPath) ?? nothing;
    return {
      name,
      type,
      ...(format === undefined ? {} : { format }),
      description:
        description === "" ? `Custom resource definition column (in JSONPath format): ${column.jsonPath}` : description,
      ...(priority === undefined ? {} : { priority }),
      cell: (object, now) => cellOf(type, read(object), now),
    };
  });
}

const nothing: PathReader = () => [];

function cellOf(type: PrinterColumn["type"], values: readonly unknown[], now: number): ReturnType<Column["cell"]> {
  const [value] = values;
  if (value === undefined || value === null) return null;
  switch (type) {
    case "string":
      return values.map(plainText).join(" ");
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      if (typeof value !== "string") return null;
      return Number.isNaN(Date.parse(value)) ? "<invalid>" : ageOf(value, now);
  }
}

/** A value as Go prints it; objects and lists as JSON. */
function plainText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === null ? "<nil>" : JSON.stringify(value);
}

/** One step of a JSON path as kubectl templates know it. */
type Step =
  | { readonly kind: "field"; readonly name: string }
  | { readonly kind: "wildcard" }
  | { readonly kind: "recursive" }
  | { readonly kind: "slice"; readonly from: number | undefined; readonly to: number | undefined; readonly by: number }
  | { readonly kind: "index"; readonly index: number }
  | { readonly kind: "filter"; readonly left: readonly Step[]; readonly operator: Operator; readonly right: unknown };

type Operator = "exists" | "==" | "!=" | "<" | "<=" | ">" | ">=";

/** Finds the values under a path in an object; never throws, whatever the object holds. */
export type PathReader = (object: unknown) => readonly unknown[];

/** More than this is never looked at: a wildcard below a wildcard could ask for the square of an object. */
const maxResults = 1000;

/**
 * Reads a path such as `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`, `.spec.hosts[*]` or `.metadata.labels['a.b/c']`.
 * Undefined where it cannot be read. Source: client-go util/jsonpath, of which this is the part without functions and unions.
 */
export function pathReader(path: string): PathReader | undefined {
  const steps = parseSteps({ text: path, at: 0 }, false);
  if (steps === undefined) return undefined;
  return (object) => walk(steps, object);
}

interface Cursor {
  readonly text: string;
  at: number;
}

const nameEnd: ReadonlySet<string> = new Set([".", "[", " ", "=", "!", "<", ">", ")", "]", "'", '"']);

/** `inner` ends at the first character that no step begins with; otherwise the whole text must be steps. */
function parseSteps(cursor: Cursor, inner: boolean): readonly Step[] | undefined {
  const steps: Step[] = [];
  while (cursor.at < cursor.text.length) {
    const next = cursor.text[cursor.at];
    if (next === ".") {
      const dotted = parseDotted(cursor);
      if (dotted === undefined) return undefined;
      steps.push(...dotted);
    } else if (next === "[") {
      const step = parseBracket(cursor);
      if (step === undefined) return undefined;
      steps.push(step);
    } else if (inner) break;
    else return undefined;
  }
  return steps;
}

function parseDotted(cursor: Cursor): readonly Step[] | undefined {
  cursor.at += 1;
  const recursive = cursor.text[cursor.at] === ".";
  if (recursive) cursor.at += 1;
  const before: readonly Step[] = recursive ? [{ kind: "recursive" }] : [];
  if (cursor.text[cursor.at] === "[" || (cursor.at === cursor.text.length && !recursive)) return before;
  if (cursor.text[cursor.at] === "*") {
    cursor.at += 1;
    return [...before, { kind: "wildcard" }];
  }
  const name = parseName(cursor);
  return name === "" ? undefined : [...before, { kind: "field", name }];
}

function parseName(cursor: Cursor): string {
  let name = "";
  for (; cursor.at < cursor.text.length; cursor.at += 1) {
    const letter = cursor.text[cursor.at] ?? "";
    if (letter === "\\" && cursor.at + 1 < cursor.text.length) {
      cursor.at += 1;
      name += cursor.text[cursor.at];
    } else if (nameEnd.has(letter)) break;
    else name += letter;
  }
  return name;
}

function parseBracket(cursor: Cursor): Step | undefined {
  cursor.at += 1;
  if (cursor.text.startsWith("?(", cursor.at)) return parseFilter(cursor);
  const quoted = parseQuoted(cursor);
  if (quoted !== undefined) return closed(cursor, "]") ? { kind: "field", name: quoted } : undefined;
  const end = cursor.text.indexOf("]", cursor.at);
  if (end < 0) return undefined;
  const inside = cursor.text.slice(cursor.at, end).trim();
  cursor.at = end + 1;
  if (inside === "*") return { kind: "wildcard" };
  return /^-?\d{1,9}$/.test(inside) ? { kind: "index", index: Number(inside) } : parseSlice(inside);
}

function parseSlice(text: string): Step | undefined {
  const match = /^(-?\d{1,9})?:(-?\d{1,9})?(?::(\d{1,9}))?$/.exec(text);
  if (match === null) return undefined;
  const [, from, to, by] = match;
  const step = Number(by ?? 1);
  if (step === 0) return undefined;
  return {
    kind: "slice",
    from: from === undefined ? undefined : Number(from),
    to: to === undefined ? undefined : Number(to),
    by: step,
  };
}

function parseQuoted(cursor: Cursor): string | undefined {
  const quote = cursor.text[cursor.at];
  if (quote !== "'" && quote !== '"') return undefined;
  let text = "";
  for (let at = cursor.at + 1; at < cursor.text.length; at += 1) {
    const letter = cursor.text[at] ?? "";
    if (letter === quote) {
      cursor.at = at + 1;
      return text;
    }
    if (letter === "\\" && at + 1 < cursor.text.length) {
      at += 1;
      text += cursor.text[at];
    } else text += letter;
  }
  return undefined;
}

function parseFilter(cursor: Cursor): Step | undefined {
  cursor.at += 2;
  blanks(cursor);
  if (cursor.text[cursor.at] !== "@") return undefined;
  cursor.at += 1;
  const left = parseSteps(cursor, true);
  if (left === undefined) return undefined;
  blanks(cursor);
  const operator = (["==", "!=", "<=", ">=", "<", ">"] as const).find((one) => cursor.text.startsWith(one, cursor.at));
  if (operator === undefined) {
    return closed(cursor, ")]") ? { kind: "filter", left, operator: "exists", right: undefined } : undefined;
  }
  cursor.at += operator.length;
  blanks(cursor);
  const right = parseLiteral(cursor);
  if (right === undefined) return undefined;
  blanks(cursor);
  return closed(cursor, ")]") ? { kind: "filter", left, operator, right: right.value } : undefined;
}

function parseLiteral(cursor: Cursor): { readonly value: unknown } | undefined {
  const quoted = parseQuoted(cursor);
  if (quoted !== undefined) return { value: quoted };
  const end = cursor.text.indexOf(")", cursor.at);
  const word = end < 0 ? "" : cursor.text.slice(cursor.at, end).trim();
  cursor.at = end;
  if (word === "true" || word === "false") return { value: word === "true" };
  return /^-?\d{1,15}(\.\d{1,15})?$/.test(word) ? { value: Number(word) } : undefined;
}

function blanks(cursor: Cursor): void {
  while (cursor.text[cursor.at] === " ") cursor.at += 1;
}

function closed(cursor: Cursor, text: string): boolean {
  if (!cursor.text.startsWith(text, cursor.at)) return false;
  cursor.at += text.length;
  return true;
}

function walk(steps: readonly Step[], object: unknown): readonly unknown[] {
  let found: readonly unknown[] = [object];
  for (const step of steps) {
    const next: unknown[] = [];
    for (const value of found) {
      for (const one of follow(step, value)) {
        if (next.length === maxResults) break;
        next.push(one);
      }
    }
    found = next;
  }
  return found;
}

function follow(step: Step, value: unknown): readonly unknown[] {
  switch (step.kind) {
    case "field": {
      const found = isJsonObject(value) ? ownValue(value, step.name) : undefined;
      return found === undefined ? [] : [found];
    }
    case "wildcard":
      return members(value);
    case "recursive":
      return descendants(value);
    case "index": {
      if (!isJsonArray(value)) return [];
      const index = step.index < 0 ? value.length + step.index : step.index;
      return index in value ? [value[index]] : [];
    }
    case "slice":
      return isJsonArray(value) ? value.slice(step.from, step.to).filter((_one, at) => at % step.by === 0) : [];
    case "filter":
      return isJsonArray(value) ? value.filter((element) => passes(step, element)) : [];
  }
}

function members(value: unknown): readonly unknown[] {
  if (isJsonArray(value)) return value;
  return isJsonObject(value) ? Object.values(value) : [];
}

function descendants(value: unknown): readonly unknown[] {
  const found: unknown[] = [value];
  for (let at = 0; at < found.length && found.length < maxResults; at += 1) found.push(...members(found[at]));
  return found;
}

function passes(filter: Extract<Step, { kind: "filter" }>, element: unknown): boolean {
  const [left] = walk(filter.left, element);
  if (filter.operator === "exists") return left !== undefined;
  if (left === undefined) return false;
  const { right } = filter;
  if (filter.operator === "==") return left === right;
  if (filter.operator === "!=") return left !== right;
  if (typeof left === "number" && typeof right === "number") return ordered(filter.operator, left, right);
  return typeof left === "string" && typeof right === "string" && ordered(filter.operator, left, right);
}

function ordered<T extends number | string>(operator: Operator, left: T, right: T): boolean {
  switch (operator) {
    case "<":
      return left < right;
    case "<=":
      return left <= right;
    case ">":
      return left > right;
    default:
      return left >= right;
  }
}
