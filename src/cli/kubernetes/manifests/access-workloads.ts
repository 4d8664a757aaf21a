import type { ApiObject } from "../../../core/object.ts";
import { accountNames } from "./access-rbac.ts";

/** Where the programs run. */
export interface WorkloadOptions {
  readonly namespace: string;
  readonly image: string;
  /** Whether the webhook runs in the cluster as well; else only the controller does. */
  readonly webhook: boolean;
  /** Whether clusters join this one. */
  readonly clusters: boolean;
  /** Whether the webhook converts add-ons. */
  readonly olderAddOns: boolean;
}

/** The port of the webhook in its pods, and of the controller's health. */
const ports = { webhook: 8443, health: 8080 } as const;

const account = "/var/run/secrets/kubernetes.io/serviceaccount";

/** How a pod reaches the API as its own account. The token is read again while it is replaced. */
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

/** The Deployments of controller and webhook, the Service of the webhook, and how both reach the API. */
export function accessWorkloads(options: WorkloadOptions): readonly ApiObject[] {
  const { namespace } = options;
  const { webhook } = accountNames;
  return [
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "pratique-kubeconfig", namespace },
      data: { kubeconfig },
    },
    controllerDeployment(options),
    ...(options.webhook
      ? [
          {
            apiVersion: "v1",
            kind: "Service",
            metadata: { name: webhook, namespace },
            spec: { selector: labels(webhook), ports: [{ name: "https", port: 443, targetPort: "https" }] },
          } as ApiObject,
          webhookDeployment(options),
        ]
      : []),
  ];
}

function controllerDeployment(options: WorkloadOptions): ApiObject {
  const { namespace, clusters } = options;
  return deployment(options, {
    name: accountNames.controller,
    replicas: 2,
    args: [
      "controller",
      "--kubeconfig=/etc/pratique/kubeconfig",
      "--leader-elect",
      `--leader-elect-lease-namespace=${namespace}`,
      `--health-address=0.0.0.0:${ports.health}`,
      "--log-format=json",
      ...(clusters ? ["--controllers=access-request,registration"] : []),
    ],
    port: { name: "health", containerPort: ports.health },
    scheme: "HTTP",
    strategy: { type: "RollingUpdate" },
    folders: [],
  });
}

/** One at a time: each start makes a serving certificate and puts its CA into the webhook configurations. */
function webhookDeployment(options: WorkloadOptions): ApiObject {
  const { namespace, clusters, olderAddOns } = options;
  return deployment(options, {
    name: accountNames.webhook,
    replicas: 1,
    args: [
      "webhook",
      "--kubeconfig=/etc/pratique/kubeconfig",
      "--bind-address=0.0.0.0",
      `--secure-port=${ports.webhook}`,
      `--service=${namespace}/${accountNames.webhook}`,
      "--cert-dir=/var/run/pratique",
      "--register",
      "--log-format=json",
      ...(clusters ? ["--managed-clusters"] : []),
      ...(olderAddOns ? ["--older-add-ons"] : []),
    ],
    port: { name: "https", containerPort: ports.webhook },
    scheme: "HTTPS",
    strategy: { type: "Recreate" },
    folders: [{ name: "certificates", mountPath: "/var/run/pratique" }],
  });
}

interface Workload {
  readonly name: string;
  readonly replicas: number;
  readonly args: readonly string[];
  readonly port: { readonly name: string; readonly containerPort: number };
  readonly scheme: "HTTP" | "HTTPS";
  readonly strategy: object;
  /** Folders that may be written, in memory. */
  readonly folders: readonly { readonly name: string; readonly mountPath: string }[];
}

function deployment({ namespace, image }: WorkloadOptions, workload: Workload): ApiObject {
  const { name, replicas, args, port, scheme, strategy, folders } = workload;
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
    volumeMounts: [{ name: "kubeconfig", mountPath: "/etc/pratique", readOnly: true }, ...folders],
  };
  const volumes = [
    { name: "kubeconfig", configMap: { name: "pratique-kubeconfig" } },
    ...folders.map((folder) => ({ name: folder.name, emptyDir: { medium: "Memory", sizeLimit: "1Mi" } })),
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

function labels(name: string): Readonly<Record<string, string>> {
  return { "app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "pratique" };
}
