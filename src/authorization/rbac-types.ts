import type { ClusterRoleBinding, ClusterRole, RoleBinding, Role } from "../apis/rbac.ts";

/** The kinds of the RBAC group. */
export type RbacKind = "Role" | "ClusterRole" | "RoleBinding" | "ClusterRoleBinding";

/** A Role or ClusterRole; `kind` says which. */
export type AnyRole = Role | ClusterRole;

/** A RoleBinding or ClusterRoleBinding; `kind` says which. */
export type AnyBinding = RoleBinding | ClusterRoleBinding;

/** Any object of the RBAC group. */
export type RbacObject = AnyRole | AnyBinding;

/** Whether an object of the RBAC group is a binding. */
export function isBinding(object: RbacObject): object is AnyBinding {
  return object.kind === "RoleBinding" || object.kind === "ClusterRoleBinding";
}

/** The selectors of an aggregated role; empty for every other role. */
export function aggregationOf(role: AnyRole): NonNullable<ClusterRole["aggregationRule"]> | undefined {
  return isClusterRole(role) ? role.aggregationRule : undefined;
}

function isClusterRole(role: AnyRole): role is ClusterRole {
  return role.kind === "ClusterRole";
}
