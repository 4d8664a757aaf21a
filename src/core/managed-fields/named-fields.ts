import type { Schema } from "../schema.ts";
import { isEmptySet, noFields, type FieldSet } from "./field-set.ts";
import type { PathElement } from "./path-element.ts";
import { entrySchema, namedField } from "./shape.ts";

/**
 * The set with every named field above its members: an applier of `.spec.a` owns `spec` by that, though its set does not say so.
 * Source: structured-merge-diff EnsureNamedFieldsAreMembers.
 */
export function withNamedFields(schema: Schema | undefined, set: FieldSet): FieldSet {
  let changed: Map<PathElement, FieldSet> | undefined;
  for (const element in set) {
    const node = set[element];
    if (element === "." || node === undefined || isEmptySet(node)) continue;
    const isOwned = node["."] !== undefined;
    const inner = withNamedFields(schemaBelow(schema, element), node);
    const named = !isOwned && isNamed(schema, element) ? { ".": noFields, ...inner } : inner;
    if (named !== node) (changed ??= new Map()).set(element, named);
  }
  return changed === undefined ? set : { ...set, ...Object.fromEntries(changed) };
}

/** A field whose schema has become atomic is owned as a whole by whoever owned a part of it. Source: ReconcileFieldSetWithSchema. */
export function reconciledFields(schema: Schema, set: FieldSet): FieldSet {
  let result: Record<string, FieldSet> | undefined;
  for (const element in set) {
    const node = set[element];
    if (element === "." || node === undefined || isEmptySet(node)) continue;
    const inner = schemaBelow(schema, element);
    if (inner === undefined) continue;
    const rest = isAtomic(inner) ? noFields : reconciledFields(inner, node);
    if (rest === node) continue;
    result ??= { ...set };
    result[element] = rest;
  }
  return result ?? set;
}

function isNamed(schema: Schema | undefined, element: PathElement): boolean {
  return schema !== undefined && element.startsWith("f:") && namedField(schema, element.slice(2)) !== undefined;
}

/** The schema one step down; undefined where the step does not fit the schema. */
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
