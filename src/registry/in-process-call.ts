import { forbiddenRequest } from "../authorization/forbidden-text.ts";
import type { Authorizer, Decision } from "../authorization/authorizer.ts";
import type { ResourceRef } from "../client/client.ts";
import type { Clock } from "../apimachinery/clock.ts";
import { StatusError } from "../apimachinery/status.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import type { Turn } from "./turns.ts";
import type { Registry } from "./registry.ts";
import type { Resource } from "../apis/resource.ts";
import type { RequestContext } from "./backend.ts";

export interface InProcessClientOptions {
  readonly registry: Registry;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  /** Every call is authorized as this user, exactly like a request over the network. */
  readonly user: UserInfo;
  /** Waits between the parts of a large list, which are parsed one at a time. */
  readonly turn: Turn;
  /** Records writes in the audit log; undefined while nothing is recorded. */
  readonly recordWrite?: () => RecordWrite | undefined;
}

/** The target of a call of a client inside the hub. */
export interface Target {
  readonly verb: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

/** The resource, once the user may do this to it. @throws StatusError NotFound, Forbidden. */
export async function authorized(
  { registry, authorizer, user }: Pick<InProcessClientOptions, "registry" | "authorizer" | "user">,
  { group, version, plural }: ResourceRef,
  { verb, namespace = "", name = "", subresource = "" }: Target,
): Promise<Resource> {
  const resource = registry.find(group, version, plural);
  if (resource === undefined)
    throw new StatusError("NotFound", "the server could not find the requested resource", { details: {} });
  const attributes = { user, verb, group, version, resource: plural, subresource, namespace, name, path: undefined };
  const decision = await authorizer(attributes);
  if (decision.verdict !== "allow") throw forbiddenRequest(attributes, decision.reason);
  return resource;
}

/** One write of a client inside the hub, for the audit log, before it is authorized. */
export interface ClientWrite {
  readonly user: UserInfo;
  readonly verb: "create" | "update" | "patch" | "delete" | "deletecollection";
  readonly resource: ResourceRef;
  readonly namespace: string;
  /** Empty for a create. */
  readonly name: string;
  readonly subresource: string;
  /** The request body: an object, a patch, or DeleteOptions. */
  readonly sent: unknown;
}

/** The audit events of one write. */
export interface WriteRecord {
  readonly decided: (decision: Decision) => void;
  readonly annotate: RequestContext["annotate"];
  /** Called once, with the answer. */
  readonly succeeded: (answer: unknown) => void;
  /** Called once instead, with the error. */
  readonly failed: (error: unknown) => void;
}

/** Begins the record of a write; undefined where the audit policy records nothing of it. */
export type RecordWrite = (write: ClientWrite) => WriteRecord | undefined;

/** What the audit of a write needs. */
export interface Recorded {
  readonly authorizer: Authorizer;
  readonly annotate: RequestContext["annotate"];
}

const unrecorded = (): void => undefined;

/** Runs a write under `authorizer`, and records its result. */
export async function recorded<T>(
  { begin, authorizer }: { readonly begin: RecordWrite | undefined; readonly authorizer: Authorizer },
  write: ClientWrite,
  act: (call: Recorded) => Promise<T>,
): Promise<T> {
  const record = begin?.(write);
  if (record === undefined) return act({ authorizer, annotate: unrecorded });
  const { annotate, decided, succeeded, failed } = record;
  const observed: Authorizer = async (attributes) => {
    const decision = await authorizer(attributes);
    decided(decision);
    return decision;
  };
  let result: T;
  try {
    result = await act({ authorizer: observed, annotate });
  } catch (error) {
    failed(error);
    throw error;
  }
  succeeded(result);
  return result;
}
