import { rfc3339 } from "../apimachinery/clock.ts";
import { jsonEqual } from "../apimachinery/equal.ts";
import type { JsonObject } from "../apimachinery/json-value.ts";
import { applyObject } from "../apimachinery/managed-fields/apply-object.ts";
import { noFields, type FieldSet } from "../apimachinery/managed-fields/field-set.ts";
import { fieldsLastApplied, kubectlManager, withLastApplied } from "../apimachinery/managed-fields/last-applied.ts";
import {
  isReset,
  listed,
  readManagers,
  storedManagers,
  type Managers,
  type Writer,
} from "../apimachinery/managed-fields/managers.ts";
import { trackUpdate, type Tracking } from "../apimachinery/managed-fields/track-update.ts";
import { apiVersionOf, type ApiObject } from "../apimachinery/object.ts";
import type { Steps } from "../apimachinery/steps.ts";
import type { Resource } from "../apis/resource.ts";
import type { RequestContext } from "./backend.ts";

/** What a write contributes to field ownership. */
export interface Write {
  readonly resource: Resource;
  /** `""` for the object itself. */
  readonly subresource: string;
  readonly context: Pick<RequestContext, "fieldManager" | "now">;
}

/** A new object whose fields all belong to its creator. */
export function* withCreator(write: Write, object: ApiObject): Steps<ApiObject> {
  const managers = yield* trackUpdate(trackingOf(write, "Update"), new Map(), { before: {}, after: object });
  return withList(object, listed(managers));
}

/**
 * The object to be stored, with its owners after an update or patch. `given` are the owners that the client sends: well-formed ones are
 * used in place of the stored ones, malformed or absent ones are not, an empty list removes them all. Objects without owners get none.
 */
export function* withUpdater(
  write: Write,
  objects: { readonly stored: ApiObject; readonly next: ApiObject; readonly given: readonly unknown[] | undefined },
): Steps<ApiObject> {
  const { stored, next } = objects;
  const before = stored.metadata.managedFields;
  const given = write.subresource === "" ? objects.given : undefined;
  if (isReset(given)) return withList(next, undefined);
  const sent = yield* givenManagers(given, before);
  const known = sent ?? storedManagers(before);
  // Both sides have the same owners in the comparison, which therefore ignores them.
  const after = withList(next, before);
  if (known.size === 0) return after;
  const managers = yield* trackUpdate(trackingOf(write, "Update"), known, { before: stored, after });
  return managers === known && sent === undefined ? after : withList(next, listed(managers));
}

/** The object of an apply, with the owners that the apply computed. */
export function withApplied(object: ApiObject, found: readonly unknown[] | undefined): ApiObject {
  return withList(object, found === undefined || found.length === 0 ? undefined : found);
}

/** The object after admission, with its owners: fields that admission sets have no owner, and owners that it corrupts are restored. */
export function* withAdmitted(
  object: ApiObject,
  before: readonly unknown[] | undefined,
  after: unknown,
): Steps<ApiObject> {
  const garbled = after === before || (yield* readManagers(after, { places: 0 })) === undefined;
  return withList(object, garbled ? before : (after as readonly unknown[]));
}

/** The owners that a client sends, where they are well formed and not just what is stored. */
function* givenManagers(
  given: readonly unknown[] | undefined,
  before: readonly unknown[] | undefined,
): Steps<Managers | undefined> {
  if (given === undefined || given === before || jsonEqual(given, before)) return undefined;
  const managers = yield* readManagers(given, { places: 0 });
  return managers === undefined || managers.size === 0 ? undefined : managers;
}

/** The configuration and options of an apply. */
export interface ApplyRequest {
  readonly config: JsonObject;
  /** Takes ownership of fields of other managers. */
  readonly force: boolean;
}

/**
 * Applies to the stored object, or to none, and sets the owners in `managedFields`. The result is not decoded yet.
 * @throws StatusError Conflict where fields of others would change.
 */
