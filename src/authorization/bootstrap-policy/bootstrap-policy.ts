import type { RbacObject } from "../rbac-types.ts";
import { componentRoleBindings, componentRoles } from "./component-roles.ts";
import {
  controllerRoleBindings,
  controllerRoles,
  namespacedRoleBindings,
  namespacedRoles,
} from "./controller-roles.ts";
import { systemRoleBindings, systemRoles } from "./system-roles.ts";
import { userRoles } from "./user-roles.ts";

/**
 * The default roles and bindings of a hub, roles before the bindings that refer to them. They are reconciled at each start.
 * Namespaced ones lie in kube-system and kube-public. Source: kubernetes plugin/pkg/auth/authorizer/rbac/bootstrappolicy.
 */
export function bootstrapPolicy(): readonly RbacObject[] {
  return [
    ...systemRoles(),
    ...userRoles(),
    ...componentRoles(),
    ...controllerRoles(),
    ...namespacedRoles(),
    ...systemRoleBindings(),
    ...componentRoleBindings(),
    ...controllerRoleBindings(),
    ...namespacedRoleBindings(),
  ];
}
