import type { AdmissionRequest } from "../admission/admission.ts";
import { rfc3339 } from "../apimachinery/clock.ts";
import { invalid, invalidObject, notSupported } from "../apimachinery/field-error.ts";
import type { ApiObject, ObjectMeta } from "../apimachinery/object.ts";
import { conflict, notFound, StatusError } from "../apimachinery/status.ts";
import type { Resource } from "../apis/resource.ts";
import { encodeObject, objectOf, type Entry, entryAt } from "../storage/stored-object.ts";
import { admissionTerms, caughtUp, storageKey, writtenEntry, type Backend, type RequestContext } from "./backend.ts";
import { unstoredEntry } from "./storable.ts";
import { list, type Listed } from "./read.ts";
import type { Selection } from "./selection.ts";

/** DeleteOptions, from the body or the query. Source: apimachinery meta/v1 DeleteOptions. */
export interface Deletion {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy?: string;
  readonly orphanDependents?: boolean;
}

export interface DeleteRequest {
  readonly namespace: string;
  readonly name: string;
  readonly options: Deletion;
  readonly context: RequestContext;
}

/** `removed`: deleted from the store. Otherwise the object stays, marked, until its finalizers and grace period end. */
export interface Deleted {
  readonly removed: boolean;
  readonly entry: Entry;
}

const policies: readonly string[] = ["Foreground", "Background", "Orphan"];
const gcFinalizers: Readonly<Record<string, string>> = { Foreground: "foregroundDeletion", Orphan: "orphan" };
const raceAttempts = 10;

/** Removes an object, or marks it where finalizers or grace keep it. @throws StatusError NotFound, Conflict, Invalid, or of admission. */
export async function remove(backend: Backend, resource: Resource, request: DeleteRequest): Promise<Deleted> {
  checkOptions(request.options);
  const key = storageKey(resource, request);
  for (let attempt = 1; attempt <= raceAttempts; attempt += 1) {
    await caughtUp(backend);
    const current = backend.cache.get(key);
    if (current === undefined) throw notFound(resource, request.name);
    const deleted = await removeOnce(backend, { resource, request, current });
    if (deleted !== undefined) return deleted;
  }
  throw conflict(resource, request.name, "it keeps changing while it is being deleted; try again");
}

interface Step {
  readonly resource: Resource;
  readonly request: DeleteRequest;
  readonly current: Entry;
}

async function removeOnce(backend: Backend, { resource, request, current: raw }: Step): Promise<Deleted | undefined> {
  const current = await backend.versions.shown(resource, raw);
  const step: Step = { resource, request, current };
  const { namespace, name, context, options } = request;
  const stored = objectOf(current);
  checkPreconditions(step, stored);
  const admission: AdmissionRequest = {
    ...admissionTerms(context),
    operation: "DELETE",
    resource,
    subresource: "",
    namespace,
    name,
    object: undefined,
    oldObject: stored,
    options: {
      kind: "DeleteOptions",
      apiVersion: "meta.k8s.io/v1",
      ...options,
      ...(context.dryRun ? { dryRun: ["All"] } : {}),
    },
  };
  await backend.admission.mutate(admission);
  await backend.admission.validate(admission);

  const marked = mark(resource, { stored, options, now: context.now });
  if (isReleased(resource, marked)) {
    const last = resource.deletion?.graceSeconds === undefined ? undefined : marked;
    if (context.dryRun) return { removed: true, entry: lastEntry(current, last) };
    const entry = await removeEntry(backend, current, last);
    return entry === undefined ? undefined : { removed: true, entry };
  }
  if (sameMark(marked, stored)) return { removed: false, entry: current };
  if (context.dryRun) return { removed: false, entry: unstoredEntry(current.key, marked) };
  const value = encodeObject(await backend.versions.stored(resource, marked));
  const freeing = { ifRevision: current.revision, mayUseReserve: true };
  const result = await backend.store.update(current.key, value, freeing);
  if (result.kind !== "updated") return undefined;
  await backend.cache.waitFor(result.revision);
  const written = writtenEntry(backend, current.key, { value, revision: result.revision });
  return { removed: false, entry: await backend.versions.shown(resource, written) };
}

/** @throws StatusError Invalid for options that contradict each other or do not exist. */
export function checkOptions({ propagationPolicy, orphanDependents }: Deletion): void {
  const subject = { group: "meta.k8s.io", kind: "DeleteOptions" };
  if (propagationPolicy !== undefined && orphanDependents !== undefined) {
    const why = "orphanDependents and deletionPropagation cannot be both set";
    throw invalidObject(subject, "", [invalid("propagationPolicy", propagationPolicy, why)]);
  }
  if (propagationPolicy !== undefined && !policies.includes(propagationPolicy)) {
    throw invalidObject(subject, "", [notSupported("propagationPolicy", propagationPolicy, [...policies, "nil"])]);
  }
}

function checkPreconditions({ resource, request, current }: Step, { metadata }: ApiObject): void {
  const { preconditions } = request.options;
  if (preconditions === undefined) return;
  const { uid, resourceVersion } = preconditions;
  const isEmptied = resource.deletion?.emptied === true;
  // Kubernetes names the kind here and not the plural, except for namespaces and definitions, which are emptied first.
  const subject = isEmptied ? resource : { group: resource.group, plural: resource.kind };
  const conditions = [
    { what: "UID", asked: uid, found: metadata.uid ?? "", change: "deleted and then recreated" },
    { what: "ResourceVersion", asked: resourceVersion, found: String(current.revision), change: "modified" },
  ];
  for (const { what, asked = "", found, change } of conditions.filter(({ asked }) => asked !== undefined)) {
    if (asked === found) continue;
    const why = isEmptied
      ? `Precondition failed: ${what} in precondition: ${asked}, ${what} in object meta: ${found}`
      : `the ${what} in the precondition (${asked}) does not match the ${what} in record (${found}). The object might have been ${change}`;
    throw conflict(subject, request.name, why);
  }
}

