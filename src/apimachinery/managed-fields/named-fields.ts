import type { Schema } from "../schema.ts";
import { endsStep, type Pace } from "../step-budget.ts";
import type { Steps } from "../steps.ts";
import { isEmptySet, noFields, type FieldSet } from "./field-set.ts";
import type { PathElement } from "./path-element.ts";
import { entrySchema, namedField } from "./shape.ts";

/**
 * The set with every named field above its members: an applier of `.spec.a` owns `spec` by that, though its set does not say so.
 * Source: structured-merge-diff EnsureNamedFieldsAreMembers.
 */
export function* withNamedFields(schema: Schema | undefined, set: FieldSet, pace: Pace): Steps<FieldSet> {
  let changed: Map<PathElement, FieldSet> | undefined;
  for (const element in set) {
    if (endsStep(pace)) yield;
    const node = set[element];
    if (element === "." || node === undefined || isEmptySet(node)) continue;
    const isOwned = node["."] !== undefined;
    const inner = yield* withNamedFields(schemaBelow(schema, element), node, pace);
    const named = !isOwned && isNamed(schema, element) ? { ".": noFields, ...inner } : inner;
    if (named !== node) (changed ??= new Map()).set(element, named);
  }
  return changed === undefined ? set : { ...set, ...Object.fromEntries(changed) };
}

/** A field whose schema has become atomic is owned as a whole by whoever owned a part of it. Source: ReconcileFieldSetWithSchema. */
export function* reconciledFields(schema: Schema, set: FieldSet, pace: Pace): Steps<FieldSet> {
  let result: Record<string, FieldSet> | undefined;
  for (const element in set) {
    if (endsStep(pace)) yield;
    const node = set[element];
    if (element === "." || node === undefined || isEmptySet(node)) continue;
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
