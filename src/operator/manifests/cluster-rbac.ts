import {
  clusterBootstrapAccount,
  registrationControllerRules,
  registrationRoles,
} from "../../authorization/bootstrap-policy/registration-roles.ts";
import { rbacApiVersion, rule } from "../../authorization/bootstrap-policy/policy-object.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { rbacGroup, type PolicyRule } from "../../apis/rbac.ts";
import { accountNames } from "./access-rbac.ts";
import { addOnDefinitionName } from "./cluster-webhooks.ts";

const controllerRole = "pratique:cluster-controller";
const conversionRole = "pratique:add-on-conversion";

/** Who may do what about managed clusters: those who join them, those who decide, and the controller, as on a hub. */
export function clusterRbac(namespace: string): readonly ApiObject[] {
  const { namespace: bootstrapNamespace, name } = clusterBootstrapAccount;
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: bootstrapNamespace } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace: bootstrapNamespace } },
    ...registrationRoles().map(({ metadata, ...rest }) => ({ ...rest, metadata: { name: metadata.name ?? "" } })),
    ...clusterWide(controllerRole, { name: accountNames.controller, namespace }, registrationControllerRules()),
  ];
}

/** What the webhook needs to put its CA into the definition of the add-ons that it converts. */
export function conversionRbac(namespace: string): readonly ApiObject[] {
  return clusterWide(conversionRole, { name: accountNames.webhook, namespace }, [
    rule("get update", "apiextensions.k8s.io", "customresourcedefinitions", [addOnDefinitionName]),
  ]);
}

function clusterWide(
  name: string,
  account: { readonly name: string; readonly namespace: string },
  rules: readonly PolicyRule[],
): readonly ApiObject[] {
  return [
    { apiVersion: rbacApiVersion, kind: "ClusterRole", metadata: { name }, rules },
    {
      apiVersion: rbacApiVersion,
      kind: "ClusterRoleBinding",
      metadata: { name },
      roleRef: { apiGroup: rbacGroup, kind: "ClusterRole", name },
      subjects: [{ kind: "ServiceAccount", ...account }],
    },
  ];
}
