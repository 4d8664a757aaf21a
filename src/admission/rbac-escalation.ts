import type { ApiObject } from "../apimachinery/object.ts";
import type { StatusError } from "../apimachinery/status.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import type { AdmissionPlugin } from "./admission.ts";

/** One write of a role or a binding. */
export interface RbacWrite {
  readonly user: UserInfo;
  readonly object: ApiObject;
  readonly stored: ApiObject | undefined;
}

/** Returns why the user may not write this role or binding; undefined where the user may. */
export type RbacRefusal = (write: RbacWrite) => Promise<StatusError | undefined>;

const rbacGroup = "rbac.authorization.k8s.io";
const checkedKinds: Readonly<Record<string, "role" | "binding">> = {
  roles: "role",
  clusterroles: "role",
  rolebindings: "binding",
  clusterrolebindings: "binding",
};

/** Prevents users from granting permissions that they do not have. Source: kubernetes pkg/registry/rbac policybased. */
export function rbacEscalation(refusals: Readonly<Record<"role" | "binding", RbacRefusal>>): AdmissionPlugin {
  return {
    name: "RbacEscalation",
    concerns: ({ group }) => group === rbacGroup,
    validate: async ({ operation, resource, object, oldObject, user }) => {
      if (resource.group !== rbacGroup || operation === "DELETE" || object === undefined) return;
      const kind = checkedKinds[resource.plural];
      if (kind === undefined) return;
      const refusal = await refusals[kind]({ user, object, stored: oldObject });
      if (refusal !== undefined) throw refusal;
    },
  };
}
