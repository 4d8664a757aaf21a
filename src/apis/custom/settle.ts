import { DecodeError } from "../../apimachinery/decode-error.ts";
import { decodeObject } from "../../apimachinery/decode.ts";
import { jsonEqual } from "../../apimachinery/equal.ts";
import { isJsonArray, isJsonObject, ownValue, type JsonObject } from "../../apimachinery/json-value.ts";
import { publishedMeta } from "../schemas/published.ts";
import { memberSchema } from "./correlation.ts";
import type { StructuralSchema } from "./structural-schema.ts";
import { truncate } from "../../apimachinery/truncate.ts";

/** An object with known fields only, and the sorted paths of the pruned fields, at most 100. */
export interface Pruned {
  readonly object: JsonObject;
  readonly unknown: readonly string[];
}

/** What is preserved besides the fields of the schema. */
export interface PruneOptions {
  /** Whether the object is a whole resource. */
  readonly isResourceRoot: boolean;
  /** Whether metadata of embedded resources preserves fields that ObjectMeta does not have; pruned by default. */
  readonly embeddedMetadata?: "pruned" | "kept";
}

/**
 * Prunes the fields that the schema does not declare, except where `x-kubernetes-preserve-unknown-fields` is set. apiVersion,
 * kind and metadata stay in embedded resources, and at the root with `isResourceRoot`; metadata of embedded resources keeps only
 * fields of ObjectMeta. Unchanged parts are shared with `object`, which is never changed itself.
 * Source: apiextensions-apiserver pkg/apiserver/schema/pruning and objectmeta.
 */
export function pruned(schema: StructuralSchema, object: JsonObject, options: PruneOptions): Pruned {
  const { isResourceRoot, embeddedMetadata = "pruned" } = options;
  const state: State = { path: [], fieldPath: [], unknown: [], isResourceRoot, embeddedMetadata };
  const result = pruneObject(state, schema, object);
  return { object: result, unknown: state.unknown.sort() };
}

const maxUnknown = 100;

interface State {
  readonly path: string[];
  /** The same path with the keys of maps in brackets, as paths into metadata are written. */
  readonly fieldPath: string[];
  readonly unknown: string[];
  readonly isResourceRoot: boolean;
  readonly embeddedMetadata: "pruned" | "kept";
}

/** The schema of a value: a schema, nothing (all fields are unknown), or a list item below preserved unknown fields. */
type Against = StructuralSchema | undefined;

function pruneValue(state: State, schema: Against, value: unknown): unknown {
  if (isJsonObject(value)) return pruneObject(state, schema, value);
  return isJsonArray(value) ? pruneArray(state, schema, value) : value;
}

function pruneArray(state: State, schema: Against, value: readonly unknown[]): readonly unknown[] {
  const keeps = schema?.preserveUnknownFields === true;
  const items = schema?.items;
  if (keeps && items === undefined) return value;
  return changedElements(value, (element, index) => {
    const step = `[${index}]`;
    return within(state, [step, step], () => (keeps ? keepValue : pruneValue)(state, items, element));
  });
}

/** Items of a list that preserves unknown fields preserve theirs too, whatever their own schema. */
function keepValue(state: State, schema: Against, value: unknown): unknown {
  if (schema === undefined) return value;
  return pruneValue(state, schema.preserveUnknownFields ? schema : { ...schema, preserveUnknownFields: true }, value);
}

function pruneObject(state: State, schema: Against, value: JsonObject): JsonObject {
  return changedMembers(value, (key, member) => prunedMember(state, schema, { key, member }));
}

/** The pruned value of one field; undefined when the field is dropped. */
function prunedMember(
  state: State,
  schema: Against,
  { key, member }: { readonly key: string; readonly member: unknown },
): unknown {
  const isRoot = state.path.length === 0;
  if (isMetaField(key) && isResource(state, schema))
    return key === "metadata" && !isRoot ? prunedMetadata(state, member) : member;
  const isProperty = schema?.properties.has(key) === true;
  if (!isProperty && schema?.additionalProperties === undefined) return unknownMember(state, schema, { key, member });
  const step = stepTo(state, key);
  // Values of `additionalProperties: true` may be of any type, but as objects they have no known fields.
  const against = memberSchema(schema, key);
  return within(state, [step, isProperty ? step : `[${key}]`], () => pruneValue(state, against, member));
}

