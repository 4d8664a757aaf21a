import { jsonEqual } from "../../apimachinery/equal.ts";
import { isJsonArray, isJsonObject, ownValue, type JsonObject } from "../../apimachinery/json-value.ts";
import { endsStep, type Pace } from "../../apimachinery/step-budget.ts";
import { finish, type Steps } from "../../apimachinery/steps.ts";
import type { StructuralSchema } from "./structural-schema.ts";

/** The schema of the value under `key` in an object: a property, or a value of `additionalProperties`. */
export function memberSchema(structure: StructuralSchema | undefined, key: string): StructuralSchema | undefined {
  const additional = structure?.additionalProperties;
  return structure?.properties.get(key) ?? (typeof additional === "object" ? additional : undefined);
}

/**
 * The element in `stored` that an element of a list replaces: in lists of type map the element of the same keys; undefined in
 * all others. Source: KEP-4008, apiserver pkg/cel/common CorrelatedObject.
 */
export function* storedElements(
  structure: StructuralSchema | undefined,
  stored: unknown,
  pace: Pace,
): Steps<(element: unknown) => unknown> {
  const { listType, listMapKeys = [] } = structure ?? {};
  if (listType !== "map" || !isJsonArray(stored)) return () => undefined;
  const keyed = new Map<string, unknown>();
  for (const element of stored) {
    if (endsStep(pace)) yield;
    const key = scalarKey(element, listMapKeys);
    if (key !== undefined && !keyed.has(key)) keyed.set(key, element);
  }
  return (element) => keyed.get(scalarKey(element, listMapKeys) ?? "");
}

/** The keys of an element as one text; undefined when one is missing or no scalar. */
function scalarKey(element: unknown, keys: readonly string[]): string | undefined {
  if (!isJsonObject(element)) return undefined;
  const values = keys.map((key) => ownValue(element, key) ?? undefined);
  return values.some((value) => value === undefined || typeof value === "object") ? undefined : JSON.stringify(values);
}

/**
 * Whether a value equals the stored one. As in Kubernetes, an object with a field that its schema does not declare counts as changed,
 * and the order of a list of type map is irrelevant.
 */
export function* isUnchanged(
  structure: StructuralSchema | undefined,
  { value, stored }: { readonly value: unknown; readonly stored: unknown },
  pace: Pace,
): Steps<boolean> {
  if (endsStep(pace)) yield;
  if (isJsonObject(value)) return isJsonObject(stored) && (yield* isSameObject(structure, { value, stored }, pace));
  if (!isJsonArray(value) || !isJsonArray(stored)) return value === stored;
  if (value.length !== stored.length) return false;
  return yield* structure?.listType === "map"
    ? isSameMap(structure, { value, stored }, pace)
    : isSameList(value, stored, pace);
}

function* isSameMap(
  structure: StructuralSchema,
  { value, stored }: { readonly value: readonly unknown[]; readonly stored: readonly unknown[] },
  pace: Pace,
): Steps<boolean> {
  const storedElement = yield* storedElements(structure, stored, pace);
  for (const element of value) {
    const before = storedElement(element);
    if (before === undefined) return false;
    if (!(yield* isUnchanged(structure.items, { value: element, stored: before }, pace))) return false;
  }
  return true;
}

function* isSameObject(
  structure: StructuralSchema | undefined,
  { value, stored }: { readonly value: JsonObject; readonly stored: JsonObject },
  pace: Pace,
): Steps<boolean> {
  const keys = Object.keys(value);
  if (keys.length !== Object.keys(stored).length) return false;
  for (const key of keys) {
    const below = memberSchema(structure, key);
    if (below === undefined || !Object.hasOwn(stored, key)) return false;
    if (!(yield* isUnchanged(below, { value: value[key], stored: ownValue(stored, key) }, pace))) return false;
  }
  return true;
}

function* isSameList(value: readonly unknown[], stored: readonly unknown[], pace: Pace): Steps<boolean> {
  for (const [index, element] of value.entries()) {
    if (endsStep(pace)) yield;
    if (!jsonEqual(element, stored[index])) return false;
  }
  return true;
}

/** Operands of validation ratcheting: the value and the one that it replaces (`current`); without such a pair, the nearest one above (`above`). */
export interface Ratchet {
  readonly current: Correlation | undefined;
  readonly above: Correlation | undefined;
}

/** A value that rules apply to, its path, the value that it replaces, and the operands of ratcheting. */
export interface RulePlace {
  readonly path: string;
  readonly value: unknown;
  readonly stored: unknown;
  readonly ratchet: Ratchet;
}

/** The ratchet of a field of an object. */
export function ratchetBelow({ current, above }: Ratchet, name: string): Ratchet {
  if (current === undefined) return { current, above };
  // Type and name of the object do not depend on its version, and so cannot justify an old error.
  if (above === undefined && (name === "apiVersion" || name === "kind"))
    return { current: undefined, above: undefined };
  return { current: correlatedField(current, name), above: current };
}

/** The path of a field below `path`. */
export function joinedPath(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/** Whether the value, or a value that contains it, is unchanged. */
export function isUnchangedPlace({ current, above }: Ratchet): boolean {
  return (current ?? above)?.isUnchanged() === true;
}

/** A path as errors show it; Go prints one without steps as `<nil>`. */
export function shownPath(path: string): string {
  return path === "" ? "<nil>" : path;
}

/** A value and the one that it replaces. */
interface Correlation {
  readonly schema: StructuralSchema;
  readonly value: unknown;
  readonly stored: unknown;
  /** Whether the two are equal; computed once. */
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
    elementBefore: (element) => (elements ??= finish(storedElements(schema, stored, { places: 0 })))(element),
  };
}

/** The previous value under the same key; undefined where it is unknown. */
export function correlatedField(above: Correlation, key: string): Correlation | undefined {
  const { schema, value, stored } = above;
  const below = memberSchema(schema, key);
  if (below === undefined || !isJsonObject(value) || !isJsonObject(stored)) return undefined;
  if (!Object.hasOwn(value, key) || !Object.hasOwn(stored, key)) return undefined;
  return correlate(below, ownValue(value, key), ownValue(stored, key));
}

/** The previous element of a list of type map with the same keys; elements of other lists have none. */
export function correlatedElement(above: Correlation, element: unknown): Correlation | undefined {
  const before = above.elementBefore(element);
  const { items } = above.schema;
  return before === undefined || items === undefined ? undefined : correlate(items, element, before);
}
