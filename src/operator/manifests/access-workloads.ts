import type { ApiObject } from "../../apimachinery/object.ts";
import { accountNames } from "./access-rbac.ts";
import { deployment, healthPort, labels, mountedKubeconfig, ownKubeconfig } from "./deployment.ts";

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

/** The port of the webhook in its pods. */
const webhookPort = 8443;

/** The Deployments of controller and webhook, the Service of the webhook, and how both reach the API. */
export function accessWorkloads(options: WorkloadOptions): readonly ApiObject[] {
  const { namespace } = options;
  const { webhook } = accountNames;
  return [
    ownKubeconfig(namespace),
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
      `--kubeconfig=${mountedKubeconfig}`,
      "--leader-elect",
      `--leader-elect-lease-namespace=${namespace}`,
      `--health-address=0.0.0.0:${healthPort}`,
      "--log-format=json",
      ...(clusters ? ["--controllers=access-request,registration"] : []),
    ],
    port: { name: "health", containerPort: healthPort },
    scheme: "HTTP",
    strategy: { type: "RollingUpdate" },
    mounts: [],
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
      `--kubeconfig=${mountedKubeconfig}`,
      "--bind-address=0.0.0.0",
      `--secure-port=${webhookPort}`,
      `--service=${namespace}/${accountNames.webhook}`,
      "--cert-dir=/var/run/pratique",
      "--register",
      "--log-format=json",
      ...(clusters ? ["--managed-clusters"] : []),
      ...(olderAddOns ? ["--older-add-ons"] : []),
    ],
    port: { name: "https", containerPort: webhookPort },
    scheme: "HTTPS",
    strategy: { type: "Recreate" },
    // In memory.
    mounts: [
      {
        name: "certificates",
        mountPath: "/var/run/pratique",
        readOnly: false,
        source: { emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
      },
    ],
  });
}
