import type { RbacObject } from "./rbac-types.ts";
import { clusterRole, clusterRoleBinding, rule, systemServiceAccount } from "./bootstrap-policy/policy-object.ts";
import type { Attributes } from "./authorizer.ts";

/** A controller by the name of its ServiceAccount in kube-system, and its requests. */
export interface ControllerRequests {
  readonly controller: string;
  readonly places: readonly EssentialPlace[];
  readonly asks: readonly Ask[];
}

const web = { namespace: "default", name: "web" };
const csrs = "certificates.k8s.io/certificatesigningrequests";
const own = ["hub", "kubernetes"] as const;
const theirs = ["kubernetes"] as const;

/** Controllers of Kubernetes that run in a hub as well. A hub authorizes them by their roles, but calls the chain when it signs and when it aggregates roles. */
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

/** The requests of the controllers of a control plane. */
export function controllerRequests(): readonly ControllerRequests[] {
  const of = (table: typeof shared, places: ControllerRequests["places"]): readonly ControllerRequests[] =>
    Object.entries(table).map(([controller, asks]) => ({ controller, places, asks: asks() }));
  return [...of(shared, own), ...of(kubernetes, theirs)];
}

/**
 * The default roles that a hub does not have, of controllers that run in Kubernetes alone, limited to their requests: Kubernetes
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

/** One request without its requester. */
export type Ask = Omit<Attributes, "user">;

/** Where a component runs; a hub authorizes its own controllers by their roles, whatever the chain decides. */
export type EssentialPlace = "hub" | "kubernetes";

/** Which objects a request is about. */
interface AskedPlace {
  readonly namespace?: string;
  readonly name?: string;
  /** A field that must have this value. */
  readonly field?: readonly [key: string, value: string];
}

const nothing = { group: "", version: "", resource: "", subresource: "", namespace: "", name: "" };

/** Requests for `pods`, `apps/deployments` or `pods/status`, one for each verb; verbs are separated by spaces, groups have a dot or are apps, batch and the like. */
export function on(verbs: string, what: string, { namespace = "", name = "", field }: AskedPlace = {}): readonly Ask[] {
  const parts = what.split("/");
  const group = isGroup(parts[0] ?? "") ? (parts.shift() ?? "") : "";
  const [resource = "", subresource = ""] = parts;
  const selector =
    field === undefined ? {} : { fieldSelector: [{ key: field[0], operator: "In" as const, values: [field[1]] }] };
  const asked = { group, version: "v1", resource, subresource, namespace, name, path: undefined, ...selector };
  return verbs.split(" ").map((verb) => ({ verb, ...asked }));
}

/** The same verbs for several kinds, which are separated by spaces. */
export function under(verbs: string, kinds: string, place?: AskedPlace): readonly Ask[] {
  return kinds.split(" ").flatMap((what) => on(verbs, what, place));
}

/** Requests for paths, one for each. */
export function path(verb: string, ...paths: readonly string[]): readonly Ask[] {
  return paths.map((one) => ({ ...nothing, verb, path: one }));
}

/** Events, in a namespace. */
export function events(namespace: string): readonly Ask[] {
  return under("create patch", "events events.k8s.io/events", { namespace });
}

/** TokenReview and SubjectAccessReview requests. */
export function reviews(): readonly Ask[] {
  return [
    ...on("create", "authentication.k8s.io/tokenreviews"),
    ...on("create", "authorization.k8s.io/subjectaccessreviews"),
  ];
}

function isGroup(word: string): boolean {
  return word.includes(".") || ["apps", "autoscaling", "batch", "policy"].includes(word);
}
