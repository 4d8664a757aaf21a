import { isJsonArray, isJsonObject, type JsonObject } from "../json-value.ts";
import type { ArraySchema, Schema } from "../schema.ts";
import { endsStep, type Pace } from "../step-budget.ts";
import type { Steps } from "../steps.ts";
import { addTo, fieldsBelow, noFields, nodeOfLevel, type FieldSet, type Level, isEmptySet } from "./field-set.ts";
import { fieldElement, type PathElement } from "./path-element.ts";
import { elementsOfList, entrySchema, namedField, shapeOf } from "./shape.ts";

/** Every leaf and every item of an object: what its applier owns. Source: structured-merge-diff typed.ToFieldSet. */
export function* fieldsOf(schema: Schema, value: unknown, pace: Pace): Steps<FieldSet> {
  if (!isJsonObject(value) || shapeOf(schema, value) !== "map") return noFields;
  return (yield* entriesOf(schema, value, { member: false, pace })) ?? noFields;
}

/** The node of a value; undefined where it has no fields. */
function* nodeOfValue(schema: Schema, value: unknown, walk: Walk): Steps<FieldSet | undefined> {
  if (endsStep(walk.pace)) yield;
  const shape = shapeOf(schema, value);
  if (shape === "leaf") return noFields;
  if (shape === "map" && isJsonObject(value)) return yield* entriesOf(schema, value, walk);
  if (schema.type === "array" && isJsonArray(value)) return yield* itemsOf(schema, value, walk);
  return walk.member ? noFields : undefined;
}

interface Walk {
  /** The path itself is owned, whatever its value. */
  readonly member: boolean;
  readonly pace: Pace;
}

function* entriesOf(schema: Schema, value: JsonObject, { member, pace }: Walk): Steps<FieldSet | undefined> {
  const level: Level = { elements: [], nodes: [] };
  for (const key of Object.keys(value)) {
    const entry = value[key];
    const isOwned = namedField(schema, key) === undefined || isNothing(entry);
    const node = yield* nodeOfValue(entrySchema(schema, key), entry, { member: isOwned, pace });
    if (node === undefined) continue;
    addTo(level, fieldElement(key), node);
  }
  return yield* nodeOfLevel(member, level, pace);
}

/** A named field is owned through the fields below it, and by itself only where there are none. */
function isNothing(value: unknown): boolean {
  return value === null || (isJsonObject(value) && Object.keys(value).length === 0);
}

function* itemsOf(schema: ArraySchema, list: readonly unknown[], { member, pace }: Walk): Steps<FieldSet | undefined> {
  const below: Walk = { member: true, pace };
  const nodes = new Map<PathElement, FieldSet>();
  for (const [index, element] of (yield* elementsOfList(schema, list, pace)).entries()) {
    // Of several items with the same path element the element itself is owned, and nothing below.
    const node = nodes.has(element) ? noFields : ((yield* nodeOfValue(schema.items, list[index], below)) ?? noFields);
    nodes.set(element, node);
  }
  return yield* nodeOfLevel(member, { elements: [...nodes.keys()], nodes: [...nodes.values()] }, pace);
}

/**
 * The set with every named field above its members: an applier of `.spec.a` owns `spec` by that, though its set does not say so.
 * Source: structured-merge-diff EnsureNamedFieldsAreMembers.
 */
export function* withNamedFields(schema: Schema | undefined, set: FieldSet, pace: Pace): Steps<FieldSet> {
  let changed: Map<PathElement, FieldSet> | undefined;
  for (const element in set) {
    if (endsStep(pace)) yield;
    const node = fieldsBelow(set, element);
    if (isEmptySet(node)) continue;
    const isOwned = node["."] !== undefined;
    const inner = yield* withNamedFields(schemaBelow(schema, element), node, pace);
    const named = !isOwned && isNamed(schema, element) ? { ".": noFields, ...inner } : inner;
    if (named !== node) (changed ??= new Map()).set(element, named);
  }
  return changed === undefined ? set : { ...set, ...Object.fromEntries(changed) };
}

/** A field whose schema has become atomic is owned as a whole by each manager that owned a part of it. Source: ReconcileFieldSetWithSchema. */
export function* reconciledFields(schema: Schema, set: FieldSet, pace: Pace): Steps<FieldSet> {
  let result: Record<string, FieldSet> | undefined;
  for (const element in set) {
    if (endsStep(pace)) yield;
    const node = fieldsBelow(set, element);
    if (isEmptySet(node)) continue;
    const inner = schemaBelow(schema, element);
    if (inner === undefined) continue;
    const rest = isAtomic(inner) ? noFields : yield* reconciledFields(inner, node, pace);
    if (rest === node) continue;
    result ??= { ...set };
    result[element] = rest;
  }
  return result ?? set;
}

function isNamed(schema: Schema | undefined, element: PathElement): boolean {
  return schema !== undefined && element.startsWith("f:") && namedField(schema, element.slice(2)) !== undefined;
}

/** The schema one step down; undefined where the step does not match the schema. */
function schemaBelow(schema: Schema | undefined, element: PathElement): Schema | undefined {
  if (schema === undefined) return undefined;
  if (element.startsWith("f:")) {
    const open = schema.type === "object" || schema.type === "map" || schema.type === "any";
    return open ? entrySchema(schema, element.slice(2)) : undefined;
  }
  return element.startsWith("k:") && schema.type === "array" ? schema.items : undefined;
}

function isAtomic(schema: Schema): boolean {
  if (schema.type === "array") {
    const { listType, patchStrategy } = schema;
    return listType === "atomic" || (listType === undefined && patchStrategy?.startsWith("merge") !== true);
  }
  return (schema.type === "object" || schema.type === "map") && schema.mapType === "atomic";
}
