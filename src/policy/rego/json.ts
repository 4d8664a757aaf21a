import { RegoError } from "./rego-error.ts";
import { normalNumber } from "./numbers.ts";
import {
  arrayOf,
  objectOf,
  sortedEntries,
  sortedMembers,
  type RegoEntry,
  type RegoObject,
  type RegoValue,
} from "./values.ts";

const deepest = 200;

/** JSON as it was parsed, as a value. @throws RegoError `eval_cancel_error` when it is too large or too deep */
export function fromJson(json: unknown, depth = 0): RegoValue {
  if (depth > deepest) throw new RegoError("eval_cancel_error", "a document is nested deeper than it may be");
  if (typeof json === "string" || typeof json === "boolean") return json;
  if (typeof json === "number") return Number.isFinite(json) ? largeNumber(json) : null;
  if (typeof json === "bigint") return normalNumber(json);
  if (typeof json !== "object" || json === null) return null;
  if (Array.isArray(json)) return arrayOf(json.map((item) => fromJson(item, depth + 1)));
  return objectOf(Object.entries(json).map(([key, value]): RegoEntry => [key, fromJson(value, depth + 1)]));
}

/** What JSON.parse made of an integer beyond 2^53 is an integer still. */
function largeNumber(value: number): RegoValue {
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? BigInt(value) : normalNumber(value);
}

/** The value as JSON text, sets as arrays, members in order, integers in full. */
export function toJsonText(value: RegoValue): string {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  switch (value.kind) {
    case "array":
      return `[${value.items.map(toJsonText).join(",")}]`;
    case "set":
      return `[${sortedMembers(value).map(toJsonText).join(",")}]`;
    case "object":
      return `{${jsonEntries(value)
        .map(([key, member]) => `${JSON.stringify(key)}:${toJsonText(member)}`)
        .join(",")}}`;
  }
}

function jsonEntries(object: RegoObject): readonly (readonly [string, RegoValue])[] {
  return sortedEntries(object).map(([key, member]) => [typeof key === "string" ? key : toJsonText(key), member]);
}
