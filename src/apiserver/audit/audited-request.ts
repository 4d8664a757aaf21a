import { impersonationChecks, serviceAccountOf } from "../../authentication/impersonation.ts";
import type { Attributes } from "../../authorization/authorizer.ts";
import {
  anonymousUser,
  authenticatedGroup,
  serviceAccountUser,
  unauthenticatedGroup,
  type UserInfo,
} from "../../apimachinery/user.ts";
import { fieldsAt, isFields, stringAt, valueAt, type Fields } from "../../apis/json-fields.ts";
import { traceAnnotation } from "./audit.ts";
import { splitTarget } from "../http-types.ts";
import { requestAttributes, requestInfo } from "../request-info.ts";

/** An authorized request as an audit event of any kube-apiserver or hub records it; level Metadata is enough. */
export interface AuditedRequest {
  readonly auditId: string;
  readonly stage: string;
  /** The request, with the impersonated user where there is one. */
  readonly attributes: Attributes;
  /** The impersonation requests that the real user must be allowed first. */
  readonly impersonation: readonly Attributes[];
  readonly wasAllowed: boolean;
  /** The authorizer that allowed or denied it, as a hub records it; empty where none decided, and for other servers. */
  readonly by: string;
  /** The reason that those authorizers returned; may be empty. */
  readonly reason: string;
  /** The time of the request, as the event writes it. */
  readonly time: string;
}

/** Why an event describes no authorized request: its stage precedes the decision, there is no decision, or the event is malformed. */
export type NotAudited = "early" | "undecided" | "unreadable";

const maxTraceCharacters = 1 << 16;

const methodOfVerb: ReadonlyMap<string, string> = new Map([
  ["create", "POST"],
  ["update", "PUT"],
  ["patch", "PATCH"],
  ["delete", "DELETE"],
  ["deletecollection", "DELETE"],
  ["get", "GET"],
  ["list", "GET"],
  ["watch", "GET"],
]);

/** Reads one audit.k8s.io Event, parsed from JSON. Never throws. */
export function readAuditedRequest(event: unknown): AuditedRequest | NotAudited {
  if (!isAuditEvent(event)) return "unreadable";
  const stage = stringAt(event, "stage");
  if (stage === "RequestReceived") return "early";
  const decision = stringAt(event, "annotations", "authorization.k8s.io/decision");
  // A request without authentication, without the right to impersonate or over the rate limit is refused before authorization.
  if (decision === "") return "undecided";
  const requester = userAt(event, "user");
  const impersonated = userAt(event, "impersonatedUser");
  const attributes = requester === undefined ? undefined : attributesOf(event, impersonated ?? requester);
  if (requester === undefined || attributes === undefined) return "unreadable";
  return {
    auditId: stringAt(event, "auditID"),
    stage,
    attributes,
    impersonation: impersonated === undefined ? [] : checksFor(requester, impersonated),
    wasAllowed: decision === "allow",
    by: deciderOf(stringAt(event, "annotations", traceAnnotation)),
    reason: stringAt(event, "annotations", "authorization.k8s.io/reason"),
    time: stringAt(event, "requestReceivedTimestamp"),
  };
}

function isAuditEvent(event: unknown): event is Fields {
  if (!isFields(event) || stringAt(event, "kind") !== "Event") return false;
  return stringAt(event, "apiVersion").startsWith("audit.k8s.io/") && stringAt(event, "stage") !== "";
}

/** The last step of a trace is the one that decided, if any did. */
function deciderOf(trace: string): string {
  if (trace === "" || trace.length > maxTraceCharacters) return "";
  try {
    const steps = JSON.parse(trace) as unknown;
    const last: unknown = Array.isArray(steps) ? steps.at(-1) : undefined;
    return ["allow", "deny"].includes(stringAt(last, "verdict")) ? stringAt(last, "name") : "";
  } catch {
    return "";
  }
}

function userAt(event: Fields, field: string): UserInfo | undefined {
  const user = fieldsAt(event, field);
  const username = stringAt(user, "username");
  if (username === "") return undefined;
  const uid = stringAt(user, "uid");
  const extra = Object.entries(fieldsAt(user, "extra")).map(([key, values]) => [key, textsOf(values)] as const);
  return {
    username,
    groups: textsOf(valueAt(user, "groups")),
    ...(uid === "" ? {} : { uid }),
    ...(extra.length === 0 ? {} : { extra: Object.fromEntries(extra) }),
  };
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

/**
 * Read from the path; `objectRef` may contain more than was known at the decision, such as the name of a created object,
 * and is used only where the form of the path is unknown here.
 */
function attributesOf(event: Fields, user: UserInfo): Attributes | undefined {
  const verb = stringAt(event, "verb");
  const { path, query } = splitTarget(stringAt(event, "requestURI"));
  const info = requestInfo(methodOfVerb.get(verb) ?? verb.toUpperCase(), path, query);
  if (info === undefined || verb === "" || path === "") return undefined;
  const ref = valueAt(event, "objectRef");
  if (!isFields(ref)) return info.isResource ? undefined : { ...requestAttributes(info, user, query), verb };
  const { resource, subresource } = info;
  if (info.isResource && resource === stringAt(ref, "resource") && subresource === stringAt(ref, "subresource")) {
    return { ...requestAttributes(info, user, query), verb };
  }
  return referencedAttributes(ref, verb, user);
}

function referencedAttributes(ref: Fields, verb: string, user: UserInfo): Attributes {
  const subresource = stringAt(ref, "subresource");
  return {
    user,
    verb,
    group: stringAt(ref, "apiGroup"),
    version: stringAt(ref, "apiVersion"),
    resource: stringAt(ref, "resource"),
    subresource,
    namespace: stringAt(ref, "namespace"),
    name: verb === "create" && subresource === "" ? "" : stringAt(ref, "name"),
    path: undefined,
  };
}

/** As the headers must have been: groups that every user has are never requested. */
function checksFor(requester: UserInfo, impersonated: UserInfo): readonly Attributes[] {
  const { username, groups, uid, extra = {} } = impersonated;
  const serviceAccount = serviceAccountOf(username);
  const fixed =
    serviceAccount === undefined
      ? [username === anonymousUser ? unauthenticatedGroup : authenticatedGroup]
      : serviceAccountUser(serviceAccount.namespace, serviceAccount.name).groups;
  return impersonationChecks(requester, {
    username,
    serviceAccount,
    groups: groups.filter((group) => !fixed.includes(group)),
    uid,
    extra: new Map(Object.entries(extra)),
  });
}
