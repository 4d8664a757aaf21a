import { DecodeError } from "../../apimachinery/decode-error.ts";
import { decodeObject } from "../../apimachinery/decode.ts";
import { jsonEqual } from "../../apimachinery/equal.ts";
import { isJsonArray, isJsonObject, type JsonObject } from "../../apimachinery/json-value.ts";
import { publishedMeta } from "../schemas/published.ts";
import type { StructuralSchema } from "./structural-schema.ts";

/** An object of known fields only, and the sorted paths of what was left out, at most 100. */
export interface Pruned {
  readonly object: JsonObject;
  readonly unknown: readonly string[];
}

/** What is kept besides what the schema knows. */
export interface PruneOptions {
  /** Whether the object is a whole resource. */
  readonly isResourceRoot: boolean;
  /** Whether metadata of embedded resources keeps what ObjectMeta does not have; pruned by default. */
  readonly embeddedMetadata?: "pruned" | "kept";
}

/**
 * Leaves out the fields that the schema does not know, but for what `x-kubernetes-preserve-unknown-fields` keeps. apiVersion,
 * kind and metadata stay in embedded resources, and at the root with `isResourceRoot`; metadata of embedded resources keeps only
 * what ObjectMeta has. What has not changed is shared with `object`, which is never changed itself.
 * Source: apiextensions-apiserver pkg/apiserver/schema/pruning and objectmeta.
 */
export function pruned(schema: StructuralSchema, object: JsonObject, options: PruneOptions): Pruned {
  const { isResourceRoot, embeddedMetadata = "pruned" } = options;
  const state: State = { path: [], fieldPath: [], unknown: [], isResourceRoot, embeddedMetadata };
  const result = pruneObject(state, schema, object);
  return { object: result, unknown: state.unknown.sort() };
}

const maximumUnknown = 100;

interface State {
  readonly path: string[];
  /** The same path with the keys of maps in brackets, as paths into metadata are written. */
  readonly fieldPath: string[];
  readonly unknown: string[];
  readonly isResourceRoot: boolean;
  readonly embeddedMetadata: "pruned" | "kept";
}

/** What a value is held against: a schema, nothing (all fields are unknown), or a list item of what keeps unknown fields. */
type Against = StructuralSchema | undefined;

function pruneValue(state: State, schema: Against, value: unknown): unknown {
  if (isJsonObject(value)) return pruneObject(state, schema, value);
  return isJsonArray(value) ? pruneArray(state, schema, value) : value;
}

function pruneArray(state: State, schema: Against, value: readonly unknown[]): readonly unknown[] {
  const keeps = schema?.preserveUnknownFields === true;
  const items = schema?.items;
  if (keeps && items === undefined) return value;
  let result: unknown[] | undefined;
  for (const [index, element] of value.entries()) {
    const step = `[${index}]`;
    const next = within(state, [step, step], () =>
      keeps ? keepValue(state, items, element) : pruneValue(state, items, element),
    );
    if (next === element) continue;
    result ??= [...value];
    result[index] = next;
  }
  return result ?? value;
}

/** Items of a list that keeps unknown fields keep theirs too, whatever their own schema says. */
function keepValue(state: State, schema: Against, value: unknown): unknown {
  if (schema === undefined) return value;
  return pruneValue(state, schema.preserveUnknownFields ? schema : { ...schema, preserveUnknownFields: true }, value);
}

function pruneObject(state: State, schema: Against, value: JsonObject): JsonObject {
  let result: Map<string, unknown> | undefined;
  for (const key of Object.keys(value)) {
    const member = value[key];
    const next = prunedMember(state, schema, { key, member });
    if (next === member) continue;
    result ??= new Map(Object.entries(value));
    if (next === undefined) result.delete(key);
    else result.set(key, next);
  }
  // fromEntries defines properties, so that a key __proto__ is one of its own.
  return result === undefined ? value : Object.fromEntries(result);
}

/** What stays of one field; undefined when nothing does. */
function prunedMember(
  state: State,
  schema: Against,
  { key, member }: { readonly key: string; readonly member: unknown },
): unknown {
  const isRoot = state.path.length === 0;
  const isResource = schema?.embeddedResource === true || (isRoot && state.isResourceRoot);
  if (isResource && isMetaField(key)) {
    return key === "metadata" && !isRoot ? prunedMetadata(state, member) : member;
  }
  const property = schema?.properties.get(key);
  const known = property ?? schema?.additionalProperties;
  if (known === undefined) {
    if (schema?.preserveUnknownFields === true) return member;
    reportUnknown(state, key);
    return undefined;
  }
  // Values of `additionalProperties: true` may be of any type, but as objects they have no known fields.
  const against = typeof known === "object" ? known : undefined;
  const step = stepTo(state, key);
  return within(state, [step, property === undefined ? `[${key}]` : step], () => pruneValue(state, against, member));
}

/** Malformed metadata is left for validation to refuse; null is none, as in Go. */
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

function isMetaField(key: string): boolean {
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

/** A schema need not name the fields that every object has. */
function reportUnknown(state: State, key: string): void {
  if (state.path.length > 0 || !isMetaField(key)) report(state, state.path.join("") + stepTo(state, key));
}

function report(state: State, path: string): void {
  if (state.unknown.length >= maximumUnknown) return;
  state.unknown.push(path.length > 1024 ? `${path.slice(0, 1024)}…` : path);
}