function isResource(state: State, schema: Against): boolean {
  return (state.path.length === 0 && state.isResourceRoot) || schema?.embeddedResource === true;
}

/** A schema need not declare the fields that every object has. */
function unknownMember(
  state: State,
  schema: Against,
  { key, member }: { readonly key: string; readonly member: unknown },
): unknown {
  if (schema?.preserveUnknownFields === true) return member;
  if (state.path.length > 0 || !isMetaField(key)) report(state, state.path.join("") + stepTo(state, key));
  return undefined;
}

/** Malformed metadata is left for validation to reject; null is none, as in Go. */
function prunedMetadata(state: State, value: unknown): unknown {
  if (value === null) return {};
  if (!isJsonObject(value) || state.embeddedMetadata === "kept") return value;
  try {
    const decoded = decodeObject(publishedMeta("ObjectMeta"), value);
    for (const path of decoded.unknown) report(state, `${state.fieldPath.join("")}.metadata.${path}`);
    return jsonEqual(decoded.object, value) ? value : decoded.object;
  } catch (error) {
    if (error instanceof DecodeError) return value;
    throw error;
  }
}

/** Whether a field is one that every resource has. */
export function isMetaField(key: string): boolean {
  return key === "apiVersion" || key === "kind" || key === "metadata";
}

function stepTo(state: State, key: string): string {
  return state.path.length === 0 ? key : `.${key}`;
}

function within<T>(state: State, [step, fieldStep]: readonly [string, string], visit: () => T): T {
  state.path.push(step);
  state.fieldPath.push(fieldStep);
  const result = visit();
  state.path.pop();
  state.fieldPath.pop();
  return result;
}

function report(state: State, path: string): void {
  if (state.unknown.length >= maxUnknown) return;
  state.unknown.push(truncate(path, 1024));
}

/**
 * The object with the defaults of the schema where a property is missing. A null that the schema does not allow is replaced by the
 * default, or removed when there is none; nulls in lists stay, for validation to reject. Unchanged parts are shared with
 * `object`, and defaults are shared with the schema; neither is ever changed.
 * Source: apiextensions-apiserver pkg/apiserver/schema/defaulting.
 */
export function withDefaults(schema: StructuralSchema, object: JsonObject): JsonObject {
  const known = changedMembers(object, (key, member) => defaultedMember(memberSchema(schema, key), member));
  let result: Map<string, unknown> | undefined;
  for (const [key, property] of schema.properties) {
    if (property.default === undefined || ownValue(known, key) !== undefined) continue;
    result ??= new Map(Object.entries(known));
    result.set(key, defaultedValue(property, property.default));
  }
  return result === undefined ? known : Object.fromEntries(result);
}

function defaultedMember(schema: StructuralSchema | undefined, member: unknown): unknown {
  return defaultedValue(schema, member === null && schema?.nullable === false ? schema.default : member);
}

function defaultedValue(schema: StructuralSchema | undefined, value: unknown): unknown {
  if (schema === undefined) return value;
  if (isJsonObject(value)) return withDefaults(schema, value);
  const { items } = schema;
  if (!isJsonArray(value) || items === undefined) return value;
  return changedElements(value, (element) =>
    defaultedValue(items, element === null && !items.nullable ? (items.default ?? null) : element),
  );
}

/** The object with each member mapped by `change`, where undefined removes it; itself where nothing changes. */
function changedMembers(object: JsonObject, change: (key: string, member: unknown) => unknown): JsonObject {
  let result: Map<string, unknown> | undefined;
  for (const key of Object.keys(object)) {
    const next = change(key, object[key]);
    if (next === object[key]) continue;
    result ??= new Map(Object.entries(object));
    if (next === undefined) result.delete(key);
    else result.set(key, next);
  }
  // fromEntries defines properties, so that a key __proto__ is an own property.
  return result === undefined ? object : Object.fromEntries(result);
}

/** The list with each element mapped by `change`; itself where nothing changes. */
function changedElements(
  list: readonly unknown[],
  change: (element: unknown, index: number) => unknown,
): readonly unknown[] {
  let result: unknown[] | undefined;
  for (const [index, element] of list.entries()) {
    const next = change(element, index);
    if (next === element) continue;
    result ??= [...list];
    result[index] = next;
  }
  return result ?? list;
}
