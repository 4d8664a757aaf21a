import { jsonEqual } from "../../apimachinery/equal.ts";
import { isJsonArray, isJsonObject, ownValue, type JsonObject } from "../../apimachinery/json-value.ts";
import { endsStep, type Pace } from "../../apimachinery/step-budget.ts";
import type { Steps } from "../../apimachinery/steps.ts";
import type { StructuralSchema } from "./structural-schema.ts";

/** The schema of what stands under `key` in an object: a property, or a value of `additionalProperties`. */
export function memberStructure(structure: StructuralSchema | undefined, key: string): StructuralSchema | undefined {
  const additional = structure?.additionalProperties;
  return structure?.properties.get(key) ?? (typeof additional === "object" ? additional : undefined);
}

/**
 * What stood in `stored` in place of an element of a list: in lists of type map the element of the same keys; in others nobody
 * can tell, so that the answer is undefined. Source: KEP-4008, apiserver pkg/cel/common CorrelatedObject.
 */
export function* storedElements(
  structure: StructuralSchema | undefined,
  stored: unknown,
  pace: Pace,
): Steps<(element: unknown) => unknown> {
  if (structure?.listType !== "map" || !isJsonArray(stored)) return () => undefined;
  const { listMapKeys } = structure;
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
 * Whether a value is what was stored. As in Kubernetes, an object with a field that its schema does not know counts as changed, and the
 * order of a list of type map does not count.
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
  if (structure?.listType !== "map") return yield* isSameList(value, stored, pace);
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
    const below = memberStructure(structure, key);
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