/** The object as stored while its deletion is pending. */
function mark(
  resource: Resource,
  input: { readonly stored: ApiObject; readonly options: Deletion; readonly now: number },
): ApiObject {
  const { stored, options, now } = input;
  const { finalizers: held, ...metadata } = stored.metadata;
  const { deletionTimestamp, deletionGracePeriodSeconds: before = 0 } = metadata;
  const finalizers = withPolicy(held, options);
  const wanted = wantedGrace(resource, stored, options);
  const isFirst = deletionTimestamp === undefined;
  const grace = isFirst ? wanted : Math.min(wanted, before);
  const marked: ApiObject = {
    ...stored,
    metadata: {
      ...metadata,
      ...(isFirst ? nextGeneration(metadata) : {}),
      ...(isFirst || grace !== before ? ending(resource, now, grace) : {}),
      ...(finalizers.length === 0 ? {} : { finalizers }),
    },
  };
  return resource.deletion?.marked?.(marked) ?? marked;
}

function nextGeneration({ generation }: ObjectMeta): Partial<ObjectMeta> {
  return generation === undefined ? {} : { generation: generation + 1 };
}

function wantedGrace({ deletion }: Resource, stored: ApiObject, { gracePeriodSeconds }: Deletion): number {
  return deletion?.graceSeconds?.(stored, gracePeriodSeconds) ?? 0;
}

function ending({ deletion }: Resource, now: number, grace: number): Partial<ObjectMeta> {
  const deletionTimestamp = rfc3339(now + grace * 1000);
  return deletion?.emptied === true ? { deletionTimestamp } : { deletionTimestamp, deletionGracePeriodSeconds: grace };
}

function withPolicy(finalizers: readonly string[] = [], options: Deletion): readonly string[] {
  const { orphanDependents, propagationPolicy } = options;
  if (propagationPolicy === undefined && orphanDependents === undefined) return finalizers;
  const policy = propagationPolicy ?? (orphanDependents === true ? "Orphan" : "Background");
  const others = finalizers.filter((one) => !Object.values(gcFinalizers).includes(one));
  const own = gcFinalizers[policy];
  return own === undefined ? others : [...others, own];
}

function sameMark(marked: ApiObject, stored: ApiObject): boolean {
  const [a, b] = [marked.metadata, stored.metadata];
  return (
    a.deletionTimestamp === b.deletionTimestamp &&
    a.deletionGracePeriodSeconds === b.deletionGracePeriodSeconds &&
    JSON.stringify(a.finalizers ?? []) === JSON.stringify(b.finalizers ?? [])
  );
}

export interface DeleteCollectionRequest {
  readonly namespace: string;
  readonly selection: Selection;
  readonly options: Deletion;
  readonly context: RequestContext;
}

/** Deletes every object that matches, one by one; returns the list of those it found. @throws StatusError of the first deletion that fails. */
export async function removeCollection(
  backend: Backend,
  resource: Resource,
  request: DeleteCollectionRequest,
): Promise<Listed> {
  const { namespace, selection, options, context } = request;
  checkOptions(options);
  const turn = (): Promise<void> => backend.turns.next(context.user.username);
  const newest = { from: { kind: "newest" }, limit: undefined, turn } as const;
  const found = await list(backend, resource, { namespace, selection, ...newest });
  for (const entry of found.entries) {
    const { metadata } = objectOf(entry);
    const one = { namespace: metadata.namespace ?? "", name: metadata.name ?? "", options, context };
    await remove(backend, resource, one).catch(unlessGone);
  }
  return found;
}

/** Ignores NotFound: another client deleted the object first. */
function unlessGone(error: unknown): void {
  if (!(error instanceof StatusError) || error.reason !== "NotFound") throw error;
}

/** Whether finalizers, or a condition of the kind itself, keep a marked object in the store. */
function isHeld(resource: Resource, object: ApiObject): boolean {
  return (object.metadata.finalizers ?? []).length > 0 || (resource.deletion?.held?.(object) ?? false);
}

/** Whether a marked object can be removed: no finalizers and no grace period. */
export function isReleased(resource: Resource, object: ApiObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds } = object.metadata;
  return deletionTimestamp !== undefined && (deletionGracePeriodSeconds ?? 0) === 0 && !isHeld(resource, object);
}

/** Removes a stored object if it is unchanged; returns its last state, or undefined after a lost race. */
export async function removeEntry(backend: Backend, entry: Entry, last?: ApiObject): Promise<Entry | undefined> {
  const result = await backend.store.delete(entry.key, { ifRevision: entry.revision });
  if (result.kind === "conflict") return undefined;
  if (result.kind === "missing") return lastEntry(entry, last);
  await backend.cache.waitFor(result.revision);
  return lastEntry(last === undefined ? entryAt(entry, result.revision) : entry, last);
}

function lastEntry(entry: Entry, last: ApiObject | undefined): Entry {
  return last === undefined ? entry : unstoredEntry(entry.key, last);
}
