import { jsonEqual } from "../../core/equal.ts";
import { isJsonArray, isJsonObject, ownValue } from "../../core/json-value.ts";
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
export function storedElements(
  structure: StructuralSchema | undefined,
  stored: unknown,
): (element: unknown) => unknown {
  if (structure?.listType !== "map" || !isJsonArray(stored)) return () => undefined;
  const { listMapKeys } = structure;
  const keyed = new Map<string, unknown>();
  for (const element of stored) {
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
export function isUnchanged(structure: StructuralSchema | undefined, value: unknown, stored: unknown): boolean {
  if (isJsonObject(value)) {
    if (!isJsonObject(stored)) return false;
    const keys = Object.keys(value);
    return (
      keys.length === Object.keys(stored).length &&
      keys.every((key) => {
        const below = memberStructure(structure, key);
        return (
          below !== undefined && Object.hasOwn(stored, key) && isUnchanged(below, value[key], ownValue(stored, key))
        );
      })
    );
  }
  if (!isJsonArray(value) || !isJsonArray(stored) || structure?.listType !== "map") return jsonEqual(value, stored);
  if (value.length !== stored.length) return false;
  const storedElement = storedElements(structure, stored);
  return value.every((element) => {
    const before = storedElement(element);
    return before !== undefined && isUnchanged(structure.items, element, before);
  });
}
