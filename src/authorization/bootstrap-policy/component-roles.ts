import type { ClusterRoleBinding, ClusterRole } from "../../apis/rbac.ts";
import { clusterRole, clusterRoleBinding, eventsRule, rule, user } from "./policy-object.ts";

/** ClusterRoles of Kubernetes' own programs, so that they work against the hub unmodified. */
export function componentRoles(): readonly ClusterRole[] {
  return [
    nodeRole(),
    clusterRole("system:node-proxier", [
      rule("list watch", "core", "endpoints services"),
      rule("get list watch", "core", "nodes"),
      eventsRule(),
      rule("list watch", "discovery.k8s.io", "endpointslices"),
    ]),
    clusterRole("system:kubelet-api-admin", [
      rule("get list watch", "core", "nodes"),
      rule("proxy", "core", "nodes"),
      rule("*", "core", "nodes/log nodes/metrics nodes/proxy nodes/stats"),
      rule("*", "core", "nodes/configz nodes/healthz nodes/pods"),
    ]),
    controllerManagerRole(),
    schedulerRole(),
    clusterRole("system:volume-scheduler", [
      rule("get list patch update watch", "core", "persistentvolumes"),
      rule("get list watch", "storage.k8s.io", "storageclasses"),
      rule("get list patch update watch", "core", "persistentvolumeclaims"),
    ]),
  ];
}

/** The user name of the hub towards kubelets. Source: kubeadm constants APIServerKubeletClientCertCommonName. */
export const kubeletClientUser = "kube-apiserver-kubelet-client";

/** The bindings of `componentRoles`. That of system:node has no subject: the Node authorizer decides on nodes. */
export function componentRoleBindings(): readonly ClusterRoleBinding[] {
  return [
    clusterRoleBinding("system:node", "system:node", []),
    // kubeadm creates it; the hub reconciles it, since the hub needs it.
    clusterRoleBinding("kubeadm:apiserver-kubelet-client", "system:kubelet-api-admin", [user(kubeletClientUser)]),
    clusterRoleBinding("system:node-proxier", "system:node-proxier", [user("system:kube-proxy")]),
    clusterRoleBinding("system:kube-controller-manager", "system:kube-controller-manager", [
      user("system:kube-controller-manager"),
    ]),
    clusterRoleBinding("system:kube-scheduler", "system:kube-scheduler", [user("system:kube-scheduler")]),
    clusterRoleBinding("system:volume-scheduler", "system:volume-scheduler", [user("system:kube-scheduler")]),
  ];
}

/** What a kubelet needs; the Node authorizer narrows it to the objects of the node. */
export function nodeRole(): ClusterRole {
  return clusterRole("system:node", [
    rule("create", "authentication.k8s.io", "tokenreviews"),
    rule("create", "authorization.k8s.io", "localsubjectaccessreviews subjectaccessreviews"),
    rule("get list watch", "core", "services"),
    rule("create get list watch patch update", "core", "nodes"),
    rule("patch update", "core", "nodes/status"),
    rule("create patch update", "core", "events"),
    rule("get list watch create delete", "core", "pods"),
    rule("patch update", "core", "pods/status"),
    rule("create", "core", "pods/eviction"),
    rule("get list watch", "core", "configmaps secrets"),
    rule("get", "core", "persistentvolumeclaims persistentvolumes"),
    rule("get", "core", "endpoints"),
    rule("create get list watch", "certificates.k8s.io", "certificatesigningrequests"),
    rule("create delete get patch update", "coordination.k8s.io", "leases"),
    rule("get", "storage.k8s.io", "volumeattachments"),
    rule("create", "core", "serviceaccounts/token"),
    rule("get patch update", "core", "persistentvolumeclaims/status"),
    rule("get list watch", "storage.k8s.io", "csidrivers"),
    rule("create delete get patch update", "storage.k8s.io", "csinodes"),
    rule("get list watch", "node.k8s.io", "runtimeclasses"),
    rule("get", "resource.k8s.io", "resourceclaims"),
    rule("create delete deletecollection get list patch update watch", "resource.k8s.io", "resourceslices"),
  ]);
}

function controllerManagerRole(): ClusterRole {
  return clusterRole("system:kube-controller-manager", [
    eventsRule(),
    rule("create", "coordination.k8s.io", "leases"),
    rule("get update", "coordination.k8s.io", "leases", ["kube-controller-manager"]),
    rule("create", "core", "secrets serviceaccounts"),
    rule("delete", "core", "secrets"),
    rule("get", "core", "configmaps namespaces secrets serviceaccounts"),
    rule("update", "core", "secrets serviceaccounts"),
    rule("create", "authentication.k8s.io", "tokenreviews"),
    rule("create", "authorization.k8s.io", "subjectaccessreviews"),
    rule("list watch", "*", "*"),
    rule("create", "core", "serviceaccounts/token"),
  ]);
}

function schedulerRole(): ClusterRole {
  return clusterRole("system:kube-scheduler", [
    eventsRule(),
    rule("create", "coordination.k8s.io", "leases"),
    rule("get update", "coordination.k8s.io", "leases", ["kube-scheduler"]),
    rule("get list watch", "core", "namespaces nodes replicationcontrollers services"),
    rule("get list watch delete", "core", "pods"),
    rule("create", "core", "bindings pods/binding"),
    rule("patch update", "core", "pods/status"),
    rule("get list watch", "apps", "replicasets statefulsets"),
    rule("get list watch", "policy", "poddisruptionbudgets"),
    rule("get list watch", "core", "persistentvolumeclaims persistentvolumes"),
    rule("create", "authentication.k8s.io", "tokenreviews"),
    rule("create", "authorization.k8s.io", "subjectaccessreviews"),
    rule("get list watch", "storage.k8s.io", "csidrivers csinodes csistoragecapacities"),
  ]);
}
