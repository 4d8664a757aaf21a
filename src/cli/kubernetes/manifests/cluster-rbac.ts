import {
  clusterBootstrapAccount,
  registrationControllerRules,
  registrationRoles,
} from "../../../authz/bootstrap-policy/registration-roles.ts";
import { rbacApiVersion } from "../../../authz/bootstrap-policy/policy-object.ts";
import type { ApiObject } from "../../../core/object.ts";
import { rbacGroup } from "../../../resources/binding.ts";
import { accountNames } from "./access-rbac.ts";

const controllerRole = "pratique:cluster-controller";

/** Who may do what about managed clusters: those who join them, those who decide, and the controller, as on a hub. */
export function clusterRbac(namespace: string): readonly ApiObject[] {
  const { namespace: bootstrapNamespace, name } = clusterBootstrapAccount;
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: bootstrapNamespace } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace: bootstrapNamespace } },
    ...registrationRoles().map(({ metadata, ...rest }) => ({ ...rest, metadata: { name: metadata.name ?? "" } })),
    {
      apiVersion: rbacApiVersion,
      kind: "ClusterRole",
      metadata: { name: controllerRole },
      rules: registrationControllerRules(),
    },
    {
      apiVersion: rbacApiVersion,
      kind: "ClusterRoleBinding",
      metadata: { name: controllerRole },
      roleRef: { apiGroup: rbacGroup, kind: "ClusterRole", name: controllerRole },
      subjects: [{ kind: "ServiceAccount", name: accountNames.controller, namespace }],
    },
  ];
}
