import type { JsonObject } from "../../apimachinery/json-value.ts";
import type { ApiObject } from "../../apimachinery/object.ts";

/** The port of health checks of a workload that serves no HTTPS. */
export const healthPort = 8080;

const kubeconfigName = "pratique-kubeconfig";

/** The mount path of the pods' API access. */
export const mountedKubeconfig = "/etc/pratique/kubeconfig";

const account = "/var/run/secrets/kubernetes.io/serviceaccount";

/** A kubeconfig with the account of the pod. The token file is read again when it is replaced. */
const kubeconfig = [
  "apiVersion: v1",
  "kind: Config",
  "current-context: in-cluster",
  "clusters:",
  `- {name: cluster, cluster: {server: "https://kubernetes.default.svc", certificate-authority: ${account}/ca.crt}}`,
  "users:",
  `- {name: account, user: {tokenFile: ${account}/token}}`,
  "contexts:",
  "- {name: in-cluster, context: {cluster: cluster, user: account}}",
  "",
].join("\n");

/** The API access of a namespace's pods, as a ConfigMap that `deployment` mounts. */
export function ownKubeconfig(namespace: string): ApiObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: kubeconfigName, namespace }, data: { kubeconfig } };
}

/** The container of a pod. */
export interface Workload {
  readonly name: string;
  readonly replicas: number;
  readonly args: readonly string[];
  readonly port: { readonly name: string; readonly containerPort: number };
  readonly scheme: "HTTP" | "HTTPS";
  readonly strategy: object;
  /** What it mounts beside its kubeconfig, and from which source. */
  readonly mounts: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly readOnly: boolean;
    readonly source: JsonObject;
  }[];
}

/** A Deployment whose pods run as the account of its name, not as root, and can write only to the mounts meant for that. */
export function deployment(
  { namespace, image }: { readonly namespace: string; readonly image: string },
  workload: Workload,
): ApiObject {
  const { name, replicas, args, port, scheme, strategy, mounts } = workload;
  const probe = (path: string): object => ({ httpGet: { path, port: port.name, scheme } });
  const container = {
    name: "pratique",
    image,
    args,
    ports: [port],
    readinessProbe: { ...probe("/readyz"), periodSeconds: 5 },
    livenessProbe: { ...probe("/livez"), initialDelaySeconds: 10, periodSeconds: 10 },
    resources: { requests: { cpu: "20m", memory: "64Mi" }, limits: { memory: "512Mi" } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    },
    volumeMounts: [
      { name: "kubeconfig", mountPath: "/etc/pratique", readOnly: true },
      ...mounts.map(({ name: volume, mountPath, readOnly }) => ({
        name: volume,
        mountPath,
        ...(readOnly ? { readOnly } : {}),
      })),
    ],
  };
  const volumes = [
    { name: "kubeconfig", configMap: { name: kubeconfigName } },
    ...mounts.map(({ name: volume, source }) => ({ name: volume, ...source })),
  ];
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, labels: labels(name) },
    spec: {
      replicas,
      strategy,
      selector: { matchLabels: labels(name) },
      template: {
        metadata: { labels: labels(name) },
        spec: {
          serviceAccountName: name,
          terminationGracePeriodSeconds: 30,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 65_532,
            runAsGroup: 65_532,
            fsGroup: 65_532,
            seccompProfile: { type: "RuntimeDefault" },
          },
          containers: [container],
          volumes,
        },
      },
    },
  };
}

/** The label selector of a workload's pods. */
export function labels(name: string): Readonly<Record<string, string>> {
  return { "app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "pratique" };
}
