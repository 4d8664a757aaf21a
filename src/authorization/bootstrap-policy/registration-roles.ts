import {
  addOnGroup,
  clusterGroup,
  registerGroup,
  acceptedAgentRules,
  sharedAgentRoles,
} from "../../apis/managed-cluster.ts";
import type { PolicyRule } from "../../apis/rbac.ts";
import type { RbacObject } from "../rbac-types.ts";
import {
  clusterEventsRule,
  clusterRole,
  clusterRoleBinding,
  eventsRule,
  group,
  rule,
  systemServiceAccount,
} from "./policy-object.ts";

const clientSigner = "kubernetes.io/kube-apiserver-client";

/** What each controller of managed clusters may do, by the name of its ServiceAccount. */
const controllers: Readonly<Record<string, () => readonly PolicyRule[]>> = {
  // It binds roles, and therefore needs every rule of them; it cannot grant more.
  "managed-cluster-controller": () => [
    rule("delete get list patch watch", clusterGroup, "managedclusters"),
    rule("update", clusterGroup, "managedclusters"),
    rule("patch update", clusterGroup, "managedclusters/status managedclusters/finalizers"),
    rule("create get list update watch", clusterGroup, "managedclustersets"),
    rule("get list watch", clusterGroup, "managedclustersetbindings"),
    rule("patch update", clusterGroup, "managedclustersets/status managedclustersetbindings/status"),
    rule("delete get list patch watch", addOnGroup, "managedclusteraddons"),
    rule("delete get list patch watch", "work.open-cluster-management.io", "manifestworks"),
    rule("create delete get list patch watch", "core", "namespaces"),
    rule("create delete get list watch", "coordination.k8s.io", "leases"),
    rule(
      "create delete get list update watch",
      "rbac.authorization.k8s.io",
      "clusterroles clusterrolebindings rolebindings",
    ),
    rule("create", "access.pratique.dev", "credentialrevocations"),
    eventsRule(),
    ...acceptedAgentRules("").map(({ resourceNames: _any, ...unlimited }) => unlimited),
    ...sharedAgentRoles.registration,
    ...sharedAgentRoles.work,
  ],
  "managed-cluster-approving-controller": () => [
    rule("delete get list watch", "certificates.k8s.io", "certificatesigningrequests"),
    rule("update", "certificates.k8s.io", "certificatesigningrequests/approval"),
    rule("approve", "certificates.k8s.io", "signers", [clientSigner]),
    rule("create", "authorization.k8s.io", "subjectaccessreviews"),
    rule("get list patch watch", clusterGroup, "managedclusters"),
    rule("update", registerGroup, "managedclusters/accept"),
    rule("get list watch", addOnGroup, "managedclusteraddons"),
    clusterEventsRule(),
  ],
};

/** The group of the credentials that join clusters. */
export const clusterBootstrapGroup = "system:bootstrappers:managedcluster";

/** The ServiceAccount whose tokens clusters join with; the alternative is a bootstrap token of the group. */
export const clusterBootstrapAccount: { readonly namespace: string; readonly name: string } = {
  namespace: "open-cluster-management",
  name: "agent-registration-bootstrap",
};

const bootstrapRole = "open-cluster-management:bootstrap";

/** The roles and bindings of hub and spoke registration on a hub, roles before the bindings that refer to them. */
export function registrationPolicy(): readonly RbacObject[] {
  const controllerBindings = Object.keys(controllers).map((name) => {
    const full = `system:controller:${name}`;
    return clusterRoleBinding(full, full, [systemServiceAccount(name)]);
  });
  return [...controllerRoles(), ...registrationRoles(), ...controllerBindings];
}

/** The roles for people, and the role and binding of joining clusters, the same on every cluster. */
export function registrationRoles(): readonly RbacObject[] {
  return [
    clusterRole(bootstrapRole, [
      rule("create get list watch", clusterGroup, "managedclusters"),
      rule("create get list watch", "certificates.k8s.io", "certificatesigningrequests"),
      rule("create", clusterGroup, "managedclustersets/join", ["default"]),
    ]),
    // For people: the two steps of accepting a cluster, so that each can be granted to a different person.
    clusterRole("open-cluster-management:approver", [
      rule("get list watch", "certificates.k8s.io", "certificatesigningrequests"),
      rule("update", "certificates.k8s.io", "certificatesigningrequests/approval"),
      rule("approve", "certificates.k8s.io", "signers", [clientSigner]),
      rule("get list watch", clusterGroup, "managedclusters"),
    ]),
    clusterRole("open-cluster-management:accepter", [
      rule("get list patch update watch", clusterGroup, "managedclusters"),
      rule("update", registerGroup, "managedclusters/accept"),
    ]),
    clusterRoleBinding(bootstrapRole, bootstrapRole, [
      group(clusterBootstrapGroup),
      { kind: "ServiceAccount", ...clusterBootstrapAccount },
    ]),
  ];
}

function controllerRoles(): readonly ReturnType<typeof clusterRole>[] {
  return Object.entries(controllers).map(([name, rules]) => clusterRole(`system:controller:${name}`, rules()));
}

/** The rules of all controllers together, for the one account that runs them on an existing cluster. */
export function registrationControllerRules(): readonly PolicyRule[] {
  return Object.values(controllers).flatMap((rules) => rules());
}
