import { getOrUndefined, ignoreReasons } from "../client/api-errors.ts";
import type { Client, ResourceRef } from "../client/client.ts";
import { bootstrapPolicy } from "../authorization/bootstrap-policy/system-roles.ts";
import { autoapproveBinding, kubeadmPolicy } from "../authorization/bootstrap-policy/kubeadm-policy.ts";
import { reconcilePolicy } from "../authorization/reconcile-policy.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { builtinResources } from "../apis/builtin.ts";
import { systemNamespaces } from "../apis/namespace.ts";
import { putFlowControl } from "../apiserver/flow-control/flow-control-objects.ts";
import { createHash } from "node:crypto";
import { kubernetesMinor } from "../apiserver/version.ts";

type PolicyObject = Parameters<typeof reconcilePolicy>[0];

export interface InitialObjectsOptions {
  readonly client: Client;
  /** Whether the client certificate of a node that joins with a bootstrap token of the hub is approved automatically. */
  readonly nodeAutoapprove: boolean;
  /** Called with a message about an option that has no effect on a hub that was started before. */
  readonly warn: (message: string) => void;
}

/** Annotation on namespace kube-system: the objects that are created only once exist. */
const initialized = "pratique.dev/initialized";

/** Creates the namespaces, default roles and joining rules that a control plane must have; existing ones are kept. */
export async function putInitialObjects({ client, nodeAutoapprove, warn }: InitialObjectsOptions): Promise<void> {
  await Promise.all(
    systemNamespaces.map((name) =>
      createIfMissing(client, refOf("Namespace"), { apiVersion: "v1", kind: "Namespace", metadata: { name } }),
    ),
  );
  await putPolicy(client, bootstrapPolicy());
  await putFlowControl(client);
  // Those of an operator, or of `kubeadm init phase upload-config`, are kept.
  await Promise.all(kubeadmConfiguration().map((map) => createIfMissing(client, refOf("ConfigMap"), map)));
  // Like kubeadm init, once: a binding that an operator removes is not created again at a restart.
  const system = await client.get(refOf("Namespace"), { name: "kube-system" });
  if (system.metadata.annotations?.[initialized] === "true") {
    // The binding may belong to the operator by now, so the message names it and it is not deleted.
    if (!nodeAutoapprove) await warnOfBinding(client, warn);
    return;
  }
  const joining = kubeadmPolicy({ nodeAutoapprove });
  await Promise.all(joining.filter(isRole).map((object) => createIfMissing(client, refOf(object.kind), object)));
  await Promise.all(
    joining.filter((object) => !isRole(object)).map((object) => createIfMissing(client, refOf(object.kind), object)),
  );
  // Last, so that an interrupted first start is repeated.
  await client.patch(
    refOf("Namespace"),
    { name: "kube-system" },
    { metadata: { annotations: { [initialized]: "true" } } },
  );
}

async function warnOfBinding(client: Client, warn: InitialObjectsOptions["warn"]): Promise<void> {
  const name = autoapproveBinding;
  const found = await getOrUndefined(client, refOf("ClusterRoleBinding"), { name });
  if (found === undefined) return;
  warn(
    `--no-node-autoapprove has no effect on this data directory: the ClusterRoleBinding ${name} exists since its first start, so new nodes are approved automatically; delete it: kubectl delete clusterrolebinding ${name}`,
  );
}

/** Adds missing rules and subjects of roles and bindings, at each start. */
export async function putPolicy(client: Client, policy: readonly PolicyObject[]): Promise<void> {
  // Concurrently: the store batches them into a few commits. Roles before bindings, as a binding to a missing role is rejected.
  await Promise.all(policy.filter(isRole).map((object) => reconcile(client, object)));
  await Promise.all(policy.filter((object) => !isRole(object)).map((object) => reconcile(client, object)));
}

function isRole(object: PolicyObject): boolean {
  return object.kind === "Role" || object.kind === "ClusterRole";
}

async function reconcile(client: Client, wanted: PolicyObject): Promise<void> {
  const ref = refOf(wanted.kind);
  const { name = "", namespace } = wanted.metadata;
  const key = namespace === undefined ? { name } : { namespace, name };
  const existing = await getOrUndefined<PolicyObject>(client, ref, key);
  const result = reconcilePolicy(wanted, existing);
  switch (result.kind) {
    case "none":
      return;
    case "create":
      await client.create(ref, result.object);
      return;
    case "update":
      await client.update(ref, result.object);
      return;
    case "recreate":
      await client.delete(ref, key);
      await client.create(ref, result.object);
  }
}

