import { controllerRequests } from "../controller-requests.ts";
import type { RbacObject } from "../rbac-types.ts";
import { clusterRole, clusterRoleBinding, rule, systemServiceAccount } from "./policy-object.ts";

/**
 * The default roles that a hub does not have, of controllers that run in Kubernetes alone, as far as what they ask for goes: Kubernetes
 * restores its own at each start, so a chain with RBAC can rely on them.
 */
export function kubernetesControllerPolicy(): readonly RbacObject[] {
  return controllerRequests().flatMap(({ controller, asks }) => {
    const name = `system:controller:${controller}`;
    const rules = asks.map(({ verb, group, resource, subresource, name: object }) => {
      const names = object === "" || verb === "create" ? [] : [object];
      return rule(
        verb,
        group === "" ? "core" : group,
        subresource === "" ? resource : `${resource}/${subresource}`,
        names,
      );
    });
    return [clusterRole(name, rules), clusterRoleBinding(name, name, [systemServiceAccount(controller)])];
  });
}
