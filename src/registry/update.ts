import { apiVersionOf, type ApiObject, type ObjectMeta } from "../apimachinery/object.ts";
import { jsonEqual } from "../apimachinery/equal.ts";
import { invalid, invalidObject, type FieldError } from "../apimachinery/field-error.ts";
import { StatusError, conflict, methodNotAllowed, notFound, staleObject } from "../apimachinery/status.ts";
import { validateObjectMeta, validateObjectMetaUpdate } from "../apis/object-validation.ts";
import type { Resource } from "../apis/resource.ts";
import type { AdmissionRequest } from "../admission/admission.ts";
import { objectOf, type Entry } from "../storage/stored-object.ts";
import { admissionTerms, caughtUp, storageKey, writtenEntry, type Backend, type RequestContext } from "./backend.ts";
import { create } from "./create.ts";
import { differsInTimesOnly, withAdmitted, withApplied, withUpdater } from "./managed-fields.ts";
import { stepped, turnFor, type Turn } from "./turns.ts";
import { isReleased, removeEntry } from "./delete.ts";
import { mayUseReserve, storable, unstoredEntry } from "./storable.ts";
import { validated, validatedUpdate } from "./validated.ts";

/** How often a write without a resourceVersion of its own is tried again after losing a race. */
const raceAttempts = 10;

/** A change to one object, as PUT and PATCH share it. */
export interface UpdateRequest {
  readonly namespace: string;
  readonly name: string;
  /** `""` for the object itself. */
  readonly subresource: string;
  /**
   * The desired object, created from the stored one, with turns between its parts where that is large. Called again after a
   * lost race. @throws StatusError to refuse.
   */
  readonly desired: (stored: ApiObject, turn: Turn | undefined) => ApiObject | Promise<ApiObject>;
  /** The desired object comes from an apply: its managedFields are computed already, and where none is stored any kind is created. */
  readonly applied?: boolean;
  /** For where none is stored (PUT of kinds with createOnUpdate, apply): a whole object, created once `mayCreate` has not thrown. */
  readonly whenMissing?: {
    readonly object: ApiObject | ((turn: Turn | undefined) => ApiObject | Promise<ApiObject>);
    readonly mayCreate: () => Promise<void>;
  };
  readonly context: RequestContext;
}

/**
 * Replaces a stored object, keeping what clients may not change. A change that changes nothing is not written.
 * @throws StatusError NotFound, Conflict, Invalid, or of admission.
 */
export async function update(
  backend: Backend,
  resource: Resource,
  request: UpdateRequest,
): Promise<{ readonly entry: Entry; readonly created: boolean }> {
  const { creates, connects } = resource.subresources[request.subresource] ?? {};
  if (creates !== undefined || connects !== undefined) throw methodNotAllowed(resource, "update");
  const key = storageKey(resource, request);
  await caughtUp(backend);
  for (let attempt = 1; ; attempt += 1) {
    const current = backend.cache.get(key);
    const created = current === undefined;
    const entry = created
      ? await createInstead(backend, resource, request)
      : await updateOnce(backend, { resource, request, current });
    if (entry !== undefined) return { entry, created };
    if (attempt === raceAttempts) throw conflict(resource, request.name, staleObject);
    await caughtUp(backend);
  }
}

/** The created entry, or undefined where another client created the object first. */
async function createInstead(backend: Backend, resource: Resource, request: UpdateRequest): Promise<Entry | undefined> {
  const { whenMissing, namespace, name, subresource, applied = false, context } = request;
  const mayCreate = subresource === "" && (applied || resource.createOnUpdate);
  if (whenMissing === undefined || !mayCreate) throw notFound(resource, name);
  const { object: missing } = whenMissing;
  if (typeof missing === "object") checkUid(resource, name, { asked: missing.metadata.uid, stored: "" });
  await whenMissing.mayCreate();
  const object = typeof missing === "function" ? await missing(turnFor(backend, context, 0)) : missing;
  const { resourceVersion: _none, ...metadata } = object.metadata;
  const fresh = applied ? { object, applied } : { object: { ...object, metadata } };
  return create(backend, resource, { namespace, ...fresh, context }).catch(undefinedWhereTaken);
}

