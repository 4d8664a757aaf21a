import type { JsonObject } from "../../../core/json-value.ts";
import { accessProfiles } from "../../../resources/access-profile.ts";
import { accessRequests } from "../../../resources/access-request.ts";
import { credentialRevocations, revocationTargets } from "../../../resources/credential-revocation.ts";
import { definitionOf } from "../../../resources/definition-of.ts";

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

const oneTarget = {
  rule: `[${revocationTargets.map((field) => `has(self.${field})`).join(", ")}].filter(given, given).size() == 1`,
  message: `name exactly one of ${revocationTargets.join(", ")}`,
};
const fixedTarget = {
  rule: revocationTargets
    .map(
      (field) =>
        `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
    )
    .join(" && "),
  message: "what is revoked cannot change; delete this revocation and make another",
};

const fixed = { rule: "self == oldSelf", message: "a request cannot change; delete it and ask again" };

/**
 * The CustomResourceDefinitions of AccessRequest, AccessProfile and CredentialRevocation. With `rules` the API itself keeps the spec of a request as it is;
 * releases before 1.25 take no such rule, there the webhook alone does it.
 */
export function accessDefinitions(options: { readonly rules: boolean }): readonly JsonObject[] {
  return [
    definitionOf(accessRequests, { paths: requestPaths, ...(options.rules ? { rules: { spec: [fixed] } } : {}) }),
    definitionOf(accessProfiles, { paths: profilePaths }),
    definitionOf(credentialRevocations, {
      paths: revocationPaths,
      ...(options.rules ? { rules: { spec: [oneTarget, fixedTarget] } } : {}),
    }),
  ];
}
