import type { JsonObject } from "../../core/json-value.ts";
import { accessProfiles } from "../../resources/access-profile.ts";
import { accessRequests } from "../../resources/access-request.ts";
import { definitionOf } from "../../resources/definition-of.ts";

/** Where Kubernetes finds the cells of `kubectl get accessrequests`; it can compute none of them. */
const requestPaths: Readonly<Record<string, string>> = {
  Ready: ".status.ready",
  Profile: ".spec.profile",
  Condition: ".status.conditions[-1:].type",
  Source: ".status.evidence.sourceAddress",
  Fingerprint: ".status.fingerprint",
  Expires: ".status.expiresAt",
};

const profilePaths: Readonly<Record<string, string>> = {
  Namespace: ".spec.namespace",
  Roles: ".spec.roles[*].name",
  Approvers: ".spec.approvers",
  Default: ".metadata.annotations.access\\.pratique\\.dev/is-default-profile",
};

const fixed = { rule: "self == oldSelf", message: "a request cannot change; delete it and ask again" };

/**
 * The CustomResourceDefinitions of AccessRequest and AccessProfile. With `rules` the API itself keeps the spec of a request as it is;
 * releases before 1.25 take no such rule, there the webhook alone does it.
 */
export function accessDefinitions(options: { readonly rules: boolean }): readonly JsonObject[] {
  return [
    definitionOf(accessRequests, { paths: requestPaths, ...(options.rules ? { rules: { spec: [fixed] } } : {}) }),
    definitionOf(accessProfiles, { paths: profilePaths }),
  ];
}
