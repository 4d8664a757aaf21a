import { controllerRoles, namespacedRoles } from "../../authorization/bootstrap-policy/controller-roles.ts";
import { rbacApiVersion, rule, user } from "../../authorization/bootstrap-policy/policy-object.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { accessApproverRules } from "../../authorization/bootstrap-policy/user-roles.ts";
import { anonymousUser } from "../../apimachinery/user.ts";
import { rbacGroup, type Subject, type PolicyRule } from "../../apis/rbac.ts";
import { clusterWebhookName } from "./cluster-webhooks.ts";
import { webhookConfigurationName } from "./webhook-configurations.ts";

/** The accounts of the two programs, both in the namespace of the installation. */
export const accountNames: { readonly controller: string; readonly webhook: string } = {
  controller: "pratique-controller",
  webhook: "pratique-webhook",
};

/** The lease by which controllers elect their leader. */
export const controllerLease = "pratique-controller";

const hubRole = "system:controller:access-request-controller";

/**
 * Who may do what: machines without a credential ask, the controller does what it does on a hub, the webhook looks.
 */
export function accessRbac(namespace: string): readonly ApiObject[] {
  const account = (name: string): Subject => ({ kind: "ServiceAccount", name, namespace });
  const { controller, webhook } = accountNames;
  return [
    ...[controller, webhook].map((name) => ({
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name, namespace },
    })),
    ...clusterWide("pratique:access-requester", user(anonymousUser), [
      rule("create get", "access.pratique.dev", "accessrequests"),
    ]),
    // For people: bind it to those who decide.
    clusterRole("pratique:access-approver", accessApproverRules()),
    // For people: bind it to those who revoke.
    clusterRole("pratique:credential-revoker", [
      rule("create delete get list patch update watch", "access.pratique.dev", "credentialrevocations"),
      rule("get list watch", "certificates.k8s.io", "certificatesigningrequests"),
    ]),
    // The controller refuses what is revoked. For pratique authorizer --revocations: bind it to the user of its kubeconfig as well.
    ...clusterWide("pratique:revocation-reader", account(controller), [
      rule("list watch", "access.pratique.dev", "credentialrevocations"),
    ]),
    ...clusterWide("pratique:access-controller", account(controller), hubRules()),
    ...within("kube-system", "pratique:access-controller", account(controller), hubRulesIn("kube-system")),
    ...within("default", "pratique:access-controller", account(controller), hubRulesIn("default")),
    ...within(namespace, "pratique:access-controller-election", account(controller), [
      rule("create", "coordination.k8s.io", "leases"),
      rule("get update", "coordination.k8s.io", "leases", [controllerLease]),
    ]),
    ...clusterWide("pratique:access-webhook", account(webhook), [
      rule("get list watch", "access.pratique.dev", "accessprofiles accessrequests"),
      rule("create", "authorization.k8s.io", "subjectaccessreviews"),
      rule("get", "core", "namespaces serviceaccounts"),
      rule(
        "get update",
        "admissionregistration.k8s.io",
        "mutatingwebhookconfigurations validatingwebhookconfigurations",
        [webhookConfigurationName, clusterWebhookName],
      ),
    ]),
  ];
}

/** The rules of the controller on a hub, so that there is one list of them. */
function hubRules(): readonly PolicyRule[] {
  return controllerRoles().find(({ metadata }) => metadata.name === hubRole)?.rules ?? [];
}

function hubRulesIn(namespace: string): readonly PolicyRule[] {
  return (
    namespacedRoles().find(({ metadata }) => metadata.name === hubRole && metadata.namespace === namespace)?.rules ?? []
  );
}

function clusterRole(name: string, rules: readonly PolicyRule[]): ApiObject {
  return { apiVersion: rbacApiVersion, kind: "ClusterRole", metadata: { name }, rules };
}

function clusterWide(name: string, subject: Subject, rules: readonly PolicyRule[]): readonly ApiObject[] {
  const roleRef = { apiGroup: rbacGroup, kind: "ClusterRole", name };
  return [
    clusterRole(name, rules),
    {
      apiVersion: rbacApiVersion,
      kind: "ClusterRoleBinding",
      metadata: { name },
      roleRef,
      subjects: [subject],
    },
  ];
}

function within(namespace: string, name: string, subject: Subject, rules: readonly PolicyRule[]): readonly ApiObject[] {
  const metadata = { name, namespace };
  const roleRef = { apiGroup: rbacGroup, kind: "Role", name };
  return [
    { apiVersion: rbacApiVersion, kind: "Role", metadata, rules },
    { apiVersion: rbacApiVersion, kind: "RoleBinding", metadata, roleRef, subjects: [subject] },
  ];
}
