import { createHash } from "node:crypto";
import type { ApiObject } from "../apimachinery/object.ts";
import { kubernetesMinor } from "../apiserver/version.ts";

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
