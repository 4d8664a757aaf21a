import { accessExplanations, selfAccessExplanations } from "./access-explanation.ts";
import { accessProfiles } from "./access-profile.ts";
import { accessRequests } from "./access-request.ts";
import { apiServices } from "./api-service.ts";
import { certificateSigningRequests } from "./certificate-signing-request.ts";
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from "./rbac.ts";
import { credentialRevocations } from "./credential-revocation.ts";
import { configMaps } from "./config-map.ts";
import { csiNodes } from "./csi-node.ts";
import { customResourceDefinitions } from "./custom-resource-definition.ts";
import { events } from "./event.ts";
import { flowSchemas } from "./flow-schema.ts";
import { issuedCredentials } from "./issued-credential.ts";
import { leases } from "./lease.ts";
import {
  localSubjectAccessReviews,
  selfSubjectAccessReviews,
  selfSubjectRulesReviews,
  subjectAccessReviews,
} from "./access-review.ts";
import { mutatingAdmissionPolicies } from "./mutating-admission-policy.ts";
import { mutatingAdmissionPolicyBindings, validatingAdmissionPolicyBindings } from "./admission-policy-binding.ts";
import { mutatingWebhookConfigurations, validatingWebhookConfigurations } from "./admission-webhook.ts";
import { namespaces } from "./namespace.ts";
import { nodes } from "./node.ts";
import { pods } from "./pod.ts";
import { priorityLevelConfigurations } from "./priority-level-configuration.ts";
import { recoveryPolicies } from "./recovery-policy.ts";
import type { Resource } from "./resource.ts";
import { secrets } from "./secret.ts";
import { selfSubjectReviews, tokenReviews } from "./token-review.ts";
import { serviceAccounts } from "./service-account.ts";
import { services } from "./service.ts";
import { validatingAdmissionPolicies } from "./validating-admission-policy.ts";

/** The kinds that are stored. */
export const storedResources: readonly Resource[] = [
  accessProfiles,
  accessRequests,
  credentialRevocations,
  issuedCredentials,
  recoveryPolicies,
  configMaps,
  events,
  namespaces,
  nodes,
  pods,
  secrets,
  serviceAccounts,
  certificateSigningRequests,
  leases,
  clusterRoleBindings,
  clusterRoles,
  roleBindings,
  roles,
  customResourceDefinitions,
  mutatingWebhookConfigurations,
  validatingWebhookConfigurations,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
  flowSchemas,
  priorityLevelConfigurations,
  csiNodes,
];

/** The kinds that can only be created: the reply contains the answer, and nothing is stored. */
export const reviewResources: readonly Resource[] = [
  selfSubjectReviews,
  tokenReviews,
  localSubjectAccessReviews,
  selfSubjectAccessReviews,
  selfSubjectRulesReviews,
  subjectAccessReviews,
  accessExplanations,
  selfAccessExplanations,
];

/** Kinds that only the hub writes. */
const ownResources: readonly Resource[] = [services, apiServices];

/** Every built-in kind. */
export const builtinResources: readonly Resource[] = [...storedResources, ...ownResources, ...reviewResources];
