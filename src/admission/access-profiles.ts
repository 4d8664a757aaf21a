import { forbidden } from "../core/status.ts";
import type { AccessProfile } from "../resources/access-profile.ts";
import { accessGroup } from "../resources/access-request.ts";
import type { AccessCheck } from "./access-check.ts";
import type { AdmissionPlugin } from "./admission.ts";

const rbacGroup = "rbac.authorization.k8s.io";

/**
 * Lets only those name a role in an AccessProfile who may bind it: approving requests would otherwise hand out what nobody who
 * wrote the profile could give.
 */
export function accessProfileAdmission(may: AccessCheck): AdmissionPlugin {
  return {
    name: "PratiqueAccessProfile",
    concerns: ({ group }) => group === accessGroup,
    validate: async ({ resource, operation, object, user, name }) => {
      if (resource.group !== accessGroup || resource.plural !== "accessprofiles") return;
      if (operation === "DELETE" || object === undefined) return;
      const { namespace, roles = [] } = (object as AccessProfile).spec;
      for (const role of roles) {
        const where = role.clusterWide === true ? "" : namespace;
        const wanted = role.kind === "Role" ? "roles" : "clusterroles";
        const asked = { user, verb: "bind", group: rbacGroup, version: "v1", resource: wanted, subresource: "" };
        if ((await may({ ...asked, namespace: where, name: role.name })).allowed) continue;
        const place = where === "" ? "in all namespaces" : `in namespace ${JSON.stringify(where)}`;
        const why = `user ${JSON.stringify(user.username)} may not hand out ${role.kind} ${JSON.stringify(role.name)} ${place}: verb "bind" on ${wanted}.${rbacGroup} is needed`;
        throw forbidden(resource, name, why);
      }
    },
  };
}
