import { accessExplanations, selfAccessExplanations } from "./access-explanation.ts";
import { accessProfiles } from "./access-profile.ts";
import { accessRequests } from "./access-request.ts";
import { apiServices } from "./api-service.ts";
import { certificateSigningRequests } from "./certificate-signing-request.ts";
import { clusterRoleBindings } from "./cluster-role-binding.ts";
import { clusterRoles } from "./cluster-role.ts";
import { credentialRevocations } from "./credential-revocation.ts";
import { configMaps } from "./config-map.ts";
import { csiNodes } from "./csi-node.ts";
import { customResourceDefinitions } from "./custom-resource-definition.ts";
import { events } from "./event.ts";
import { flowSchemas } from "./flow-schema.ts";
import { issuedCredentials } from "./issued-credential.ts";
import { leases } from "./lease.ts";
import { localSubjectAccessReviews } from "./local-subject-access-review.ts";
import { mutatingAdmissionPolicies } from "./mutating-admission-policy.ts";
import { mutatingAdmissionPolicyBindings } from "./mutating-admission-policy-binding.ts";
import { mutatingWebhookConfigurations } from "./mutating-webhook-configuration.ts";
import { namespaces } from "./namespace.ts";
import { nodes } from "./node.ts";
import { pods } from "./pod.ts";
import { priorityLevelConfigurations } from "./priority-level-configuration.ts";
import { recoveryPolicies } from "./recovery-policy.ts";
import type { Resource } from "./resource.ts";
import { roleBindings } from "./role-binding.ts";
import { roles } from "./role.ts";
import { secrets } from "./secret.ts";
import { selfSubjectAccessReviews } from "./self-subject-access-review.ts";
import { selfSubjectReviews } from "./self-subject-review.ts";
import { selfSubjectRulesReviews } from "./self-subject-rules-review.ts";
import { serviceAccounts } from "./service-account.ts";
import { services } from "./service.ts";
import { subjectAccessReviews } from "./subject-access-review.ts";
import { tokenReviews } from "./token-review.ts";
import { validatingAdmissionPolicies } from "./validating-admission-policy.ts";
import { validatingAdmissionPolicyBindings } from "./validating-admission-policy-binding.ts";
import { validatingWebhookConfigurations } from "./validating-webhook-configuration.ts";

/** The kinds that are kept in the store. */
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

/** The kinds that can only be created: a question that is answered in the reply and then forgotten. */
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

/** Kinds that the hub alone writes. */
const ownResources: readonly Resource[] = [services, apiServices];

/** Every built-in kind. */
export const builtinResources: readonly Resource[] = [...storedResources, ...ownResources, ...reviewResources];
