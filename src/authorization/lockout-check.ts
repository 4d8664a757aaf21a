import {
  anonymousUser,
  authenticatedGroup,
  bootstrapGroup,
  bootstrapUserPrefix,
  defaultNodeTokenGroup,
  mastersGroup,
  nodesGroup,
  nodeUserPrefix,
  serviceAccountUser,
  unauthenticatedGroup,
  type UserInfo,
} from "../apimachinery/user.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import {
  controllerRequests,
  events,
  on,
  path,
  reviews,
  under,
  type Ask,
  type EssentialPlace,
} from "./controller-requests.ts";

/** A client that a cluster does not work without, and its regular requests. */
export interface EssentialComponent {
  readonly component: string;
  readonly user: UserInfo;
  readonly places: readonly EssentialPlace[];
  readonly asks: readonly Ask[];
  /** The source for that need. */
  readonly source: string;
  /** The first release of Kubernetes that sends these requests, where that is later than 1.20. */
  readonly since?: string;
}

const everywhere: readonly EssentialPlace[] = ["hub", "kubernetes"];
const nodeName = "node-1";
const csrs = "certificates.k8s.io/certificatesigningrequests";

function user(username: string, ...groups: readonly string[]): UserInfo {
  return { username, groups: [...groups, authenticatedGroup] };
}

/** A pod on the node of the requests, so that the Node authorizer has a reference to decide by. */
export const essentialPod: ApiObject = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace: "default", uid: "6f0c1d0e-0000-4000-8000-000000000001" },
  spec: {
    nodeName,
    serviceAccountName: "default",
    containers: [{ name: "web", image: "example.com/web:1", envFrom: [{ configMapRef: { name: "web-config" } }] }],
    volumes: [{ name: "keys", secret: { secretName: "web-keys" } }],
  },
};

