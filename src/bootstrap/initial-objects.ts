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
  /** Whether a node that joins with a token of ours has its client certificate approved without a person. */
  readonly nodeAutoapprove: boolean;
  /** Told what an option does not do on a hub that was started before. */
  readonly warn: (message: string) => void;
}

/** On namespace kube-system: what is made only once has been made. */
const initialized = "pratique.dev/initialized";

/** Puts the namespaces, default roles and joining rules in place that a control plane is expected to have; what is there already is kept. */
export async function putInitialObjects({ client, nodeAutoapprove, warn }: InitialObjectsOptions): Promise<void> {
  await Promise.all(
    systemNamespaces.map((name) =>
      createIfMissing(client, refOf("Namespace"), { apiVersion: "v1", kind: "Namespace", metadata: { name } }),
    ),
  );
  await putPolicy(client, bootstrapPolicy());
  await putFlowControl(client);
  // An operator's own, or those of `kubeadm init phase upload-config`, stay.
  await Promise.all(kubeadmConfiguration().map((map) => createIfMissing(client, refOf("ConfigMap"), map)));
  // Like kubeadm init, once: who removes one of these bindings does not find it back after a restart.
  const system = await client.get(refOf("Namespace"), { name: "kube-system" });
  if (system.metadata.annotations?.[initialized] === "true") {
    // The binding may be the operator's own by now, so it is named and not deleted.
    if (!nodeAutoapprove) await warnOfBinding(client, warn);
    return;
  }
  const joining = kubeadmPolicy({ nodeAutoapprove });
  await Promise.all(joining.filter(isRole).map((object) => createIfMissing(client, refOf(object.kind), object)));
  await Promise.all(
    joining.filter((object) => !isRole(object)).map((object) => createIfMissing(client, refOf(object.kind), object)),
  );
  // Last, so that a first start that was cut short is gone through again.
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

/** Brings roles and bindings to what they must grant at least, as at each start. */
export async function putPolicy(client: Client, policy: readonly PolicyObject[]): Promise<void> {
  // All at once: the store joins them into a few commits. Roles before bindings, as a binding to a missing role is refused.
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

/** Creates an object; one of that name that is there already is left as it is. */
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
 * No control plane of kubeadm. kubeadm init up to 1.21 does not change a kubeadm-config without this key; later releases do not read it.
 * Source: kubeadm 1.20 phases/uploadconfig mutateClusterStatus.
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
 * The ConfigMaps that `kubeadm join` reads after it has found the cluster: `kubeadm-config` and `kubelet-config`, as `kubeadm init` writes
 * them without a configuration of the operator's. Source: kubeadm phases uploadconfig, kubelet; componentconfigs SignConfigMap.
 */
export function kubeadmConfiguration(): readonly ApiObject[] {
  const hash = createHash("sha256").update(kubeletConfiguration).digest("hex");
  return [
    configMap("kubeadm-config", { ClusterConfiguration: clusterConfiguration, ClusterStatus: clusterStatus }),
    // By this hash kubeadm knows that it has written the configuration itself, and may convert it.
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
