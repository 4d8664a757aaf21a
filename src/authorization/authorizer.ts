import type { UserInfo } from "../apimachinery/user.ts";
import type { ExplainedGrant } from "./explained-grant.ts";

/** What somebody wants to do. `path` is set for non-resource requests only. Source: apiserver pkg/authorization/authorizer Attributes. */
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
  /** Which objects a list, watch or deletecollection is limited to; absent where it is not, or nothing of the selector could be read. */
  readonly fieldSelector?: readonly SelectorRequirement[];
  readonly labelSelector?: readonly SelectorRequirement[];
}

/** One requirement of a selector, in the words of the API. */
export interface SelectorRequirement {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  readonly values: readonly string[];
}

export type Verdict = "allow" | "deny" | "noOpinion";

/** `error` is carried along beside the verdict and does not end the chain. */
export interface Decision {
  readonly verdict: Verdict;
  readonly reason: string;
  readonly error?: string;
}

/** Decides one request. Throwing counts as noOpinion with that error. */
export type Authorizer = (attributes: Attributes) => Promise<Decision>;

/** What a decision rests on, beyond its reason: the grant that allowed it, or a sentence for people. */
export interface StepDetail {
  readonly grant?: ExplainedGrant;
  readonly note?: string;
}

/** A member of a chain with the name under which it appears in traces and audit. */
export interface NamedAuthorizer {
  readonly name: string;
  /** The mode that it stands for, where its name may be another one. */
  readonly type?: string;
  readonly authorize: Authorizer;
  /** Says more of a decision that `authorize` has just given; asked for traces only, so that deciding stays fast. */
  readonly explain?: (decision: Decision, attributes: Attributes) => StepDetail;
}

/** How many messages are told one by one: thousands of bindings may refer to roles that are missing. */
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
