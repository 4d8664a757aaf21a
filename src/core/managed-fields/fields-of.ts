import { isJsonArray, isJsonObject, type JsonObject } from "../json-value.ts";
import type { ArraySchema, Schema } from "../schema.ts";
import { noFields, nodeOfLevel, type FieldSet, type Level } from "./field-set.ts";
import { fieldElement, type PathElement } from "./path-element.ts";
import { elementsOfList, entrySchema, namedField, shapeOf } from "./shape.ts";

/** Every leaf and every item that an object names: what its applier owns. Source: structured-merge-diff typed.ToFieldSet. */
export function fieldsOf(schema: Schema, value: unknown): FieldSet {
  return isJsonObject(value) && shapeOf(schema, value) === "map"
    ? (entriesOf(schema, value, false) ?? noFields)
    : noFields;
}

/** The node of a value; undefined where it has no fields. `member` says that the place itself is owned, whatever stands there. */
function nodeOfValue(schema: Schema, value: unknown, member: boolean): FieldSet | undefined {
  const shape = shapeOf(schema, value);
  if (shape === "leaf") return noFields;
  if (shape === "map" && isJsonObject(value)) return entriesOf(schema, value, member);
  if (schema.type === "array" && isJsonArray(value)) return itemsOf(schema, value, member);
  return member ? noFields : undefined;
}

function entriesOf(schema: Schema, value: JsonObject, member: boolean): FieldSet | undefined {
  const level: Level = { elements: [], nodes: [] };
  for (const key of Object.keys(value)) {
    const entry = value[key];
    const isOwned = namedField(schema, key) === undefined || isNothing(entry);
    const node = nodeOfValue(entrySchema(schema, key), entry, isOwned);
    if (node === undefined) continue;
    level.elements.push(fieldElement(key));
    level.nodes.push(node);
  }
  return nodeOfLevel(member, level);
}

/** A named field is owned through what is underneath it, and by itself only where there is nothing. */
function isNothing(value: unknown): boolean {
  return value === null || (isJsonObject(value) && Object.keys(value).length === 0);
}

function itemsOf(schema: ArraySchema, list: readonly unknown[], member: boolean): FieldSet | undefined {
  const nodes = new Map<PathElement, FieldSet>();
  for (const [index, element] of elementsOfList(schema, list).entries()) {
    // Of several items under one path element the element itself is owned, and nothing below.
    const node = nodes.has(element) ? noFields : (nodeOfValue(schema.items, list[index], true) ?? noFields);
    nodes.set(element, node);
  }
  return nodeOfLevel(member, { elements: [...nodes.keys()], nodes: [...nodes.values()] });
}