/** Undefined where the name is taken. */
function undefinedWhereTaken(error: unknown): undefined {
  if (!(error instanceof StatusError) || error.reason !== "AlreadyExists") throw error;
}

interface Step {
  readonly resource: Resource;
  readonly request: UpdateRequest;
  readonly current: Entry;
  readonly turn: Turn | undefined;
}

/** The written entry, or undefined after a lost race that may be tried again. */
async function updateOnce(
  backend: Backend,
  { resource, request, current: raw }: Omit<Step, "turn">,
): Promise<Entry | undefined> {
  const current = await backend.versions.shown(resource, raw);
  const turn = turnFor(backend, request.context, raw.json.length);
  const step: Step = { resource, request, current, turn };
  if (turn !== undefined) await turn();
  const stored = objectOf(current);
  const made = request.desired(stored, turn);
  const desired = made instanceof Promise ? await made : made;
  checkPreconditions(step, desired);
  if (turn !== undefined) await turn();
  const next = await admitted(backend, step, await owned(step, { stored, desired }));
  if (turn !== undefined) await turn();
  // An object stored in an older version, or under an older definition, is rewritten even so.
  if (isSame(next, stored) && (current === raw || isStoredAs(resource, raw))) return current;
  if (request.context.dryRun) return unstoredEntry(current.key, next);
  if (isReleased(resource, next)) return removeEntry(backend, current, next);
  return replaced(backend, step, next);
}

function isSame(next: ApiObject, stored: ApiObject): boolean {
  return jsonEqual(next, stored) || differsInTimesOnly(next, stored);
}

/** Writes an object; the written entry, or undefined after a lost race. */
async function replaced(backend: Backend, step: Step, next: ApiObject): Promise<Entry | undefined> {
  const { resource, request, current, turn } = step;
  if (turn !== undefined) await turn();
  const value = storable(await backend.versions.stored(resource, next));
  const result = await backend.store.update(current.key, value, {
    ifRevision: current.revision,
    mayUseReserve: mayUseReserve({ resource, object: next, value, isCreate: false }),
  });
  if (result.kind === "missing") throw notFound(resource, request.name);
  if (result.kind === "conflict") return undefined;
  await backend.cache.waitFor(result.revision);
  const written = writtenEntry(backend, current.key, { value, revision: result.revision });
  return backend.versions.shown(resource, written);
}

/** Whether an entry is stored in the current storage version, though another is requested. */
function isStoredAs(resource: Resource, entry: Entry): boolean {
  const apiVersion = resource.custom?.storage.apiVersion;
  return apiVersion !== apiVersionOf(resource.group, resource.version) && objectOf(entry).apiVersion === apiVersion;
}

/** @throws StatusError Conflict where the client means another version or object, Invalid where it must name one and does not. */
function checkPreconditions(
  { resource, request, current }: Step,
  { metadata: { resourceVersion, uid } }: ApiObject,
): void {
  checkUid(resource, request.name, { asked: uid, stored: objectOf(current).metadata.uid });
  const version = resourceVersion ?? "";
  if (version === "" || version === "0") {
    if (resource.unconditionalUpdate) return;
    // Kubernetes has the plural here in place of the kind.
    throw invalidObject({ group: resource.group, kind: resource.plural }, request.name, [
      invalid("metadata.resourceVersion", 0, "must be specified for an update"),
    ]);
  }
  if (!/^\d+$/.test(version)) {
    // Kubernetes answers an invalid number in this way, too.
    throw new StatusError("", `strconv.ParseUint: parsing ${JSON.stringify(version.slice(0, 64))}: invalid syntax`);
  }
  if (version !== String(current.revision)) throw conflict(resource, request.name, staleObject);
}

/** @throws StatusError Conflict where the client means another object than the one of that name */
function checkUid(
  resource: Resource,
  name: string,
  { asked = "", stored = "" }: { readonly asked: string | undefined; readonly stored: string | undefined },
): void {
  if (asked === "" || asked === stored) return;
  throw conflict(resource, name, `Precondition failed: UID in precondition: ${asked}, UID in object meta: ${stored}`);
}

