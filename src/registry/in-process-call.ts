import { forbiddenRequest } from "../authorization/forbidden-text.ts";
import type { Authorizer } from "../authorization/authorizer.ts";
import type { ListOptions, ResourceRef } from "../client/client.ts";
import type { Clock } from "../apimachinery/clock.ts";
import { StatusError } from "../apimachinery/status.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import type { Turn } from "./large-work.ts";
import type { Registry } from "./registry.ts";
import type { RecordWrite } from "./write-record.ts";
import { selectionOf, type Selection } from "./selection.ts";
import type { Resource } from "../apis/resource.ts";

export interface InProcessClientOptions {
  readonly registry: Registry;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  /** Every call is authorized as this user, exactly as if it came over the network. */
  readonly user: UserInfo;
  /** Waits between the parts of a large list, which are parsed one at a time. */
  readonly turn: Turn;
  /** Records writes in the audit log; undefined while nothing is recorded. */
  readonly recordWrite?: () => RecordWrite | undefined;
}

/** What a call of a client inside the hub is about. */
export interface Target {
  readonly verb: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

/** The resource, once the user may do this to it. @throws StatusError NotFound, Forbidden. */
export async function authorized(
  options: Pick<InProcessClientOptions, "registry" | "authorizer" | "user">,
  ref: ResourceRef,
  target: Target,
): Promise<Resource> {
  const resource = options.registry.find(ref.group, ref.version, ref.plural);
  if (resource === undefined)
    throw new StatusError("NotFound", "the server could not find the requested resource", { details: {} });
  const attributes = {
    user: options.user,
    verb: target.verb,
    group: resource.group,
    version: resource.version,
    resource: resource.plural,
    subresource: target.subresource ?? "",
    namespace: target.namespace ?? "",
    name: target.name ?? "",
    path: undefined,
  };
  const decision = await options.authorizer(attributes);
  if (decision.verdict !== "allow") throw forbiddenRequest(attributes, decision.reason);
  return resource;
}

/** The objects that a list of the client selects. @throws StatusError BadRequest */
export function selectionFor(resource: Resource, { labelSelector = "", fieldSelector = "" }: ListOptions): Selection {
  return selectionOf(resource, { labelSelector, fieldSelector });
}
