import type { ApiObject } from "../apimachinery/object.ts";

/** An object of unknown shape, as parsed from JSON. */
export type Fields = Readonly<Record<string, unknown>>;

/** True for a JSON object: neither null, nor an array, nor a scalar. */
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value under a path of own properties, or undefined; never throws, whatever `value` is. */
export function valueAt(value: unknown, ...path: readonly string[]): unknown {
  let current = value;
  for (const key of path) {
    if (!isFields(current) || !Object.hasOwn(current, key)) return undefined;
    current = current[key];
  }
  return current;
}

/** The string under a path; empty when absent or of another type, as a Go client reads it. */
export function stringAt(value: unknown, ...path: readonly string[]): string {
  const found = valueAt(value, ...path);
  return typeof found === "string" ? found : "";
}

/** The number under a path, or undefined. */
export function numberAt(value: unknown, ...path: readonly string[]): number | undefined {
  const found = valueAt(value, ...path);
  return typeof found === "number" ? found : undefined;
}

/** True only when the value under a path is `true`. */
export function isTrueAt(value: unknown, ...path: readonly string[]): boolean {
  return valueAt(value, ...path) === true;
}

/** The object under a path; empty when absent. */
export function fieldsAt(value: unknown, ...path: readonly string[]): Fields {
  const found = valueAt(value, ...path);
  return isFields(found) ? found : {};
}

/** The array under a path; empty when absent. */
export function arrayAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? (found as readonly unknown[]) : [];
}

/** The array of objects under a path; an element that is no object reads as an empty one, so that indexes stay right. */
export function fieldListAt(value: unknown, ...path: readonly string[]): readonly Fields[] {
  return arrayAt(value, ...path).map((element) => (isFields(element) ? element : {}));
}

/** The strings of the array under a path; other elements are omitted. */
export function stringsAt(value: unknown, ...path: readonly string[]): readonly string[] {
  return arrayAt(value, ...path).filter((element) => typeof element === "string");
}

/** A copy of `object` with one top-level field set, or removed when `value` is undefined. */
export function withField(object: ApiObject, field: string, value: unknown): ApiObject {
  if (value !== undefined) return { ...object, [field]: value };
  const { [field]: _removed, ...rest } = object;
  return rest as ApiObject;
}

/** A copy of `object` with some metadata fields replaced. */
export function withMetadata(object: ApiObject, fields: Partial<ApiObject["metadata"]>): ApiObject {
  return { ...object, metadata: { ...object.metadata, ...fields } };
}

/**
 * Equality of JSON values in which absent, null, an empty array and an object of nothing but these are the same, as two decoded
 * Go values compare.
 * Source: apimachinery pkg/api/equality Semantic.DeepEqual.
 */
export function isSameJson(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (isEmpty(left) || isEmpty(right)) return isEmpty(left) && isEmpty(right);
  if (Array.isArray(left)) return Array.isArray(right) && isSameList(left, right);
  if (!isFields(left) || !isFields(right)) return false;
  const keys = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...keys].every((key) => isSameJson(valueAt(left, key), valueAt(right, key)));
}

function isSameList(left: readonly unknown[], right: readonly unknown[]): boolean {
  return left.length === right.length && left.every((element, index) => isSameJson(element, right[index]));
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isFields(value) && Object.values(value).every(isEmpty);
}
