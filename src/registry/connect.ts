import type { ApiObject } from "../apimachinery/object.ts";
import { objectOf } from "../storage/stored-object.ts";
import type { Resource } from "../apis/resource.ts";
import type { Backend, RequestContext } from "./backend.ts";
import { get } from "./read.ts";

/** A request to the kubelet of an object, as admission sees it. */
export interface ConnectRequest {
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
  /** The options from the query, of the kind of the subresource. */
  readonly object: ApiObject;
  readonly context: RequestContext;
}

/** An object whose kubelet may be connected to, not older than any acknowledged write, and the options as admission leaves them. */
export interface Connected {
  readonly parent: ApiObject;
  readonly options: ApiObject;
}

/**
 * Asks admission about a connection to the kubelet of a stored object.
 * @throws StatusError NotFound where the object is missing, or what admission says. Source: apiserver pkg/endpoints/handlers ConnectResource
 */
export async function connect(backend: Backend, resource: Resource, request: ConnectRequest): Promise<Connected> {
  const { namespace, name, subresource, object, context } = request;
  const admission = {
    operation: "CONNECT",
    resource,
    subresource,
    namespace,
    name,
    oldObject: undefined,
    user: context.user,
    ...(context.impersonator === undefined ? {} : { impersonator: context.impersonator }),
    ...(context.source === undefined ? {} : { source: context.source }),
    dryRun: false,
    warn: context.warn,
    annotate: context.annotate,
  } as const;
  const options = (await backend.admission.mutate({ ...admission, object })) ?? object;
  await backend.admission.validate({ ...admission, object: options });
  const parent = objectOf(await get(backend, resource, namespace === "" ? { name } : { namespace, name }));
  return { parent, options };
}
