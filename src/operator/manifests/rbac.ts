import { controllerRoles, namespacedRoles } from "../../authorization/bootstrap-policy/controller-roles.ts";
import { rbacApiVersion, rule, user } from "../../authorization/bootstrap-policy/policy-object.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { accessApproverRules } from "../../authorization/bootstrap-policy/user-roles.ts";
import { anonymousUser } from "../../apimachinery/user.ts";
import { rbacGroup, type Subject, type PolicyRule } from "../../apis/rbac.ts";
import { clusterWebhookName, webhookConfigurationName, addOnDefinitionName } from "./webhook-configurations.ts";
import {
  clusterBootstrapAccount,
  registrationControllerRules,
  registrationRoles,
} from "../../authorization/bootstrap-policy/registration-roles.ts";

/** The accounts of the two programs, both in the namespace of the installation. */
export const accountNames: { readonly controller: string; readonly webhook: string } = {
  controller: "pratique-controller",
  webhook: "pratique-webhook",
};

/** The lease by which controllers elect their leader. */
const controllerLease = "pratique-controller";

const hubRole = "system:controller:access-request-controller";

/** The rights of each role: machines without a credential request access, the controller acts as on a hub, the webhook reads. */
export function accessRbac(namespace: string): readonly ApiObject[] {
  const [controller, webhook] = [account(accountNames.controller, namespace), account(accountNames.webhook, namespace)];
  const ours = "access.pratique.dev";
  return [
    ...[controller, webhook].map(({ name }) => accountObject(name, namespace)),
    ...granted({ name: "pratique:access-requester" }, user(anonymousUser), [
      rule("create get", ours, "accessrequests"),
    ]),
    // For people: bind it to the approvers.
    roleOf({ name: "pratique:access-approver" }, accessApproverRules()),
    // For people: bind it to those who revoke credentials.
    roleOf({ name: "pratique:credential-revoker" }, [
      rule("create delete get list patch update watch", ours, "credentialrevocations"),
      rule("get list watch", "certificates.k8s.io", "certificatesigningrequests"),
    ]),
    // The controller rejects what is revoked. For pratique authorizer --revocations: bind it to the user of its kubeconfig as well.
    ...granted({ name: "pratique:revocation-reader" }, controller, [rule("list watch", ours, "credentialrevocations")]),
    // The rules of the controller on a hub: one list for both.
    ...[undefined, "kube-system", "default"].flatMap((place) => {
      const metadata = { name: "pratique:access-controller", ...(place === undefined ? {} : { namespace: place }) };
      return granted(metadata, controller, hubRules(place));
    }),
    ...granted({ name: "pratique:access-controller-election", namespace }, controller, [
      rule("create", "coordination.k8s.io", "leases"),
      rule("get update", "coordination.k8s.io", "leases", [controllerLease]),
    ]),
    ...granted({ name: "pratique:access-webhook" }, webhook, [
      rule("get list watch", ours, "accessprofiles accessrequests"),
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

function hubRules(namespace: string | undefined): readonly PolicyRule[] {
  const roles = namespace === undefined ? controllerRoles() : namespacedRoles();
  const found = roles.find(({ metadata }) => metadata.name === hubRole && metadata.namespace === namespace);
  return found?.rules ?? [];
}

/** The rights on managed clusters of requesters, approvers and the controller, as on a hub. */
export function clusterRbac(namespace: string): readonly ApiObject[] {
  const { namespace: place, name } = clusterBootstrapAccount;
  const controller = account(accountNames.controller, namespace);
  return [
    namespaceObject(place),
    accountObject(name, place),
    ...registrationRoles().map(({ metadata, ...rest }) => ({ ...rest, metadata: { name: metadata.name ?? "" } })),
    ...granted({ name: "pratique:cluster-controller" }, controller, registrationControllerRules()),
  ];
}

/** The rights to write the webhook's CA into the definition of the add-ons that it converts. */
export function conversionRbac(namespace: string): readonly ApiObject[] {
  return granted({ name: "pratique:add-on-conversion" }, account(accountNames.webhook, namespace), [
    rule("get update", "apiextensions.k8s.io", "customresourcedefinitions", [addOnDefinitionName]),
  ]);
}

/** A Namespace. */
export function namespaceObject(name: string): ApiObject {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name } };
}

/** A ServiceAccount. */
export function accountObject(name: string, namespace: string): ApiObject {
  return { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } };
}

/** A ServiceAccount as the subject of a binding. */
export function account(name: string, namespace: string): Subject {
  return { kind: "ServiceAccount", name, namespace };
}

type RoleName = { readonly name: string; readonly namespace?: string };

/** A role and the binding of the same name for the subject: in a namespace, or in the whole cluster where none is named. */
export function granted(metadata: RoleName, subject: Subject, rules: readonly PolicyRule[]): readonly ApiObject[] {
  const role = roleOf(metadata, rules);
  const { apiVersion, kind } = role;
  const roleRef = { apiGroup: rbacGroup, kind, name: metadata.name };
  return [role, { apiVersion, kind: `${kind}Binding`, metadata, roleRef, subjects: [subject] }];
}

function roleOf(metadata: RoleName, rules: readonly PolicyRule[]): ApiObject {
  const kind = metadata.namespace === undefined ? "ClusterRole" : "Role";
  return { apiVersion: rbacApiVersion, kind, metadata, rules };
}
