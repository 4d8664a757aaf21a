import type { ApiObject } from "../apimachinery/object.ts";
import { methodNotAllowed } from "../apimachinery/status.ts";
import type { Resource } from "../apis/resource.ts";
import { objectOf, type Entry } from "../storage/stored-object.ts";
import type { Backend, RequestContext } from "./backend.ts";
import type { CreateRequest } from "./create.ts";
import { get } from "./read.ts";
import { unstoredEntry } from "./storable.ts";

/** Something to be created under the object of that name; the kind of what is created is the subresource's. */
export interface CreateUnderRequest extends CreateRequest {
  readonly name: string;
  readonly subresource: string;
}

/** What an answer may know of the request besides what is to be created. */
export interface UnderRequest {
  readonly namespace: string;
  /** The stored object it is created under, not older than any acknowledged write. */
  readonly parent: ApiObject;
  readonly context: RequestContext;
  /** Asks validating admission about the completed object; to be called before anything is done. @throws StatusError to refuse. */
  readonly admit: (completed: ApiObject) => Promise<void>;
}

/** Answers a create under an object; `object` was decoded, its metadata is the client's. @throws StatusError to refuse. */
export type CreateUnder = (object: ApiObject, request: UnderRequest) => Promise<ApiObject>;

/**
 * Creates something under a stored object. Nothing is stored here; `answer` does whatever is to be done.
 * @throws StatusError NotFound where the object is missing, or what admission and the answer say.
 */
export async function createUnder(
  backend: Backend,
  resource: Resource,
  { request, answer }: { readonly request: CreateUnderRequest; readonly answer: CreateUnder | undefined },
): Promise<Entry> {
  const { namespace, name, subresource, context } = request;
  if (answer === undefined) throw methodNotAllowed(resource, "create");
  const admission = {
    operation: "CREATE",
    resource,
    subresource,
    namespace,
    name,
    oldObject: undefined,
    user: context.user,
    dryRun: context.dryRun,
    warn: context.warn,
    annotate: context.annotate,
    options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1", ...context.options },
  } as const;
  const given = inNamespace(request.object, namespace);
  const object = (await backend.admission.mutate({ ...admission, object: given })) ?? given;
  const parent = objectOf(await get(backend, resource, namespace === "" ? { name } : { namespace, name }));
  const admit = (completed: ApiObject): Promise<void> =>
    backend.admission.validate({ ...admission, object: completed });
  return unstoredEntry("", await answer(object, { namespace, parent, context, admit }));
}

/** The object in the namespace of the request, where it names none, as admission sees it. Source: apiserver pkg/registry/rest EnsureObjectNamespaceMatchesRequestNamespace */
function inNamespace(object: ApiObject, namespace: string): ApiObject {
  if (namespace === "" || (object.metadata.namespace ?? "") !== "") return object;
  return { ...object, metadata: { ...object.metadata, namespace } };
}
