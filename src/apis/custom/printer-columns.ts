import { isJsonArray, isJsonObject, ownValue } from "../../apimachinery/json-value.ts";
import { ageOf } from "../builtin-kind.ts";
import type { Column } from "../resource.ts";
import type { PrinterColumn } from "./crd-object.ts";
import { pathLengthErrors } from "./simple-path.ts";

/** The default column: the age. */
const ageOnly: readonly PrinterColumn[] = [
  {
    name: "Age",
    type: "date",
    description: "How long ago the server created the object.",
    jsonPath: ".metadata.creationTimestamp",
  },
];

/**
 * The columns that a definition declares after the name; only the age where it declares none. A missing field shows as null.
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
  if (type === "string") return values.map(plainText).join(" ");
  if (type === "date") return typeof value === "string" ? dateCell(value, now) : null;
  if (type === "boolean") return typeof value === "boolean" ? value : null;
  if (typeof value !== "number") return null;
  return type === "integer" ? Math.trunc(value) : value;
}

function dateCell(time: string, now: number): string {
  return Number.isNaN(Date.parse(time)) ? "<invalid>" : ageOf(time, now);
}

/** A value as Go prints it; objects and lists as JSON. */
function plainText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === null ? "<nil>" : JSON.stringify(value);
}

/** Finds the values under a path in an object; never throws, whatever the object contains. */
type PathReader = (object: unknown) => readonly unknown[];

/** Maximum number of values visited: a wildcard below a wildcard could visit the square of an object. */
const maxResults = 1000;

interface Cursor {
  readonly text: string;
  at: number;
}

/**
 * Reads a path such as `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`, `.spec.hosts[*]` or `.metadata.labels['a.b/c']`.
 * Undefined where it is invalid or has more than 1,024 bytes. Source: client-go util/jsonpath, of which this is the part without functions and unions.
 */
export function pathReader(path: string): PathReader | undefined {
  if (pathLengthErrors(path, "").length > 0) return undefined;
  const cursor: Cursor = { text: path, at: 0 };
  const read = parseSteps(cursor);
  return cursor.at === path.length ? read : undefined;
}

/** Reads steps up to the first character that starts none. */
function parseSteps(cursor: Cursor): PathReader {
  const steps: PathReader[] = [];
  for (let next = parseStep(cursor); next !== undefined; next = parseStep(cursor)) steps.push(...next);
  return (object) => {
    let found: readonly unknown[] = [object];
    for (const step of steps) found = firstResults(found, step);
    return found;
  };
}

function firstResults(values: readonly unknown[], step: PathReader): readonly unknown[] {
  const found: unknown[] = [];
  for (const value of values) found.push(...step(value).slice(0, maxResults - found.length));
  return found;
}

