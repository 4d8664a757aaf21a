import { apiVersionOf, type ApiObject, type ObjectMeta } from "../apimachinery/object.ts";
import { invalid, invalidObject, type FieldError } from "../apimachinery/field-error.ts";
import { generatedName } from "../apimachinery/names.ts";
import { rfc3339 } from "../apimachinery/clock.ts";
import { StatusError, alreadyExists, badRequest, forbidden } from "../apimachinery/status.ts";
import { validateObjectMeta } from "../apis/object-validation.ts";
import type { Resource } from "../apis/resource.ts";
import type { Entry } from "../storage/stored-object.ts";
import { admissionTerms, storageKey, writtenEntry, type Backend, type RequestContext } from "./backend.ts";
import { withAdmitted, withApplied, withCreator } from "./managed-fields.ts";
import { mayUseReserve, storable, unstoredEntry } from "./storable.ts";
import { stepped, turnFor, type Turn } from "./turns.ts";
import { validated } from "./validated.ts";

/** How often a clash of a generated name is tried again. Source: gate RetryGenerateName. */
const nameAttempts = 8;

/** A new object, decoded against the schema of its resource; `namespace` is the one in the path. */
export interface CreateRequest {
  readonly namespace: string;
  readonly object: ApiObject;
  /** The object comes from an apply: its managedFields are computed already. Otherwise the creator owns all fields. */
  readonly applied?: boolean;
  readonly context: RequestContext;
}

/**
 * Stores a new object; fields that a client may not set are overwritten.
 * @throws StatusError AlreadyExists, Invalid, or of admission.
 */
export async function create(backend: Backend, resource: Resource, request: CreateRequest): Promise<Entry> {
  const { metadata } = request.object;
  const { name: given = "", generateName: prefix = "" } = metadata;
  checkNew(resource, metadata);
  const isNameGenerated = given === "" && prefix !== "";
  for (let attempt = 1; ; attempt += 1) {
    const name = isNameGenerated ? generatedName(prefix, backend.random) : given;
    const object = withMeta(request.object, { ...metadata, name });
    const entry = await createOnce(backend, resource, { ...request, object, isNameGenerated });
    if (entry !== undefined) return entry;
    if (!isNameGenerated) throw alreadyExists(resource, name);
    if (attempt === nameAttempts) throw exhausted(resource, name);
  }
}

/** @throws StatusError where the kind cannot be created, or not with this uid or resourceVersion */
function checkNew(resource: Resource, { name = "", resourceVersion = "" }: ObjectMeta): void {
  // A version that is not a number counts as absent, and is overwritten.
  if (/^\d*[1-9]\d*$/.test(resourceVersion)) {
    throw new StatusError("", "resourceVersion should not be set on objects to be created");
  }
  if (resource.custom?.terminating === true) {
    throw forbidden(resource, name, "create not allowed while custom resource definition is terminating");
  }
}

/** A request whose object has a name. */
interface NamedRequest extends CreateRequest {
  readonly isNameGenerated: boolean;
}

/** The stored entry, or undefined where the name is taken. */
async function createOnce(backend: Backend, resource: Resource, request: NamedRequest): Promise<Entry | undefined> {
  const { context, namespace, isNameGenerated } = request;
  const admitted = {
    ...admissionTerms(context),
    operation: "CREATE",
    resource,
    subresource: "",
    namespace,
    oldObject: undefined,
    options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1", ...context.options },
    nameIsGenerated: isNameGenerated,
  } as const;
  const turn = turnFor(backend, context, 0);
  if (turn !== undefined) await turn();
  const { object, name } = await mutated(backend, request, {
    resource,
    turn,
    mutate: (draft, draftName) => backend.admission.mutate({ ...admitted, name: draftName, object: draft }),
  });
  if (turn !== undefined) await turn();
  const errors = [
    ...validateGeneration(request.object, resource),
    ...validateObjectMeta(object, resource, { isCreate: true }),
    ...(await validated({ backend, resource, context }, object)),
  ];
  if (errors.length > 0) throw invalidObject(resource, name, errors);
  if (turn !== undefined) await turn();
  await backend.admission.validate({ ...admitted, name, object });

  const key = storageKey(resource, { namespace, name });
  if (context.dryRun) return backend.cache.get(key) === undefined ? unstoredEntry(key, object) : undefined;
  if (turn !== undefined) await turn();
  const value = storable(await backend.versions.stored(resource, object));
  const reserve = mayUseReserve({ resource, object, value, isCreate: true });
  const result = await backend.store.create(key, value, { mayUseReserve: reserve });
  if (result.kind === "exists") return undefined;
  await backend.cache.waitFor(result.revision);
  return backend.versions.shown(resource, writtenEntry(backend, key, { value, revision: result.revision }));
}

