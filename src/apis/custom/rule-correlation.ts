import { jsonEqual } from "../../apimachinery/equal.ts";
import { isJsonArray, isJsonObject, ownValue } from "../../apimachinery/json-value.ts";
import type { StructuralSchema } from "./structural-schema.ts";

/** What validation ratcheting compares: the value and the one that it replaces (`current`); where these cannot be matched, the nearest value above that can be (`above`). */
export interface Ratchet {
  readonly current: Correlation | undefined;
  readonly above: Correlation | undefined;
}

/** A value that rules apply to, its path, the value that it replaces, and what is compared for ratcheting. */
export interface RulePlace {
  readonly path: string;
  readonly value: unknown;
  readonly stored: unknown;
  readonly ratchet: Ratchet;
}

/** The ratchet of a field of an object. */
export function ratchetBelow({ current, above }: Ratchet, name: string): Ratchet {
  if (current === undefined) return { current, above };
  // What the object is does not change with its version, and so cannot be what excuses it.
  if (above === undefined && (name === "apiVersion" || name === "kind"))
    return { current: undefined, above: undefined };
  return { current: correlatedField(current, name), above: current };
}

/** The path of a field below `path`. */
export function joinedPath(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/** Whether the value, or what it is a part of, is as it was before. */
export function isUnchanged({ current, above }: Ratchet): boolean {
  return (current ?? above)?.isUnchanged() === true;
}

/** A path as errors show it; Go prints one without steps as `<nil>`. */
export function shownPath(path: string): string {
  return path === "" ? "<nil>" : path;
}

/** A value beside the one that it replaces. */
export interface Correlation {
  readonly schema: StructuralSchema;
  readonly value: unknown;
  readonly stored: unknown;
  /** Whether the two say the same; found out once. */
  readonly isUnchanged: () => boolean;
  readonly elementBefore: (element: unknown) => unknown;
}

/** Two values of one schema. */
export function correlate(schema: StructuralSchema, value: unknown, stored: unknown): Correlation {
  let same: boolean | undefined;
  let elements: ((element: unknown) => unknown) | undefined;
  return {
    schema,
    value,
    stored,
    isUnchanged: () => (same ??= jsonEqual(value, stored)),
    elementBefore: (element) => (elements ??= storedElements(schema, stored))(element),
  };
}

/** What stood under the same key before; undefined where that cannot be known. */
export function correlatedField(above: Correlation, key: string): Correlation | undefined {
  const { schema, value, stored } = above;
  const below = schema.properties.get(key) ?? schema.additionalProperties;
  if (typeof below !== "object" || !isJsonObject(value) || !isJsonObject(stored)) return undefined;
  if (!Object.hasOwn(value, key) || !Object.hasOwn(stored, key)) return undefined;
  return correlate(below, ownValue(value, key), ownValue(stored, key));
}

/** The element of a list of type map that had the same keys before; elements of other lists cannot be matched. */
export function correlatedElement(above: Correlation, element: unknown): Correlation | undefined {
  const before = above.elementBefore(element);
  const { items } = above.schema;
  return before === undefined || items === undefined ? undefined : correlate(items, element, before);
}

/** Finds elements of a stored list of type map by their keys, of which each has one; of repeated ones, the first. */
export function storedElements(schema: StructuralSchema, stored: unknown): (element: unknown) => unknown {
  const { listType, listMapKeys } = schema;
  if (listType !== "map" || listMapKeys.length === 0 || !isJsonArray(stored)) return () => undefined;
  const elements = new Map<string, unknown>();
  for (const element of stored) {
    const key = keyOf(element, listMapKeys);
    if (key !== undefined && !elements.has(key)) elements.set(key, element);
  }
  return (element) => {
    const key = keyOf(element, listMapKeys);
    return key === undefined ? undefined : elements.get(key);
  };
}

function keyOf(element: unknown, names: readonly string[]): string | undefined {
  if (!isJsonObject(element)) return undefined;
  const values = names.map((name) => ownValue(element, name));
  const isScalar = values.every((value) => ["string", "number", "boolean"].includes(typeof value));
  return isScalar ? JSON.stringify(values) : undefined;
}
