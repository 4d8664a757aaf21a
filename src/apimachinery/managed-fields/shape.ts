import { isJsonArray, isJsonObject } from "../json-value.ts";
import { endsStep, type Pace } from "../step-budget.ts";
import type { Steps } from "../steps.ts";
import { propertyField, type ArraySchema, type Field, type Schema } from "../schema.ts";
import { valueElement, type PathElement } from "./path-element.ts";

/** How a value is owned: a leaf as a whole, a map entry by entry, a list element by element. Source: structured-merge-diff schema.Atom. */
export type Shape = "leaf" | "map" | "list";

/** The schema of an unknown value: objects are granular, lists are owned as a whole. */
export const deduced: Schema = { type: "any" };

/** How `value` is owned under its schema. Null and absent take the shape of the schema. */
export function shapeOf(schema: Schema, value: unknown): Shape {
  switch (schema.type) {
    case "object":
    case "map":
      return schema.mapType === "atomic" ? "leaf" : "map";
    case "array":
      return isGranularList(schema) ? "list" : "leaf";
    case "any":
      return isJsonObject(value) ? "map" : "leaf";
    default:
      return "leaf";
  }
}

/** The property of the entry `key` of a granular map; undefined for an entry that the schema does not name. */
export function namedField(schema: Schema, key: string): Field | undefined {
  return schema.type === "object" ? propertyField(schema, key) : undefined;
}

/** The schema of the entry `key` of a granular map. */
export function entrySchema(schema: Schema, key: string): Schema {
  return schema.type === "map" ? schema.values : (namedField(schema, key)?.schema ?? deduced);
}

/** Whether a value is absent, null, or an empty container. */
export function isEmptyValue(value: unknown): boolean {
  if (isJsonArray(value)) return value.length === 0;
  return value === undefined || value === null || (isJsonObject(value) && Object.keys(value).length === 0);
}

/** The elements of a list by path element; `problem` for one that has none. */
export type Indexed = { readonly elements: readonly PathElement[] } | { readonly problem: string };

/** The path elements of all elements of a granular list, in their order. */
export function* indexList(schema: ArraySchema, list: readonly unknown[], pace: Pace): Steps<Indexed> {
  const elementOf = namerOf(schema);
  const elements: PathElement[] = [];
  for (const [index, item] of list.entries()) {
    if (endsStep(pace)) yield;
    const element = elementOf(item);
    if (typeof element !== "string") return { problem: `element ${index}: ${element.problem}` };
    elements.push(element);
  }
  return { elements };
}

/** As `indexList`, for a validated list; an element without a path element becomes `i:`. */
export function* elementsOfList(
  schema: ArraySchema,
  list: readonly unknown[],
  pace: Pace,
): Steps<readonly PathElement[]> {
  const elementOf = namerOf(schema);
  const elements: PathElement[] = [];
  for (const [index, item] of list.entries()) {
    if (endsStep(pace)) yield;
    const element = elementOf(item);
    elements.push(typeof element === "string" ? element : `i:${index}`);
  }
  return elements;
}

function isGranularList({ listType, patchStrategy }: ArraySchema): boolean {
  if (listType !== undefined) return listType !== "atomic";
  return patchStrategy === "merge" || patchStrategy === "merge,retainKeys";
}

/** The keys of a list by keys; undefined for a set. */
function listKeys({ listType, listMapKeys, patchMergeKey }: ArraySchema): readonly string[] | undefined {
  if (listType === "set") return undefined;
  if (listType === "map") return listMapKeys ?? [];
  return patchMergeKey === undefined ? undefined : [patchMergeKey];
}

type Problem = { readonly problem: string };

function setElement(item: unknown): PathElement | Problem {
  if (isJsonObject(item)) return { problem: "associative list without keys has an element that's a map type" };
  if (isJsonArray(item)) return { problem: "not supported: associative list with lists as elements" };
  if (item === null) return { problem: "associative list without keys has an element that's an explicit null" };
  return valueElement(item);
}

/** A function from an item to its path element; created once for each list. */
function namerOf(schema: ArraySchema): (item: unknown) => PathElement | Problem {
  const keys = listKeys(schema);
  return keys === undefined ? setElement : keyedNamer(schema, keys);
}

function keyedNamer(schema: ArraySchema, keys: readonly string[]): (item: unknown) => PathElement | Problem {
  const sorted = [...new Set(keys)].sort();
  const fields = sorted.map((key) => ({
    key,
    label: `${JSON.stringify(key)}:`,
    defaultValue: keyDefault(schema, key),
  }));
  return (item) => {
    if (item === null) return { problem: "associative list with keys may not have a null element" };
    if (!isJsonObject(item)) return { problem: "associative list with keys may not have non-map elements" };
    let text = "";
    for (const { key, label, defaultValue } of fields) {
      const value = Object.hasOwn(item, key) ? item[key] : defaultValue;
      if (value !== undefined) text += `${text === "" ? "" : ","}${label}${JSON.stringify(value)}`;
    }
    if (text !== "") return `k:{${text}}`;
    const names = keys.map((key) => JSON.stringify(key)).join(" ");
    const why = "(and doesn't have default values for any key fields)";
    return { problem: `associative list with keys has an element that omits all key fields [${names}] ${why}` };
  };
}

/** The default of a key field that an item does not have. */
function keyDefault(schema: ArraySchema, key: string): unknown {
  const field = namedField(schema.items, key);
  return field?.default ?? (field === undefined ? undefined : zeroOf(field));
}

/** The zero value of a Go struct where the JSON of a built-in kind is absent. */
function zeroOf({ number, pointer, schema }: Field): string | number | undefined {
  if (number === undefined || pointer === true) return undefined;
  if (schema.type === "integer") return 0;
  return schema.type === "string" ? "" : undefined;
}