/** Where the server does not count generations, the client's value must at least be a count. */
function validateGeneration({ metadata: { generation = 0 } }: ApiObject, resource: Resource): readonly FieldError[] {
  if (resource.generation || generation >= 0) return [];
  return [invalid("metadata.generation", generation, "must be greater than or equal to 0")];
}

interface Mutation {
  readonly resource: Resource;
  readonly mutate: (draft: ApiObject, name: string) => Promise<ApiObject | undefined>;
  readonly turn: Turn | undefined;
}

/**
 * The prepared object after mutating admission, which sees it without the fields of the server; an object that admission has changed is
 * prepared once more. @throws StatusError BadRequest where admission moved it to another namespace, or of admission.
 */
async function mutated(
  backend: Backend,
  request: NamedRequest,
  { resource, mutate, turn }: Mutation,
): Promise<{ readonly object: ApiObject; readonly name: string }> {
  const object = await owned(resource, request, { prepared: prepared(backend, resource, request), turn });
  const { name = "", uid: _uid, creationTimestamp: _time, generation: _generation, ...metadata } = object.metadata;
  const draft = withMeta(object, request.isNameGenerated ? metadata : { name, ...metadata });
  const next = (await mutate(draft, name)) ?? draft;
  if (next === draft) return { object, name };
  if ((next.metadata.namespace ?? "") !== request.namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  const renamed = (next.metadata.name ?? "") === "" ? name : (next.metadata.name ?? "");
  const given = { ...request, object: withMeta(next, { ...next.metadata, name: renamed }) };
  const again = await owned(resource, given, { prepared: prepared(backend, resource, given), turn });
  const { managedFields } = object.metadata;
  return {
    object: await stepped(turn, withAdmitted(again, managedFields, next.metadata.managedFields)),
    name: renamed,
  };
}

function prepared(backend: Backend, resource: Resource, request: CreateRequest): ApiObject {
  const fresh: ApiObject = {
    ...request.object,
    kind: resource.kind,
    apiVersion: apiVersionOf(resource.group, resource.version),
    metadata: newMetadata(backend, resource, request),
  };
  return resource.prepareForCreate?.(fresh, request.context) ?? fresh;
}

function newMetadata(backend: Backend, resource: Resource, request: CreateRequest): ObjectMeta {
  const { object, namespace, context } = request;
  const { name, generateName, labels, annotations, ownerReferences, finalizers } = object.metadata;
  // Field by field: spreading mostly empty objects costs more than the rest of this function.
  const metadata: { -readonly [Field in keyof ObjectMeta]: ObjectMeta[Field] } = { name: name ?? "" };
  if (generateName !== undefined) metadata.generateName = generateName;
  if (namespace !== "") metadata.namespace = namespace;
  metadata.uid = backend.uuid();
  if (resource.generation) metadata.generation = 1;
  metadata.creationTimestamp = rfc3339(context.now);
  if (labels !== undefined) metadata.labels = labels;
  if (annotations !== undefined) metadata.annotations = annotations;
  if (ownerReferences !== undefined) metadata.ownerReferences = ownerReferences;
  if (finalizers !== undefined) metadata.finalizers = finalizers;
  return metadata;
}

/** The prepared object with the owners of its fields, which are computed in a turn of their own. */
async function owned(
  resource: Resource,
  { object, context, applied }: NamedRequest,
  { prepared: ready, turn }: { readonly prepared: ApiObject; readonly turn: Turn | undefined },
): Promise<ApiObject> {
  if (applied === true) return withApplied(ready, object.metadata.managedFields);
  return stepped(turn, withCreator({ resource, subresource: "", context }, ready));
}

function withMeta(object: ApiObject, metadata: ObjectMeta): ApiObject {
  return { ...object, metadata };
}

function exhausted(resource: Resource, name: string): StatusError {
  const error = alreadyExists(resource, name);
  return new StatusError("AlreadyExists", error.message, { details: { ...error.details, retryAfterSeconds: 1 } });
}
