import { isJsonObject, ownValue } from "../../apimachinery/json-value.ts";
import { isFields } from "../json-fields.ts";

/** The fields of a path in dot notation, such as `.spec.replicas`; none for `.`. */
export function pathFields(path: string): readonly string[] {
  return path.split(".").filter((part) => part !== "");
}

/** The value at the path, or undefined; never throws. */
export function valueUnder(object: unknown, fields: readonly string[]): unknown {
  let value = object;
  for (const field of fields) {
    if (!isJsonObject(value)) return undefined;
    value = ownValue(value, field);
  }
  return value;
}

/** A copy of `object` with `value` at the path, with missing objects created; undefined removes. */
export function withValueUnder<T extends object>(object: T, fields: readonly string[], value: unknown): T {
  const [first, ...rest] = fields;
  if (first === undefined) return object;
  const members = new Map<string, unknown>(Object.entries(object));
  const before = members.get(first);
  if (rest.length > 0) {
    if (before === undefined && value === undefined) return object;
    members.set(first, withValueUnder(isFields(before) ? before : {}, rest, value));
  } else if (value === undefined) members.delete(first);
  else members.set(first, value);
  // fromEntries defines its properties, whatever they are called.
  return Object.fromEntries(members) as T;
}
