import type { JsonObject } from "../../apimachinery/json-value.ts";
import { clusterDefinitions } from "../../apis/cluster-definitions.ts";
import { stringAt } from "../../apis/json-fields.ts";
import { accessDefinitions } from "./access-definitions.ts";
import { accessRbac } from "./access-rbac.ts";
import { accessWorkloads } from "./access-workloads.ts";
import { clusterRbac, conversionRbac } from "./cluster-rbac.ts";
import { addOnDefinitionName, clusterWebhookConfigurations, convertedAddOns } from "./cluster-webhooks.ts";
import { webhookConfigurations, type InventoryGuard, type WebhookPlace } from "./webhook-configurations.ts";

interface WebhookFeatures {
  readonly place: WebhookPlace;
  /** Absent where the webhook registers it itself. */
  readonly caPem: string | undefined;
  readonly inventory: InventoryGuard;
  readonly managedClusters: boolean;
  readonly olderAddOns: boolean;
}

export interface ManifestOptions extends WebhookFeatures {
  readonly namespace: string;
  readonly image: string;
  /** Whether a ValidatingAdmissionPolicy checks what CEL can. */
  readonly cel: boolean;
  /** Whether the controller, and the webhook where `place` is its Service, run on the cluster itself. */
  readonly workloads: boolean;
}

/** What leads kube-apiserver to the webhook. */
export function configurationsOf(features: WebhookFeatures): readonly JsonObject[] {
  const { place, caPem, inventory, managedClusters, olderAddOns } = features;
  return [
    ...webhookConfigurations(place, caPem, { inventory }),
    ...(managedClusters ? clusterWebhookConfigurations(place, caPem) : []),
    ...(olderAddOns ? [convertedAddOns(place, caPem)] : []),
  ];
}

/** Everything that access requests need on a cluster, in the order in which it is created. */
export function manifestsOf(options: ManifestOptions): readonly JsonObject[] {
  const { place, caPem, namespace, image, managedClusters: clusters, olderAddOns } = options;
  const definitions = clusterDefinitions().map((one) =>
    olderAddOns && stringAt(one, "metadata", "name") === addOnDefinitionName ? convertedAddOns(place, caPem) : one,
  );
  const workloads = { clusters, olderAddOns, namespace, image, webhook: !("url" in place) };
  const objects = [
    ...accessRbac(namespace),
    ...(clusters ? clusterRbac(namespace) : []),
    ...(olderAddOns ? conversionRbac(namespace) : []),
    ...(options.workloads ? accessWorkloads(workloads) : []),
  ];
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    ...accessDefinitions({ rules: options.cel }),
    ...(clusters ? definitions : []),
    ...objects.map((object) => ({ ...object })),
    // The definitions above convert add-ons already.
    ...configurationsOf({ ...options, olderAddOns: false }),
  ];
}
