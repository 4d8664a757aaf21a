import { events, on, under, type Ask, type EssentialPlace } from "./ask.ts";

/** A controller by the name of its ServiceAccount in kube-system, and what it asks for. */
export interface ControllerRequests {
  readonly controller: string;
  readonly places: readonly EssentialPlace[];
  readonly asks: readonly Ask[];
}

const web = { namespace: "default", name: "web" };
const csrs = "certificates.k8s.io/certificatesigningrequests";
const own = ["hub", "kubernetes"] as const;
const theirs = ["kubernetes"] as const;

/** Controllers of Kubernetes that run in a hub as well. A hub lets them through by their roles, but asks the chain when it signs, and when roles are gathered. */
const shared: Readonly<Record<string, () => readonly Ask[]>> = {
  "certificate-controller": () => [
    ...on("list watch", csrs),
    ...on("get", csrs, { name: "csr-1" }),
    ...on("update", `${csrs}/approval`, { name: "csr-1" }),
    ...on("update", `${csrs}/status`, { name: "csr-1" }),
    ...on("approve", "certificates.k8s.io/signers", { name: "kubernetes.io/kube-apiserver-client-kubelet" }),
    ...["kube-apiserver-client", "kube-apiserver-client-kubelet", "kubelet-serving", "legacy-unknown"].flatMap(
      (signer) => on("sign", "certificates.k8s.io/signers", { name: `kubernetes.io/${signer}` }),
    ),
    ...on("create", "authorization.k8s.io/subjectaccessreviews"),
  ],
  "clusterrole-aggregation-controller": () =>
    on("escalate get list patch update watch", "rbac.authorization.k8s.io/clusterroles"),
};

/** Controllers of Kubernetes. Source: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go, namespace_policy.go. */
const kubernetes: Readonly<Record<string, () => readonly Ask[]>> = {
  "bootstrap-signer": () => [
    ...on("list watch", "secrets", { namespace: "kube-system" }),
    ...on("list watch", "configmaps", { namespace: "kube-public" }),
    ...on("update", "configmaps", { namespace: "kube-public", name: "cluster-info" }),
  ],
  "token-cleaner": () => [
    ...on("list watch", "secrets", { namespace: "kube-system" }),
    ...on("delete", "secrets", { namespace: "kube-system", name: "bootstrap-token-abcdef" }),
  ],
  "cronjob-controller": () => [
    ...on("get update", "batch/cronjobs", web),
    ...on("list watch", "batch/cronjobs"),
    ...on("update", "batch/cronjobs/status", web),
    ...on("create delete get", "batch/jobs", web),
    ...events("default"),
  ],
  "daemon-set-controller": () => [
    ...on("list watch", "apps/daemonsets"),
    ...on("update", "apps/daemonsets/status", web),
    ...on("list watch", "nodes"),
    ...on("create delete patch", "pods", web),
    ...on("create delete get patch update", "apps/controllerrevisions", web),
    ...events("default"),
  ],
  "deployment-controller": () => [
    ...on("get update", "apps/deployments", web),
    ...on("list watch", "apps/deployments"),
    ...on("update", "apps/deployments/status", web),
    ...on("create delete get patch update", "apps/replicasets", web),
    ...on("get update", "pods", web),
    ...events("default"),
  ],
  "endpoint-controller": () => [
    ...under("get list watch", "pods services"),
    ...on("get list create delete update", "endpoints", web),
  ],
  "endpointslice-controller": () => [
    ...under("list watch", "nodes pods services"),
    ...on("create delete get update", "discovery.k8s.io/endpointslices", web),
  ],
  "generic-garbage-collector": () => [
    ...under("list watch", "pods apps/replicasets secrets rbac.authorization.k8s.io/rolebindings"),
    ...on("get patch update delete", "pods", web),
  ],
  "horizontal-pod-autoscaler": () => [
    ...on("list watch", "autoscaling/horizontalpodautoscalers"),
    ...on("update", "autoscaling/horizontalpodautoscalers/status", web),
    ...on("get update", "apps/deployments/scale", web),
    ...on("list", "pods", { namespace: "default" }),
  ],
  "job-controller": () => [
    ...on("list watch", "batch/jobs"),
    ...on("update", "batch/jobs/status", web),
    ...on("create delete patch", "pods", web),
    ...events("default"),
  ],
  "namespace-controller": () => [
    ...on("list watch", "namespaces"),
    ...on("get delete", "namespaces", { name: "default", namespace: "default" }),
    ...on("update", "namespaces/finalize", { name: "default", namespace: "default" }),
    ...on("update", "namespaces/status", { name: "default", namespace: "default" }),
    ...under("list deletecollection", "pods secrets apps/deployments", { namespace: "default" }),
  ],
  "node-controller": () => [
    ...on("get list delete patch update", "nodes", { name: "node-1" }),
    ...on("patch update", "nodes/status", { name: "node-1" }),
    ...on("update", "pods/status", web),
    ...on("list", "pods"),
    ...on("delete", "pods", web),
    ...events("default"),
  ],
  "pod-garbage-collector": () => [...on("list watch", "pods"), ...on("delete", "pods", web), ...on("list", "nodes")],
  "replicaset-controller": () => [
    ...on("get list watch update", "apps/replicasets"),
    ...on("update", "apps/replicasets/status", web),
    ...on("create delete patch", "pods", web),
    ...events("default"),
  ],
  "resourcequota-controller": () => [
    ...under("list watch", "pods services"),
    ...on("update", "resourcequotas/status", web),
  ],
  "root-ca-cert-publisher": () => [
    ...on("create", "configmaps", { namespace: "default" }),
    ...on("update", "configmaps", { namespace: "default", name: "kube-root-ca.crt" }),
  ],
  "service-account-controller": () => on("create", "serviceaccounts", { namespace: "default" }),
  "statefulset-controller": () => [
    ...on("list watch", "apps/statefulsets"),
    ...on("update", "apps/statefulsets/status", web),
    ...on("create delete get patch update", "pods", web),
    ...on("create get", "persistentvolumeclaims", web),
    ...events("default"),
  ],
  "ttl-controller": () => [...on("list watch", "nodes"), ...on("patch update", "nodes", { name: "node-1" })],
};

/** What the controllers of a control plane ask for. */
export function controllerRequests(): readonly ControllerRequests[] {
  const of = (table: typeof shared, places: ControllerRequests["places"]): readonly ControllerRequests[] =>
    Object.entries(table).map(([controller, asks]) => ({ controller, places, asks: asks() }));
  return [...of(shared, own), ...of(kubernetes, theirs)];
}
