import { apiVersionOf, type ApiObject, type ObjectMeta } from "../core/object.ts";
import { invalidObject } from "../core/field-error.ts";
import { generatedName } from "../core/names.ts";
import { rfc3339 } from "../core/clock.ts";
import { StatusError, alreadyExists } from "../core/status.ts";
import { validateObjectMeta } from "../resources/object-validation.ts";
import type { Resource } from "../resources/resource.ts";
import { encodeObject, entryOf, type Entry } from "../storage/stored-object.ts";
import { storageKey, type Backend } from "./backend.ts";
import type { RequestContext } from "./context.ts";
import { unstoredEntry } from "./unstored-entry.ts";

/** How often a clash of a generated name is tried again. Source: gate RetryGenerateName. */
const nameAttempts = 8;

/** A new object, decoded against the schema of its resource; `namespace` is the one in the path. */
export interface CreateRequest {
  readonly namespace: string;
  readonly object: ApiObject;
  readonly context: RequestContext;
}

/**
 * Stores a new object; what a client may not set is overwritten.
 * @throws StatusError AlreadyExists, Invalid, or what admission says.
 */
export async function create(backend: Backend, resource: Resource, request: CreateRequest): Promise<Entry> {
  const { metadata } = request.object;
  if ((metadata.resourceVersion ?? "") !== "") {
    throw new StatusError("", "resourceVersion should not be set on objects to be created");
  }
  const prefix = (metadata.name ?? "") === "" ? metadata.generateName : undefined;
  for (let attempt = 1; ; attempt += 1) {
    const name = prefix === undefined || prefix === "" ? metadata.name : generatedName(prefix, backend.random);
    const entry = await createOnce(backend, resource, {
      ...request,
      object: withMeta(request.object, { ...metadata, name: name ?? "" }),
    });
    if (entry !== undefined) return entry;
    if (prefix === undefined) throw alreadyExists(resource, name ?? "");
    if (attempt === nameAttempts) throw exhausted(resource, name ?? "");
  }
}

/** The stored entry, or undefined where the name is taken. */
async function createOnce(backend: Backend, resource: Resource, request: CreateRequest): Promise<Entry | undefined> {
  const { context, namespace } = request;
  const admitted = {
    operation: "CREATE",
    resource,
    subresource: "",
    namespace,
    oldObject: undefined,
    user: context.user,
    dryRun: context.dryRun,
    warn: context.warn,
    annotate: context.annotate,
  } as const;
  let object = prepared(backend, resource, request);
  const name = object.metadata.name ?? "";
  object = (await backend.admission.mutate({ ...admitted, name, object })) ?? object;
  const errors = [...validateObjectMeta(object, resource, { isCreate: true }), ...(resource.validate?.(object) ?? [])];
  if (errors.length > 0) throw invalidObject(resource, name, errors);
  await backend.admission.validate({ ...admitted, name, object });

  const key = storageKey(resource, namespace === "" ? { name } : { namespace, name });
  if (context.dryRun) return backend.cache.get(key) === undefined ? unstoredEntry(key, object) : undefined;
  const value = encodeObject(object);
  const result = await backend.store.create(key, value);
  if (result.kind === "exists") return undefined;
  await backend.cache.waitFor(result.revision);
  return ownEntry(backend, key, result.revision) ?? entryOf(key, value, result.revision);
}

/** The cached entry, unless a later write has replaced it already. */
function ownEntry({ cache }: Backend, key: string, revision: number): Entry | undefined {
  const entry = cache.get(key);
  return entry?.revision === revision ? entry : undefined;
}

function prepared(backend: Backend, resource: Resource, { object, namespace, context }: CreateRequest): ApiObject {
  const { name, generateName, labels, annotations, ownerReferences, finalizers } = object.metadata;
  const metadata: ObjectMeta = {
    name: name ?? "",
    ...(generateName === undefined ? {} : { generateName }),
    ...(namespace === "" ? {} : { namespace }),
    uid: backend.uuid(),
    ...(resource.generation ? { generation: 1 } : {}),
    creationTimestamp: rfc3339(context.now),
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(ownerReferences === undefined ? {} : { ownerReferences }),
    ...(finalizers === undefined ? {} : { finalizers }),
  };
  const fresh: ApiObject = {
    ...object,
    kind: resource.kind,
    apiVersion: apiVersionOf(resource.group, resource.version),
    metadata,
  };
  return resource.prepareForCreate?.(fresh, context) ?? fresh;
}

function withMeta(object: ApiObject, metadata: ObjectMeta): ApiObject {
  return { ...object, metadata };
}

function exhausted(resource: Resource, name: string): StatusError {
  const error = alreadyExists(resource, name);
  return new StatusError("AlreadyExists", error.message, { details: { ...error.details, retryAfterSeconds: 1 } });
}