/** The object to admit, with the owners of its fields. */
async function owned(
  step: Step,
  objects: { readonly stored: ApiObject; readonly desired: ApiObject },
): Promise<ApiObject> {
  const { resource, request } = step;
  const next = withServerFields(step, objects);
  const given = objects.desired.metadata.managedFields;
  if (request.applied === true) return withApplied(next, given);
  const { subresource, context } = request;
  return stepped(step.turn, withUpdater({ resource, subresource, context }, { stored: objects.stored, next, given }));
}

function withServerFields(step: Step, objects: { readonly stored: ApiObject; readonly desired: ApiObject }): ApiObject {
  const { resource, request } = step;
  const { stored, desired } = objects;
  const incoming: ApiObject = {
    ...desired,
    kind: resource.kind,
    apiVersion: apiVersionOf(resource.group, resource.version),
    metadata: keptMeta(desired.metadata, stored.metadata),
  };
  const subresource = resource.subresources[request.subresource];
  const next =
    subresource?.prepareForUpdate === undefined
      ? (resource.prepareForUpdate?.(incoming, stored, request.context) ?? incoming)
      : subresource.prepareForUpdate(incoming, stored, request.context);
  return resource.generation ? withGeneration(resource, next, stored) : next;
}

/** The metadata that an update keeps, and the metadata that it takes. */
const serverFields = [
  "name",
  "namespace",
  "generateName",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
] as const;
const clientFields = ["labels", "annotations", "ownerReferences", "finalizers"] as const;

/** The metadata that an update may not change; field owners are computed later. */
function keptMeta(desired: ObjectMeta, stored: ObjectMeta): ObjectMeta {
  const meta: Record<string, unknown> = {};
  for (const field of serverFields) if (stored[field] !== undefined) meta[field] = stored[field];
  for (const field of clientFields) if (!isEmpty(desired[field])) meta[field] = desired[field];
  return meta;
}

function isEmpty(value: object | undefined): boolean {
  return value === undefined || Object.keys(value).length === 0;
}

/** Status counts as well where it is a field like any other. */
function withGeneration(resource: Resource, next: ApiObject, stored: ApiObject): ApiObject {
  const { metadata: _a, status: nextStatus, ...nextRest } = next;
  const { metadata: _c, status: storedStatus, ...storedRest } = stored;
  const apart = resource.custom === undefined || resource.subresources["status"] !== undefined;
  if (jsonEqual(nextRest, storedRest) && (apart || jsonEqual(nextStatus, storedStatus))) return next;
  return { ...next, metadata: { ...next.metadata, generation: (stored.metadata.generation ?? 0) + 1 } };
}

/** The object after admission, with the fields that admission may not change restored. */
function restored(step: Step, prepared: ApiObject, mutated: ApiObject): ApiObject | Promise<ApiObject> {
  const next = withServerFields(step, { stored: objectOf(step.current), desired: mutated });
  return stepped(step.turn, withAdmitted(next, prepared.metadata.managedFields, mutated.metadata.managedFields));
}

const noOptions = { kind: "UpdateOptions", apiVersion: "meta.k8s.io/v1" } as const;

/** Runs admission and validation over the prepared object; returns what is to be stored. */
async function admitted(backend: Backend, step: Step, prepared: ApiObject): Promise<ApiObject> {
  const { resource, request, current, turn } = step;
  const stored = objectOf(current);
  const { namespace, name, subresource, context } = request;
  const admission = {
    ...admissionTerms(context),
    operation: "UPDATE",
    resource,
    subresource,
    namespace,
    name,
    oldObject: stored,
    options: isEmpty(context.options) ? noOptions : { ...noOptions, ...context.options },
  } as const;
  const mutated =
    (await backend.admission.mutate({ ...admission, object: prepared } satisfies AdmissionRequest)) ?? prepared;
  const object = mutated === prepared ? prepared : await restored(step, prepared, mutated);
  if (turn !== undefined) await turn();
  const errors: readonly FieldError[] = [
    ...validateObjectMeta(object, resource, { isCreate: false }),
    ...validateObjectMetaUpdate(mutated, stored),
    ...(subresource === "" ? await validated({ backend, resource, context }, object, stored) : []),
    ...(await validatedUpdate({ backend, resource, subresource, context }, object, stored)),
  ];
  if (errors.length > 0) throw invalidObject(resource, name, errors);
  if (turn !== undefined) await turn();
  await backend.admission.validate({ ...admission, object });
  return object;
}