/** A dot or two, and a name, a wildcard, or nothing before a bracket or at the end. */
const dotted = /\.(\.?)(?:(\*)|((?:\\[^]|[^.[\]) =!<>'"])+)|(?=\[)|$)/y;
const [singleQuoted, doubleQuoted] = [String.raw`'((?:\\[^]|[^'\\])*)'`, String.raw`"((?:\\[^]|[^"\\])*)"`];
const quotedKey = new RegExp(String.raw`\[(?:${singleQuoted}|${doubleQuoted})\]`, "y");
const bracket = /\[([^\]]*)\]/y;
const filterStart = /\[\?\( *@/y;
// Blanks can match in one place each: clients write paths, and they must be read in linear time.
const comparison = new RegExp(
  String.raw` *(?:(==|!=|<=|>=|<|>)(?: *${singleQuoted} *| *${doubleQuoted} *|([^)]*)))?\)\]`,
  "y",
);

function take(cursor: Cursor, form: RegExp): RegExpExecArray | undefined {
  form.lastIndex = cursor.at;
  const match = form.exec(cursor.text);
  if (match === null) return undefined;
  cursor.at += match[0].length;
  return match;
}

function unescaped(text: string): string {
  return text.replaceAll(/\\([^])/g, "$1");
}

/** The match at the cursor, which does not move when there is none. */
function parseStep(cursor: Cursor): readonly PathReader[] | undefined {
  const start = cursor.at;
  const found = cursor.text[start] === "." ? parseDotted(cursor) : (parseKey(cursor) ?? parseFilter(cursor));
  if (found === undefined) cursor.at = start;
  return typeof found === "function" ? [found] : found;
}

function parseDotted(cursor: Cursor): readonly PathReader[] | undefined {
  const [, second, wildcard, name] = take(cursor, dotted) ?? [];
  if (wildcard === undefined && name === undefined) {
    if (second === ".") return cursor.text[cursor.at] === "[" ? [descendants] : undefined;
    return second === undefined ? undefined : [];
  }
  const last = name === undefined ? members : field(unescaped(name));
  return second === "." ? [descendants, last] : [last];
}

function parseKey(cursor: Cursor): PathReader | undefined {
  const quoted = take(cursor, quotedKey);
  if (quoted !== undefined) return field(unescaped(quoted[1] ?? quoted[2] ?? ""));
  const start = cursor.at;
  const inside = take(cursor, bracket)?.[1]?.trim() ?? "";
  const step = inside === "*" ? members : parseRange(inside);
  if (step === undefined) cursor.at = start;
  return step;
}

function parseRange(text: string): PathReader | undefined {
  if (/^-?\d{1,9}$/.test(text)) return element(Number(text));
  const [range, from, to, by = "1"] = /^(-?\d{1,9})?:(-?\d{1,9})?(?::(\d{1,9}))?$/.exec(text) ?? [];
  return range === undefined || Number(by) === 0 ? undefined : slice(bound(from), bound(to), Number(by));
}

function bound(digits: string | undefined): number | undefined {
  return digits === undefined ? undefined : Number(digits);
}

function parseFilter(cursor: Cursor): PathReader | undefined {
  if (take(cursor, filterStart) === undefined) return undefined;
  const left = parseSteps(cursor);
  const match = take(cursor, comparison);
  if (match === undefined) return undefined;
  const [, operator, single, double, word = ""] = match;
  if (operator === undefined) return filter((one) => left(one)[0] !== undefined);
  const text = single ?? double;
  const right = text === undefined ? literal(word.trim()) : unescaped(text);
  return right === undefined ? undefined : filter((one) => isTrue(operator, left(one)[0], right));
}

function literal(word: string): boolean | number | undefined {
  if (word === "true" || word === "false") return word === "true";
  return /^-?\d{1,15}(\.\d{1,15})?$/.test(word) ? Number(word) : undefined;
}

type Ordered = string | number;

const orders: Readonly<Record<string, (left: Ordered, right: Ordered) => boolean>> = {
  "<": (left, right) => left < right,
  "<=": (left, right) => left <= right,
  ">": (left, right) => left > right,
  ">=": (left, right) => left >= right,
};

function isTrue(operator: string, left: unknown, right: Ordered | boolean): boolean {
  if (operator === "==") return left === right;
  if (operator === "!=") return left !== undefined && left !== right;
  const isOrdered = typeof left === typeof right && typeof right !== "boolean";
  return isOrdered && orders[operator]?.(left as Ordered, right) === true;
}

function field(name: string): PathReader {
  return (value) => {
    const found = isJsonObject(value) ? ownValue(value, name) : undefined;
    return found === undefined ? [] : [found];
  };
}

function element(index: number): PathReader {
  return (value) => {
    const at = isJsonArray(value) && index < 0 ? value.length + index : index;
    return isJsonArray(value) && at in value ? [value[at]] : [];
  };
}

function slice(from: number | undefined, to: number | undefined, by: number): PathReader {
  return (value) => (isJsonArray(value) ? value.slice(from, to).filter((_one, at) => at % by === 0) : []);
}

function filter(passes: (element: unknown) => boolean): PathReader {
  return (value) => (isJsonArray(value) ? value.filter(passes) : []);
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
