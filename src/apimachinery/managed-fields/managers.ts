import type { Pace } from "../step-budget.ts";
import type { Steps } from "../steps.ts";
import { isJsonArray, isJsonObject, ownValue, type JsonObject } from "../json-value.ts";
import { isEmptySet, noFields, readFieldSet, sortedSet, unionOf, type FieldSet } from "./field-set.ts";

/** Which manager set which fields by which operation, as `metadata.managedFields` lists it. Source: apimachinery meta/v1 ManagedFieldsEntry. */
export interface ManagedFieldsEntry {
  readonly manager?: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  /** RFC 3339 in whole seconds; absent until the manager has changed a value. */
  readonly time?: string;
  readonly fieldsType: "FieldsV1";
  readonly fieldsV1: FieldSet;
  /** Absent for the object itself. */
  readonly subresource?: string;
}

/** The manager, operation, version and subresource of a write. */
export interface Writer {
  readonly manager: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  /** `""` for the object itself. */
  readonly subresource: string;
}

/** Entries by their identity, in no order that matters. */
export type Managers = ReadonlyMap<string, ManagedFieldsEntry>;

/** How many entries of updates an object has at most; older ones are folded into one. */
const maxUpdaters = 10;
const folded = "ancient-changes";
/** The format of every decoded time. */
const timeForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/** The identity of an entry: appliers keep theirs when they change to another version. */
export function identityOf(
  entry: Pick<ManagedFieldsEntry, "manager" | "operation" | "apiVersion" | "subresource">,
): string {
  const { operation, apiVersion, subresource = "", manager = "" } = entry;
  return `${operation}\n${operation === "Apply" ? "" : apiVersion}\n${subresource}\n${manager}`;
}

/** An entry for a writer that has none yet. */
export function entryFor(writer: Writer, fieldsV1: FieldSet): ManagedFieldsEntry {
  const { manager, operation, apiVersion, subresource } = writer;
  return subresource === ""
    ? { manager, operation, apiVersion, fieldsType: "FieldsV1", fieldsV1 }
    : { manager, operation, apiVersion, fieldsType: "FieldsV1", fieldsV1, subresource };
}

/** An entry with other fields, the time in the usual position. */
export function withFields(
  entry: ManagedFieldsEntry,
  fieldsV1: FieldSet,
  time: string | undefined = entry.time,
): ManagedFieldsEntry {
  if (time === undefined) return { ...entry, fieldsV1 };
  if (entry.time !== undefined) return { ...entry, time, fieldsV1 };
  const { manager, operation, apiVersion, fieldsType, subresource } = entry;
  const timed = { operation, apiVersion, time, fieldsType, fieldsV1 };
  // One literal for each shape: spreading a possibly empty object costs ten times as much as the rest of the function.
  if (manager === undefined) return subresource === undefined ? timed : { ...timed, subresource };
  return subresource === undefined
    ? { manager, operation, apiVersion, time, fieldsType, fieldsV1 }
    : { manager, operation, apiVersion, time, fieldsType, fieldsV1, subresource };
}

/** The stored entries, which are always well formed. */
export function storedManagers(entries: readonly unknown[] | undefined): Managers {
  const managers = new Map<string, ManagedFieldsEntry>();
  for (const entry of (entries ?? []) as readonly ManagedFieldsEntry[]) managers.set(identityOf(entry), entry);
  return managers;
}

/** Entries as a client or a webhook wrote them; undefined where any is malformed. Source: apimachinery managedfields DecodeManagedFields. */
export function* readManagers(entries: unknown, pace: Pace): Steps<Managers | undefined> {
  if (!isJsonArray(entries)) return undefined;
  const managers = new Map<string, ManagedFieldsEntry>();
  for (const value of entries) {
    const entry = isJsonObject(value) ? yield* readEntry(value, pace) : undefined;
    if (entry === undefined) return undefined;
    managers.set(identityOf(entry), entry);
  }
  return managers;
}

/** Whether a client resets all owners: no entries, or a single empty one. */
export function isReset(entries: readonly unknown[] | undefined): boolean {
  if (entries === undefined) return false;
  if (entries.length > 1) return false;
  const [only] = entries;
  return only === undefined || (isJsonObject(only) && Object.keys(only).length === 0);
}

