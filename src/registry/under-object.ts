import type { ApiObject } from "../apimachinery/object.ts";
import { methodNotAllowed } from "../apimachinery/status.ts";
import type { Resource } from "../apis/resource.ts";
import { objectOf, type Entry } from "../storage/stored-object.ts";
import { admissionTerms, type Backend, type RequestContext } from "./backend.ts";
import type { CreateRequest } from "./create.ts";
import { get } from "./read.ts";
import { unstoredEntry } from "./storable.ts";

/** A request for a subresource of the object of that name that is not stored; `object` is of the kind of the subresource. */
export interface UnderObjectRequest extends CreateRequest {
  readonly name: string;
  readonly subresource: string;
}

/** The object of an admitted connection, not older than any acknowledged write, and the options after admission. */
export interface Connected {
  readonly parent: ApiObject;
  readonly options: ApiObject;
}

/** The context of a create under an object. */
export interface UnderRequest {
  readonly namespace: string;
  /** The stored parent object, not older than any acknowledged write. */
  readonly parent: ApiObject;
  readonly context: RequestContext;
  /** Calls validating admission with the completed object; to be called before any effect. @throws StatusError to refuse. */
  readonly admit: (completed: ApiObject) => Promise<void>;
}

/** Answers a create under an object; `object` was decoded, its metadata is the client's. @throws StatusError to refuse. */
export type CreateUnder = (object: ApiObject, request: UnderRequest) => Promise<ApiObject>;

/**
 * Calls admission for a connection to the kubelet of a stored object; `object` are the options from the query.
 * @throws StatusError NotFound where the object is missing, or of admission. Source: apiserver pkg/endpoints/handlers ConnectResource
 */
export async function connect(backend: Backend, resource: Resource, request: UnderObjectRequest): Promise<Connected> {
  const { namespace, name, subresource, object, context } = request;
  const named = { operation: "CONNECT", resource, subresource, namespace, name, oldObject: undefined } as const;
  const admission = { ...admissionTerms(context), ...named };
  const options = (await backend.admission.mutate({ ...admission, object })) ?? object;
  await backend.admission.validate({ ...admission, object: options });
  return { parent: objectOf(await get(backend, resource, { namespace, name })), options };
}

/**
 * Creates an object of a subresource under a stored object. Nothing is stored here; `answer` has all effects.
 * @throws StatusError NotFound where the object is missing, or of admission and `answer`.
 */
export async function createUnder(
  backend: Backend,
  resource: Resource,
  { request, answer }: { readonly request: UnderObjectRequest; readonly answer: CreateUnder | undefined },
): Promise<Entry> {
  const { namespace, name, subresource, context } = request;
  if (answer === undefined) throw methodNotAllowed(resource, "create");
  const named = { operation: "CREATE", resource, subresource, namespace, name, oldObject: undefined } as const;
  const options = { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1", ...context.options };
  const admission = { ...admissionTerms(context), ...named, options };
  const given = inNamespace(request.object, namespace);
  const object = (await backend.admission.mutate({ ...admission, object: given })) ?? given;
  const parent = objectOf(await get(backend, resource, { namespace, name }));
  const admit = (completed: ApiObject): Promise<void> =>
    backend.admission.validate({ ...admission, object: completed });
  return unstoredEntry("", await answer(object, { namespace, parent, context, admit }));
}

/** The object in the namespace of the request, where it names none, as admission sees it. Source: apiserver pkg/registry/rest EnsureObjectNamespaceMatchesRequestNamespace */
function inNamespace(object: ApiObject, namespace: string): ApiObject {
  if (namespace === "" || (object.metadata.namespace ?? "") !== "") return object;
  return { ...object, metadata: { ...object.metadata, namespace } };
}
