import type { UserInfo } from "../apimachinery/user.ts";
import type { ExplainedGrant } from "./explained-grant.ts";

/** What the requester wants to do. `path` is set for non-resource requests only. Source: apiserver pkg/authorization/authorizer Attributes. */
export interface Attributes {
  readonly user: UserInfo;
  /** get, list, watch, create, update, patch, delete, deletecollection, or any other word such as `approve`; a lower-case HTTP method for paths. */
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly path: string | undefined;
  /** Which objects a list, watch or deletecollection is limited to; absent where it is not limited, or no part of the selector can be parsed. */
  readonly fieldSelector?: readonly SelectorRequirement[];
  readonly labelSelector?: readonly SelectorRequirement[];
}

/** One requirement of a selector, with the operators of the API. */
export interface SelectorRequirement {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  readonly values: readonly string[];
}

export type Verdict = "allow" | "deny" | "noOpinion";

/** `error` accompanies the verdict and does not end the chain. */
export interface Decision {
  readonly verdict: Verdict;
  readonly reason: string;
  readonly error?: string;
}

/** Decides one request. Throwing counts as noOpinion with that error. */
export type Authorizer = (attributes: Attributes) => Promise<Decision>;

/** The basis of a decision, beyond its reason: the grant that allowed it, or a readable sentence. */
export interface StepDetail {
  readonly grant?: ExplainedGrant;
  readonly note?: string;
}

/** A member of a chain with the name under which it appears in traces and audit. */
export interface NamedAuthorizer {
  readonly name: string;
  /** The mode that it implements, where its name may differ. */
  readonly type?: string;
  readonly authorize: Authorizer;
  /** Explains a decision that `authorize` has just returned; called for traces only, so that deciding stays fast. */
  readonly explain?: (decision: Decision, attributes: Attributes) => StepDetail;
}

/** How many messages are listed one by one: thousands of bindings may refer to missing roles. */
const maxMessages = 64;

/**
 * Several messages as one, each once: the message itself, or `[a, b]` when there are more, of which the 65th and later ones are counted
 * only. Empty without messages.
 * Source: apimachinery util/errors Aggregate.
 */
export function aggregateErrors(messages: readonly string[]): string {
  const distinct = [...new Set(messages)];
  const more = distinct.length - maxMessages;
  const reported = more > 0 ? [...distinct.slice(0, maxMessages), `and ${more} more`] : distinct;
  return reported.length > 1 ? `[${reported.join(", ")}]` : (reported[0] ?? "");
}
