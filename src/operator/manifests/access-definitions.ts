import type { JsonObject } from "../../apimachinery/json-value.ts";
import { accessProfiles } from "../../apis/access-profile.ts";
import { accessRequests, requestRules } from "../../apis/access-request.ts";
import { credentialRevocations, revocationRules } from "../../apis/credential-revocation.ts";
import { definitionOf } from "../../apis/definition-of.ts";

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
  Ready: ".status.conditions[?(@.type=='Ready')].status",
};

const revocationPaths: Readonly<Record<string, string>> = {
  Revokes: ".spec",
  By: ".status.revokedBy",
  Reason: ".spec.reason",
  Expires: ".spec.expiresAt",
};

/**
 * The CustomResourceDefinitions of AccessRequest, AccessProfile and CredentialRevocation. With `rules` the API itself keeps the spec of a request as it is;
 * releases before 1.25 take no such rule, there the webhook alone does it.
 */
export function accessDefinitions(options: { readonly rules: boolean }): readonly JsonObject[] {
  return [
    definitionOf(accessRequests, { paths: requestPaths, ...(options.rules ? { rules: { spec: requestRules } } : {}) }),
    definitionOf(accessProfiles, { paths: profilePaths }),
    definitionOf(credentialRevocations, {
      paths: revocationPaths,
      ...(options.rules ? { rules: { spec: revocationRules } } : {}),
    }),
  ];
}