export function* appliedTo(
  write: Write,
  stored: ApiObject | undefined,
  { config, force }: ApplyRequest,
): Steps<JsonObject> {
  const tracking = trackingOf(write, "Apply");
  const live = stored === undefined ? bare(write.resource) : withoutOwners(stored);
  const kubectl = write.context.fieldManager === kubectlManager;
  const { object, managers } = yield* applyObject(tracking, {
    live,
    config,
    managers: storedManagers(stored?.metadata.managedFields),
    force,
    yielded: kubectl ? yield* fieldsLastApplied(write.resource.schema, live) : noFields,
  });
  yield;
  const shown = kubectl ? withLastApplied(object, config) : object;
  const metadata = shown["metadata"] as JsonObject | undefined;
  return { ...shown, metadata: { ...metadata, managedFields: listed(managers) ?? [] } };
}

/** Whether two objects differ only in the times of their owners: such a write is skipped. */
export function differsInTimesOnly(next: ApiObject, stored: ApiObject): boolean {
  // Most writes change something, which is detected here before the expensive comparison.
  if (!isSameApartFrom("metadata", next, stored)) return false;
  const { managedFields: mine, ...nextOthers } = next.metadata;
  const { managedFields: theirs, ...storedOthers } = stored.metadata;
  if (mine === undefined || theirs === undefined || mine.length !== theirs.length) return false;
  return jsonEqual(nextOthers, storedOthers) && jsonEqual(withoutTimes(mine), withoutTimes(theirs));
}

function isSameApartFrom(field: string, one: ApiObject, other: ApiObject): boolean {
  const [mine, theirs] = [Object.keys(one), Object.keys(other)];
  if (mine.length !== theirs.length) return false;
  return mine.every((key) => Object.hasOwn(other, key) && (key === field || jsonEqual(one[key], other[key])));
}

/** By identity: entries with other times have another order. */
function withoutTimes(entries: readonly unknown[]): JsonObject {
  const byId = storedManagers(entries);
  return Object.fromEntries([...byId].map(([id, { time: _time, ...entry }]) => [id, entry]));
}

function trackingOf({ resource, subresource, context }: Write, operation: Writer["operation"]): Tracking {
  return {
    schema: resource.schema,
    writer: {
      manager: context.fieldManager === "" ? "unknown" : context.fieldManager,
      operation,
      apiVersion: apiVersionOf(resource.group, resource.version),
      subresource,
    },
    time: rfc3339(context.now),
    ignored: ignoredFields(resource, subresource),
  };
}

/** The fields that a subresource can change besides metadata; the others change the status. */
const writtenThrough: Readonly<Record<string, string>> = {
  finalize: "spec",
  ephemeralcontainers: "spec",
  scale: "spec",
};

/** The fields that a write cannot change, since the kind restores the stored ones, and so never owns. */
function ignoredFields(resource: Resource, subresource: string): FieldSet {
  if (subresource === "") {
    const status: FieldSet = resource.subresources["status"] === undefined ? noFields : { "f:status": noFields };
    return { ...status, ...resource.serverFields };
  }
  const changed = writtenThrough[subresource] ?? "status";
  const kept = ["apiVersion", "kind", "metadata", changed];
  const others = Object.keys(resource.schema.properties).filter((name) => !kept.includes(name));
  const metadata: FieldSet = resource.custom === undefined ? noFields : { "f:metadata": noFields };
  return { ...Object.fromEntries(others.map((name) => [`f:${name}`, noFields])), ...metadata };
}

function bare(resource: Resource): JsonObject {
  return { apiVersion: apiVersionOf(resource.group, resource.version), kind: resource.kind, metadata: {} };
}

function withoutOwners(object: ApiObject): ApiObject {
  return object.metadata.managedFields === undefined ? object : withList(object, undefined);
}

function withList(object: ApiObject, entries: readonly unknown[] | undefined): ApiObject {
  if (object.metadata.managedFields === undefined) {
    if (entries === undefined) return object;
    return { ...object, metadata: { ...object.metadata, managedFields: entries } };
  }
  const { managedFields: _before, ...metadata } = object.metadata;
  return { ...object, metadata: entries === undefined ? metadata : { ...metadata, managedFields: entries } };
}
