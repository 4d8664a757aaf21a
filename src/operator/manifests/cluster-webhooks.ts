import type { JsonObject } from "../../apimachinery/json-value.ts";
import { clusterDefinitions } from "../../apis/cluster-definitions.ts";
import { fieldsAt, stringAt } from "../../apis/json-fields.ts";
import { clusterGroup, managedClusterAddOns } from "../../apis/managed-cluster.ts";
import type { WebhookPlace } from "./webhook-configurations.ts";
import { webhookClient } from "./webhook-configurations.ts";

/** The name of both configurations for managed clusters. */
export const clusterWebhookName = "pratique-clusters";

/** The paths of the original, and one for add-ons, which the original does not guard. Source: ocm manifests/cluster-manager/hub. */
export const clusterWebhookPaths: Readonly<
  Record<"mutate" | "validate" | "validateBinding" | "validateAddOn" | "convert", string>
> = {
  mutate: "/mutate-cluster-open-cluster-management-io-v1-managedcluster",
  validate: "/validate-cluster-open-cluster-management-io-v1-managedcluster",
  validateBinding: "/validate-cluster-open-cluster-management-io-v1beta2-managedclustersetbinding",
  validateAddOn: "/validate-addon-open-cluster-management-io-managedclusteraddon",
  convert: "/convert",
};

interface Hook {
  readonly name: string;
  readonly path: string;
  readonly group?: string;
  readonly versions: readonly string[];
  readonly resources: readonly string[];
  readonly scope: "Cluster" | "Namespaced";
}

/** The two configurations that make kube-apiserver ask about managed clusters; what it cannot ask about, it refuses. */
export function clusterWebhookConfigurations(place: WebhookPlace, caPem: string | undefined): readonly JsonObject[] {
  const hook = ({ name, path, group = clusterGroup, versions, resources, scope }: Hook): JsonObject => ({
    name: `${name}.admission.${group}`,
    clientConfig: webhookClient(place, path, caPem),
    failurePolicy: "Fail",
    matchPolicy: "Equivalent",
    sideEffects: "None",
    timeoutSeconds: 10,
    admissionReviewVersions: ["v1", "v1beta1"],
    rules: [{ apiGroups: [group], apiVersions: versions, operations: ["CREATE", "UPDATE"], resources, scope }],
  });
  const { mutate, validate, validateBinding, validateAddOn } = clusterWebhookPaths;
  const clusters = { versions: ["v1"], scope: "Cluster" } as const;
  const mutators = [
    hook({ ...clusters, name: "managedclustermutators", path: mutate, resources: ["managedclusters"] }),
  ];
  const validators = [
    hook({
      ...clusters,
      name: "managedclustervalidators",
      path: validate,
      resources: ["managedclusters", "managedclusters/status"],
    }),
    hook({
      name: "managedclustersetbindingvalidators",
      path: validateBinding,
      versions: ["v1beta2"],
      resources: ["managedclustersetbindings"],
      scope: "Namespaced",
    }),
    hook({
      name: "managedclusteraddonvalidators",
      path: validateAddOn,
      group: managedClusterAddOns.group,
      // Whichever of them the cluster serves.
      versions: ["v1alpha1", "v1beta1"],
      resources: ["managedclusteraddons", "managedclusteraddons/status"],
      scope: "Namespaced",
    }),
  ];
  const metadata = { name: clusterWebhookName };
  const apiVersion = "admissionregistration.k8s.io/v1";
  return [
    {
      apiVersion,
      kind: "MutatingWebhookConfiguration",
      metadata,
      webhooks: mutators.map((one) => ({ ...one, reinvocationPolicy: "IfNeeded" })),
    },
    { apiVersion, kind: "ValidatingWebhookConfiguration", metadata, webhooks: validators },
  ];
}

/** The name of the definition whose older version the webhook converts. */
export const addOnDefinitionName: string = `${managedClusterAddOns.plural}.${managedClusterAddOns.group}`;

/** That definition, and by whom it is converted, but for the CA. */
export function addOnConversion(place: WebhookPlace): {
  readonly definition: string;
  readonly clientConfig: JsonObject;
} {
  return {
    definition: addOnDefinitionName,
    clientConfig: webhookClient(place, clusterWebhookPaths.convert, undefined),
  };
}

/** The definition of add-ons in all their versions, which kube-apiserver has the webhook convert into one another. */
export function convertedAddOns(place: WebhookPlace, caPem: string | undefined): JsonObject {
  const found = clusterDefinitions("all").find((one) => stringAt(one, "metadata", "name") === addOnDefinitionName);
  const webhook = {
    clientConfig: webhookClient(place, clusterWebhookPaths.convert, caPem),
    conversionReviewVersions: ["v1"],
  };
  return { ...found, spec: { ...fieldsAt(found, "spec"), conversion: { strategy: "Webhook", webhook } } };
}
