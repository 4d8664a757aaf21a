import type { ClusterRole, PolicyRule } from "../../apis/rbac.ts";
import { clusterRole, pathRule, rule } from "./policy-object.ts";

type Audience = "admin" | "edit" | "view";

const read = "get list watch";
const write = "create delete deletecollection patch update";

/**
 * The ClusterRoles for people in a namespace, and the roles that they aggregate: view within edit within admin.
 * Only admin changes roles, only edit and admin read Secrets. Also the role of the approvers of access requests.
 */
export function userRoles(): readonly ClusterRole[] {
  return [
    aggregated("admin"),
    aggregated("edit", "admin"),
    aggregated("view", "edit"),
    ...Object.entries(rules).map(([audience, rulesOf]) =>
      clusterRole(`system:aggregate-to-${audience}`, rulesOf(), feeds(audience as Audience)),
    ),
    clusterRole("pratique:access-approver", accessApproverRules()),
    // For a person who lists and revokes credentials; bind it by the name of the role.
    clusterRole("pratique:credential-revoker", [
      rule("create delete get list patch update watch", "access.pratique.dev", "credentialrevocations"),
      rule("get list watch", "access.pratique.dev", "issuedcredentials"),
      rule("get list watch", "certificates.k8s.io", "certificatesigningrequests"),
      pathRule("get", "/revocations /revocations/*"),
    ]),
  ];
}

/** The rights of an approver of access requests of every profile; bind it by the name of the role. */
export function accessApproverRules(): readonly PolicyRule[] {
  return [
    rule("get list watch", "access.pratique.dev", "accessprofiles accessrequests"),
    // kubectl patch reads the subresource before it writes.
    rule("get patch update", "access.pratique.dev", "accessrequests/status"),
    rule("approve", "access.pratique.dev", "accessprofiles"),
  ];
}

const rules: Readonly<Record<Audience, () => readonly PolicyRule[]>> = {
  admin: () => [
    rule("create", "authorization.k8s.io", "localsubjectaccessreviews"),
    rule(`${read} ${write}`, "rbac.authorization.k8s.io", "rolebindings roles"),
  ],
  edit: () => [
    rule(read, "core", "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"),
    rule("impersonate", "core", "serviceaccounts"),
    rule(write, "core", "pods pods/attach pods/exec pods/portforward pods/proxy"),
    rule("create", "core", "pods/eviction"),
    rule(write, "core", "configmaps events persistentvolumeclaims replicationcontrollers replicationcontrollers/scale"),
    rule(write, "core", "secrets serviceaccounts services services/proxy"),
    rule("create", "core", "serviceaccounts/token"),
    rule(write, "apps", "daemonsets deployments deployments/rollback deployments/scale"),
    rule(write, "apps", "replicasets replicasets/scale statefulsets statefulsets/scale"),
    rule(write, "autoscaling", "horizontalpodautoscalers"),
    rule(write, "batch", "cronjobs jobs"),
    rule(write, "policy", "poddisruptionbudgets"),
    rule(write, "networking.k8s.io", "ingresses networkpolicies"),
    rule(`${read} ${write}`, "coordination.k8s.io", "leases"),
  ],
  view: () => [
    rule(read, "core", "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods"),
    rule(read, "core", "replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status"),
    rule(read, "core", "bindings events limitranges namespaces/status pods/log pods/status"),
    rule(read, "core", "replicationcontrollers/status resourcequotas resourcequotas/status namespaces"),
    rule(read, "discovery.k8s.io", "endpointslices"),
    rule(read, "apps", "controllerrevisions daemonsets daemonsets/status deployments deployments/scale"),
    rule(read, "apps", "deployments/status replicasets replicasets/scale replicasets/status"),
    rule(read, "apps", "statefulsets statefulsets/scale statefulsets/status"),
    rule(read, "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
    rule(read, "batch", "cronjobs cronjobs/status jobs jobs/status"),
    rule(read, "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
    rule(read, "networking.k8s.io", "ingresses ingresses/status networkpolicies"),
  ],
};

function aggregated(name: Audience, into?: Audience): ClusterRole {
  const { rules: _none, ...role } = clusterRole(name, [], into === undefined ? {} : feeds(into));
  return { ...role, aggregationRule: { clusterRoleSelectors: [{ matchLabels: feeds(name) }] } };
}

function feeds(audience: Audience): Readonly<Record<string, string>> {
  return { [`rbac.authorization.k8s.io/aggregate-to-${audience}`]: "true" };
}
