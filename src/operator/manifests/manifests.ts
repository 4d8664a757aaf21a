import type { JsonObject } from "../../apimachinery/json-value.ts";
import { clusterDefinitions } from "../../apis/cluster-definitions.ts";
import { stringAt } from "../../apis/json-fields.ts";
import { accessRbac, accountNames, clusterRbac, conversionRbac, namespaceObject } from "./rbac.ts";
import {
  addOnDefinitionName,
  clusterWebhookConfigurations,
  convertedAddOns,
  webhookConfigurations,
  type InventoryGuard,
  type WebhookPlace,
} from "./webhook-configurations.ts";
import { accessProfiles } from "../../apis/access-profile.ts";
import { accessRequests, requestRules } from "../../apis/access-request.ts";
import { credentialRevocations, revocationRules } from "../../apis/credential-revocation.ts";
import { definitionOf } from "../../apis/definition-of.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { deployment, healthPort, labels, mountedKubeconfig, ownKubeconfig } from "./deployment.ts";

interface WebhookFeatures {
  readonly place: WebhookPlace;
  /** Absent where the webhook registers its CA itself. */
  readonly caPem: string | undefined;
  readonly inventory: InventoryGuard;
  readonly managedClusters: boolean;
  readonly olderAddOns: boolean;
}

interface ManifestOptions extends WebhookFeatures {
  readonly namespace: string;
  readonly image: string;
  /** Whether a ValidatingAdmissionPolicy checks what CEL can. */
  readonly cel: boolean;
  /** Whether the controller, and the webhook where `place` is its Service, run on the cluster itself. */
  readonly workloads: boolean;
}

/** The settings of kube-apiserver's connection to the webhook. */
export function configurationsOf(features: WebhookFeatures): readonly JsonObject[] {
  const { place, caPem, inventory, managedClusters, olderAddOns } = features;
  return [
    ...webhookConfigurations(place, caPem, { inventory }),
    ...(managedClusters ? clusterWebhookConfigurations(place, caPem) : []),
    ...(olderAddOns ? [convertedAddOns(place, caPem)] : []),
  ];
}

/** The objects that access requests need on a cluster, in the order of creation. */
export function manifestsOf(options: ManifestOptions): readonly JsonObject[] {
  const { place, caPem, namespace, managedClusters: clusters, olderAddOns } = options;
  const definitions = clusterDefinitions().map((one) =>
    olderAddOns && stringAt(one, "metadata", "name") === addOnDefinitionName ? convertedAddOns(place, caPem) : one,
  );
  const objects = [
    ...accessRbac(namespace),
    ...(clusters ? clusterRbac(namespace) : []),
    ...(olderAddOns ? conversionRbac(namespace) : []),
    ...(options.workloads ? accessWorkloads(options) : []),
  ];
  return [
    namespaceObject(namespace),
    ...accessDefinitions({ rules: options.cel }),
    ...(clusters ? definitions : []),
    ...objects.map((object) => ({ ...object })),
    // The definitions above have a conversion for add-ons.
    ...configurationsOf({ ...options, olderAddOns: false }),
  ];
}

/** The JSON paths of the `kubectl get` columns; Kubernetes cannot compute a cell. */
const cellPaths = {
  requests: {
    Ready: ".status.ready",
    Profile: ".spec.profile",
    Condition: ".status.conditions[-1:].type",
    Source: ".status.evidence.sourceAddress",
    Fingerprint: ".status.fingerprint",
    Expires: ".status.expiresAt",
  },
  profiles: {
    Namespace: ".spec.namespace",
    Roles: ".spec.roles[*].name",
    Approvers: ".spec.approvers",
    Default: ".metadata.annotations.access\\.pratique\\.dev/is-default-profile",
    Ready: ".status.conditions[?(@.type=='Ready')].status",
  },
  revocations: {
    Revokes: ".spec",
    By: ".status.revokedBy",
    Reason: ".spec.reason",
    Expires: ".spec.expiresAt",
  },
} as const;

/**
 * The CustomResourceDefinitions of AccessRequest, AccessProfile and CredentialRevocation. With `rules` the API itself keeps the spec of a
 * request immutable; releases before 1.25 have no such rule, and only the webhook enforces it.
 */
export function accessDefinitions({ rules }: { readonly rules: boolean }): readonly JsonObject[] {
  const { requests, profiles, revocations } = cellPaths;
  return [
    definitionOf(accessRequests, { paths: requests, rules: rules ? { spec: requestRules } : {} }),
    definitionOf(accessProfiles, { paths: profiles }),
    definitionOf(credentialRevocations, { paths: revocations, rules: rules ? { spec: revocationRules } : {} }),
  ];
}

/** The port of the webhook in its pods. */
const webhookPort = 8443;

/** The Deployments of controller and webhook, the Service of the webhook, and the API access of both. */
function accessWorkloads(options: ManifestOptions): readonly ApiObject[] {
  const { namespace, place } = options;
  const { webhook: name } = accountNames;
  const spec = { selector: labels(name), ports: [{ name: "https", port: 443, targetPort: "https" }] };
  const service = { apiVersion: "v1", kind: "Service", metadata: { name, namespace }, spec };
  return [
    ownKubeconfig(namespace),
    controllerDeployment(options),
    ...("url" in place ? [] : [service, webhookDeployment(options)]),
  ];
}

function controllerDeployment(options: ManifestOptions): ApiObject {
  const { namespace, managedClusters } = options;
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
      ...(managedClusters ? ["--controllers=access-request,registration"] : []),
    ],
    port: { name: "health", containerPort: healthPort },
    scheme: "HTTP",
    strategy: { type: "RollingUpdate" },
    mounts: [],
  });
}

/** One replica: each start creates a serving certificate and writes its CA into the webhook configurations. */
function webhookDeployment(options: ManifestOptions): ApiObject {
  const { namespace, managedClusters, olderAddOns } = options;
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
      ...(managedClusters ? ["--managed-clusters"] : []),
      ...(olderAddOns ? ["--older-add-ons"] : []),
    ],
    port: { name: "https", containerPort: webhookPort },
    scheme: "HTTPS",
    strategy: { type: "Recreate" },
    // A tmpfs.
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