/** The entries in storage order; undefined for none. */
export function listed(managers: Managers): readonly ManagedFieldsEntry[] | undefined {
  const entries = [...managers.values()].filter(({ fieldsV1 }) => !isEmptySet(fieldsV1));
  if (entries.length < 2) return entries.length === 0 ? undefined : entries;
  return entries.sort(compareEntries);
}

/** An entry whose fields have changed, with these in the order of FieldsV1. */
export function* sortedEntry(entry: ManagedFieldsEntry, pace: Pace): Steps<ManagedFieldsEntry> {
  return withFields(entry, yield* sortedSet(entry.fieldsV1, pace));
}

/** Folds the oldest entries of updates, those of one version into one, until there are at most ten. Source: apimachinery managedfields capManagers. */
export function* foldedManagers(managers: Managers, pace: Pace): Steps<Managers> {
  if (managers.size <= maxUpdaters) return managers;
  const updaters = [...managers].filter(([, { operation }]) => operation === "Update");
  let surplus = updaters.length - maxUpdaters;
  if (surplus <= 0) return managers;
  const result = new Map(managers);
  const first = new Map<string, string>();
  // United at the end: adding one set after the other takes quadratic time.
  const buckets = new Map<string, FieldSet[]>();
  for (const [id, entry] of updaters.sort(([, a], [, b]) => compareEntries(a, b))) {
    if (surplus === 0) break;
    const { apiVersion } = entry;
    const earlier = first.get(apiVersion);
    if (earlier === undefined) {
      first.set(apiVersion, id);
      continue;
    }
    const bucket = entryFor({ manager: folded, operation: "Update", apiVersion, subresource: "" }, noFields);
    const bucketId = identityOf(bucket);
    const before = result.get(bucketId) ?? result.get(earlier) ?? bucket;
    if (!result.has(bucketId)) result.delete(earlier);
    result.delete(id);
    const sets = buckets.get(bucketId) ?? [before.fieldsV1];
    sets.push(entry.fieldsV1);
    buckets.set(bucketId, sets);
    result.set(bucketId, withFields(bucket, noFields, entry.time));
    surplus -= 1;
  }
  yield* uniteFields(result, buckets, pace);
  return result;
}

function* uniteFields(
  managers: Map<string, ManagedFieldsEntry>,
  sets: ReadonlyMap<string, readonly FieldSet[]>,
  pace: Pace,
): Steps<void> {
  for (const [id, each] of sets) {
    const entry = managers.get(id);
    if (entry !== undefined) managers.set(id, withFields(entry, yield* unionOf(each, pace)));
  }
}

/** The sort key of entries. Times have one format and are UTC, so that their texts sort like the times. */
const sortKeys = ["operation", "time", "manager", "apiVersion", "subresource"] as const;

function compareEntries(one: ManagedFieldsEntry, other: ManagedFieldsEntry): number {
  for (const key of sortKeys) {
    const [mine, theirs] = [one[key] ?? "", other[key] ?? ""];
    if (mine !== theirs) return mine < theirs ? -1 : 1;
  }
  return 0;
}

const operations = ["Apply", "Update"] as const;

function* readEntry(value: JsonObject, pace: Pace): Steps<ManagedFieldsEntry | undefined> {
  const operation = operations.find((each) => each === ownValue(value, "operation"));
  const [time, manager, apiVersion] = [textAt(value, "time"), textAt(value, "manager"), textAt(value, "apiVersion")];
  if (operation === undefined || apiVersion === undefined) return undefined;
  if (ownValue(value, "fieldsType") !== "FieldsV1") return undefined;
  const fieldsV1 = yield* readFieldSet(ownValue(value, "fieldsV1") ?? {}, pace);
  if (fieldsV1 === undefined || (time !== undefined && !timeForm.test(time))) return undefined;
  const entry = entryFor(
    { manager: manager ?? "", operation, apiVersion, subresource: textAt(value, "subresource") ?? "" },
    yield* sortedSet(fieldsV1, pace),
  );
  return withFields(entry, entry.fieldsV1, time);
}

function textAt(value: JsonObject, key: string): string | undefined {
  const text = ownValue(value, key);
  return typeof text === "string" && text !== "" ? text : undefined;
}