/** Creates an object; an existing one of that name is kept. */
export async function createIfMissing(client: Client, ref: ResourceRef, object: ApiObject): Promise<void> {
  await ignoreReasons(client.create(ref, object), "AlreadyExists");
}

function refOf(kind: string): ResourceRef {
  const resource = builtinResources.find((one) => one.kind === kind);
  if (resource === undefined) throw new TypeError(`no built-in kind ${kind}`);
  return resource;
}

/** The defaults of kubeadm 1.36, in the order in which it writes them. Source: kubeadm config print init-defaults. */
const clusterConfiguration = `apiServer: {}
apiVersion: kubeadm.k8s.io/v1beta4
caCertificateValidityPeriod: 87600h0m0s
certificateValidityPeriod: 8760h0m0s
certificatesDir: /etc/kubernetes/pki
clusterName: kubernetes
controllerManager: {}
dns: {}
encryptionAlgorithm: RSA-2048
etcd:
  local:
    dataDir: /var/lib/etcd
imageRepository: registry.k8s.io
kind: ClusterConfiguration
kubernetesVersion: v1.${kubernetesMinor}.0
networking:
  dnsDomain: cluster.local
  serviceSubnet: 10.96.0.0/12
proxy: {}
scheduler: {}
`;

/**
 * Empty: no control plane of kubeadm. kubeadm init up to 1.21 does not change a kubeadm-config without this key; later releases do not
 * read it. Source: kubeadm 1.20 phases/uploadconfig mutateClusterStatus.
 */
const clusterStatus = `apiEndpoints: {}
apiVersion: kubeadm.k8s.io/v1beta2
kind: ClusterStatus
`;

/** Source: kubeadm config print init-defaults --component-configs KubeletConfiguration. */
const kubeletConfiguration = `apiVersion: kubelet.config.k8s.io/v1beta1
authentication:
  anonymous:
    enabled: false
  webhook:
    cacheTTL: 0s
    enabled: true
  x509:
    clientCAFile: /etc/kubernetes/pki/ca.crt
authorization:
  mode: Webhook
  webhook:
    cacheAuthorizedTTL: 0s
    cacheUnauthorizedTTL: 0s
cgroupDriver: systemd
clusterDNS:
- 10.96.0.10
clusterDomain: cluster.local
containerRuntimeEndpoint: ""
cpuManagerReconcilePeriod: 0s
crashLoopBackOff: {}
evictionPressureTransitionPeriod: 0s
fileCheckFrequency: 0s
healthzBindAddress: 127.0.0.1
healthzPort: 10248
httpCheckFrequency: 0s
imageMaximumGCAge: 0s
imageMinimumGCAge: 0s
kind: KubeletConfiguration
logging:
  flushFrequency: 0
  options:
    json:
      infoBufferSize: "0"
    text:
      infoBufferSize: "0"
  verbosity: 0
memorySwap: {}
nodeStatusReportFrequency: 0s
nodeStatusUpdateFrequency: 0s
rotateCertificates: true
runtimeRequestTimeout: 0s
shutdownGracePeriod: 0s
shutdownGracePeriodCriticalPods: 0s
staticPodPath: /etc/kubernetes/manifests
streamingConnectionIdleTimeout: 0s
syncFrequency: 0s
volumeStatsAggPeriod: 0s
`;

/**
 * The ConfigMaps that `kubeadm join` reads after discovery: `kubeadm-config` and `kubelet-config`, as `kubeadm init` writes them without
 * a configuration of the operator. Source: kubeadm phases uploadconfig, kubelet; componentconfigs SignConfigMap.
 */
export function kubeadmConfiguration(): readonly ApiObject[] {
  const hash = createHash("sha256").update(kubeletConfiguration).digest("hex");
  return [
    configMap("kubeadm-config", { ClusterConfiguration: clusterConfiguration, ClusterStatus: clusterStatus }),
    // From this hash kubeadm concludes that it has written the configuration itself, and may convert it.
    configMap(
      "kubelet-config",
      { kubelet: kubeletConfiguration },
      {
        "kubeadm.kubernetes.io/component-config.hash": `sha256:${hash}`,
      },
    ),
  ];
}

function configMap(
  name: string,
  data: Readonly<Record<string, string>>,
  annotations?: Readonly<Record<string, string>>,
): ApiObject {
  const metadata = { name, namespace: "kube-system", ...(annotations === undefined ? {} : { annotations }) };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, data };
}