/** The default: both places. */
const components: readonly (Omit<EssentialComponent, "places"> & Partial<EssentialComponent>)[] = [
  {
    component: "operator (system:masters)",
    user: user("kubernetes-admin", mastersGroup),
    asks: [
      ...on("create update delete", "rbac.authorization.k8s.io/clusterrolebindings"),
      ...on("delete", "nodes", { name: nodeName }),
      ...on("impersonate", "users", { name: "somebody" }),
      ...path("get", "/metrics"),
    ],
    source: "kubeadm super-admin.conf; apiserver authorizerfactory NewPrivilegedGroups",
  },
  {
    component: "operator (kubeadm:cluster-admins)",
    user: user("kubernetes-admin", "kubeadm:cluster-admins"),
    asks: [
      ...on("create update delete", "rbac.authorization.k8s.io/clusterrolebindings"),
      ...on("update", `${csrs}/approval`, { name: "csr-1" }),
      ...on("approve", "certificates.k8s.io/signers", { name: "kubernetes.io/kube-apiserver-client-kubelet" }),
      ...on("get", "secrets", { namespace: "kube-system", name: "bootstrap-token-abcdef" }),
      ...path("get", "/metrics"),
    ],
    source: "kubeadm admin.conf, ClusterRoleBinding kubeadm:cluster-admins",
    since: "1.29",
  },
  {
    component: "kube-apiserver, towards kubelets",
    user: user("kube-apiserver-kubelet-client", "kubeadm:cluster-admins"),
    places: ["kubernetes"],
    asks: ["log", "metrics", "proxy", "stats"].flatMap((part) => on("get create", `nodes/${part}`, { name: nodeName })),
    source: "kubelet webhook authorization, pkg/kubelet/server/auth.go; kubeadm certs apiserver-kubelet-client",
    since: "1.29",
  },
  {
    component: "health probes",
    user: { username: anonymousUser, groups: [unauthenticatedGroup] },
    asks: path("get", "/healthz", "/livez", "/readyz", "/version"),
    source: "ClusterRole system:public-info-viewer; probes of kubeadm's static pods",
  },
  {
    component: "joining machine, before it trusts",
    user: { username: anonymousUser, groups: [unauthenticatedGroup] },
    asks: on("get", "configmaps", { namespace: "kube-public", name: "cluster-info" }),
    source: "kubeadm token-based discovery, Role kubeadm:bootstrap-signer-clusterinfo",
  },
  {
    component: "node bootstrapper",
    user: user(`${bootstrapUserPrefix}abcdef`, bootstrapGroup, defaultNodeTokenGroup),
    asks: [
      ...on("create get list watch", csrs),
      ...on("create", `${csrs}/nodeclient`),
      ...on("get", "nodes", { name: nodeName }),
    ],
    source: "kubelet TLS bootstrapping; ClusterRoles system:node-bootstrapper, …:nodeclient, kubeadm:get-nodes",
  },
  {
    component: "kubeadm join",
    user: user(`${bootstrapUserPrefix}abcdef`, bootstrapGroup, defaultNodeTokenGroup),
    asks: ["kubeadm-config", "kubelet-config", "kube-proxy"].flatMap((name) =>
      on("get", "configmaps", { namespace: "kube-system", name }),
    ),
    source:
      "kubeadm join phases preflight and kubelet-start; Roles kubeadm:nodes-kubeadm-config, kubeadm:kubelet-config",
    since: "1.24",
  },
  {
    component: "kubelet",
    user: user(`${nodeUserPrefix}${nodeName}`, nodesGroup),
    asks: [
      ...on("create", "nodes"),
      ...on("get patch", "nodes", { name: nodeName }),
      ...on("patch", "nodes/status", { name: nodeName }),
      ...on("create", "coordination.k8s.io/leases", { namespace: "kube-node-lease" }),
      ...on("get update", "coordination.k8s.io/leases", { namespace: "kube-node-lease", name: nodeName }),
      ...on("list watch", "pods", { field: ["spec.nodeName", nodeName] }),
      ...on("get", "pods", { namespace: "default", name: "web" }),
      ...on("patch", "pods/status", { namespace: "default", name: "web" }),
      ...on("get", "secrets", { namespace: "default", name: "web-keys" }),
      ...on("get", "configmaps", { namespace: "default", name: "web-config" }),
      ...on("create", "serviceaccounts/token", { namespace: "default", name: "default" }),
      ...on("list watch", "services"),
      ...on("list watch", "storage.k8s.io/csidrivers"),
      ...on("get update", "storage.k8s.io/csinodes", { name: nodeName }),
      ...on("list watch", "node.k8s.io/runtimeclasses"),
      ...on("create get", csrs),
      ...on("create patch", "events", { namespace: "default" }),
      ...reviews(),
    ],
    source: "Node authorizer, plugin/pkg/auth/authorizer/node; ClusterRole system:node",
  },
  {
    component: "kubelet, renewing its certificate",
    user: user(`${nodeUserPrefix}${nodeName}`, nodesGroup),
    asks: on("create", `${csrs}/selfnodeclient`),
    source: "csrapproving controller; ClusterRoleBinding kubeadm:node-autoapprove-certificate-rotation",
  },
  {
    component: "kube-proxy",
    user: user("system:kube-proxy"),
    asks: [
      ...on("list watch", "services"),
      ...on("list watch", "discovery.k8s.io/endpointslices"),
      ...on("get list watch", "nodes"),
      ...events("default"),
    ],
    source: "ClusterRole system:node-proxier",
  },
  {
    component: "kube-scheduler",
    user: user("system:kube-scheduler"),
    asks: [
      ...on("create", "coordination.k8s.io/leases", { namespace: "kube-system" }),
      ...on("get update", "coordination.k8s.io/leases", { namespace: "kube-system", name: "kube-scheduler" }),
      ...under("list watch", "nodes pods persistentvolumes persistentvolumeclaims replicationcontrollers services"),
      ...under("list watch", "apps/replicasets apps/statefulsets policy/poddisruptionbudgets storage.k8s.io/csinodes"),
      ...on("create", "pods/binding", { namespace: "default", name: "web" }),
      ...on("patch", "pods/status", { namespace: "default", name: "web" }),
      ...on("delete", "pods", { namespace: "default", name: "web" }),
      ...delegated(),
      ...events("default"),
    ],
    source: "ClusterRoles system:kube-scheduler, system:volume-scheduler; leader election",
  },
  {
    component: "kube-scheduler, for selectors of namespaces",
    user: user("system:kube-scheduler"),
    asks: on("list watch", "namespaces"),
    source: "ClusterRole system:kube-scheduler",
    since: "1.21",
  },
  {
    component: "kube-controller-manager",
    user: user("system:kube-controller-manager"),
    asks: [
      ...on("create", "coordination.k8s.io/leases", { namespace: "kube-system" }),
      ...on("get update", "coordination.k8s.io/leases", { namespace: "kube-system", name: "kube-controller-manager" }),
      ...under("list watch", "pods nodes secrets configmaps serviceaccounts apps/deployments"),
      ...on("get create update", "serviceaccounts", { namespace: "kube-system", name: "node-controller" }),
      ...on("create", "serviceaccounts/token", { namespace: "kube-system", name: "node-controller" }),
      ...delegated(),
      ...events("kube-system"),
    ],
    source: "ClusterRole system:kube-controller-manager; leader election; --use-service-account-credentials",
  },
  {
    component: "any authenticated user",
    user: user("somebody"),
    asks: [
      ...path("get", "/api", "/apis", "/api/v1", "/apis/apps/v1", "/openapi/v2", "/openapi/v3", "/version"),
      ...on("create", "authorization.k8s.io/selfsubjectaccessreviews"),
      ...on("create", "authorization.k8s.io/selfsubjectrulesreviews"),
    ],
    source: "ClusterRoles system:discovery (aggregated discovery too), system:basic-user",
  },
  {
    component: "verifier of ServiceAccount tokens",
    user: serviceAccountUser("default", "default"),
    asks: path("get", "/.well-known/openid-configuration", "/openid/v1/jwks"),
    source: "ClusterRole system:service-account-issuer-discovery",
  },
];

/** The requests of a server with delegated authentication and authorization. */
function delegated(): readonly Ask[] {
  const settings = { namespace: "kube-system", name: "extension-apiserver-authentication" };
  return [...reviews(), ...on("get list watch", "configmaps", settings)];
}

/** All clients that must not be locked out of a cluster or a hub. */
export function essentialComponents(): readonly EssentialComponent[] {
  return [
    ...components.map((one) => ({ places: everywhere, ...one })),
    ...controllerRequests().map(({ controller, places, asks }) => ({
      component: controller,
      user: serviceAccountUser("kube-system", controller),
      places,
      asks,
      source: `ClusterRole system:controller:${controller}`,
    })),
  ];
}
