import { RegoError } from "./rego-error.ts";
import {
  normalNumber,
  numberOf,
  arrayOf,
  objectOf,
  sortedEntries,
  sortedMembers,
  type RegoEntry,
  type RegoObject,
  type RegoValue,
} from "./values.ts";

const deepest = 200;

/** Converts parsed JSON to a value. @throws RegoError `eval_cancel_error` when it is too large or too deep */
export function fromJson(json: unknown): RegoValue {
  return valueOf(json, { depth: 0, textOf: (text) => text, keyOf: (text) => text });
}

interface Reading {
  readonly depth: number;
  readonly textOf: (text: string) => RegoValue;
  readonly keyOf: (text: string) => string;
}

function valueOf(json: unknown, { depth, ...how }: Reading): RegoValue {
  if (depth > deepest) throw new RegoError("eval_cancel_error", "a document is nested deeper than it may be");
  if (typeof json === "string") return how.textOf(json);
  if (typeof json === "boolean") return json;
  if (typeof json === "number") return Number.isFinite(json) ? largeNumber(json) : null;
  if (typeof json === "bigint") return normalNumber(json);
  if (typeof json !== "object" || json === null) return null;
  const below = { ...how, depth: depth + 1 };
  if (Array.isArray(json)) return arrayOf(json.map((item) => valueOf(item, below)));
  return objectOf(Object.entries(json).map(([key, value]): RegoEntry => [how.keyOf(key), valueOf(value, below)]));
}

const textOrNumber = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const isPlain = (number: string): boolean => number.length < 16 && !/[eE]/.test(number);

/**
 * Parses JSON with its numbers as they are written, which JSON.parse rounds.
 * @throws SyntaxError for invalid JSON; RangeError for a number out of bounds; RegoError as `fromJson` does
 */
export function readJson(text: string): RegoValue {
  if (!/\d{16}|\d[eE.]/.test(text)) return fromJson(JSON.parse(text));
  // The text must be valid JSON before any replacement.
  JSON.parse(text);
  const tagged = text.replaceAll(textOrNumber, (piece) =>
    piece.startsWith('"') ? `"s${piece.slice(1)}` : isPlain(piece) ? piece : `"n${piece}"`,
  );
  return valueOf(JSON.parse(tagged), { depth: 0, textOf: untagged, keyOf: (key) => key.slice(1) });
}

function untagged(text: string): RegoValue {
  if (text.startsWith("s")) return text.slice(1);
  const number = numberOf(text.slice(1));
  if (number === undefined) throw new RangeError("number too big");
  return number;
}

/** An integer beyond 2^53 that JSON.parse rounded is still an integer. */
function largeNumber(value: number): RegoValue {
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? BigInt(value) : normalNumber(value);
}

/** The value as JSON text, sets as arrays, members in order, integers in full. */
export function toJsonText(value: RegoValue): string {
  return jsonText(value, JSON.stringify);
}

/** The same, escaped as Go does by default, so that it is safe in HTML. */
export function toEscapedJsonText(value: RegoValue): string {
  return jsonText(value, escaped);
}

function jsonText(value: RegoValue, quoted: (text: string) => string): string {
  const inner = (member: RegoValue): string => jsonText(member, quoted);
  if (typeof value === "bigint") return String(value);
  if (typeof value === "string") return quoted(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  switch (value.kind) {
    case "array":
      return `[${value.items.map(inner).join(",")}]`;
    case "set":
      return `[${sortedMembers(value).map(inner).join(",")}]`;
    case "object":
      return `{${jsonEntries(value)
        .map(([key, member]) => `${quoted(key)}:${inner(member)}`)
        .join(",")}}`;
  }
}

function escaped(text: string): string {
  const code = (sign: string): string => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(text).replaceAll(/[<>&\u2028\u2029]/g, code);
}

function jsonEntries(object: RegoObject): readonly (readonly [string, RegoValue])[] {
  return sortedEntries(object).map(([key, member]) => [typeof key === "string" ? key : toEscapedJsonText(key), member]);
}
