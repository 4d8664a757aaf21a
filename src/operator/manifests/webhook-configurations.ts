import { inventoryPlace } from "../../admission/required-rights.ts";
import type { JsonObject } from "../../apimachinery/json-value.ts";
import { accessGroup } from "../../apis/access-request.ts";
import { clusterDefinitions } from "../../apis/cluster-definitions.ts";
import { fieldsAt, stringAt } from "../../apis/json-fields.ts";
import { clusterGroup, managedClusterAddOns } from "../../apis/managed-cluster.ts";

/** The address at which kube-apiserver calls the webhook: a Service of the cluster, or an `https://` URL. */
export type WebhookPlace =
  | { readonly service: { readonly namespace: string; readonly name: string } }
  | { readonly url: string };

/** The label of profile namespaces: there the webhook limits renewals by machines to their profile. */
export const machinesLabel = "access.pratique.dev/machines";

/**
 * Which ConfigMaps kube-apiserver sends for review: none, all of kube-system, or the inventory of nodes alone. The last is a match
 * condition, which Kubernetes has from 1.28 on.
 */
export type InventoryGuard = "unguarded" | "configmaps" | "by-name";

/** The name of both configurations. */
export const webhookConfigurationName = "pratique-access";

/** The paths that the webhook serves. */
export const webhookPaths: { readonly mutate: string; readonly validate: string } = {
  mutate: "/mutate",
  validate: "/validate",
};

/** The two configurations by which kube-apiserver calls the webhook; a request that it cannot have reviewed is rejected. */
export function webhookConfigurations(
  place: WebhookPlace,
  caPem: string | undefined,
  { inventory }: { readonly inventory: InventoryGuard },
): readonly JsonObject[] {
  const { mutate, validate } = webhookPaths;
  const hook = (name: string, path: string, more: JsonObject): JsonObject => ({
    ...webhook(`${name}.${accessGroup}`, webhookClient(place, path, caPem)),
    ...more,
  });
  const rule = (operations: readonly string[], resources: readonly string[]): JsonObject => ({
    apiGroups: [accessGroup],
    apiVersions: ["v1alpha1"],
    operations,
    resources,
    scope: "Cluster",
  });
  const both = ["CREATE", "UPDATE"];
  const coreRule = { apiGroups: [""], apiVersions: ["v1"], scope: "Namespaced" };
  // Accounts, Secrets and tokens of other namespaces are not reviewed, and must not wait for the webhook.
  const namespaceSelector = { matchLabels: { [machinesLabel]: "true" } };
  const mutators = [
    hook("stamp", mutate, {
      reinvocationPolicy: "Never",
      rules: [rule(["CREATE"], ["accessrequests"]), rule(["UPDATE"], ["accessrequests/status"])],
    }),
    hook("token", mutate, {
      reinvocationPolicy: "Never",
      namespaceSelector,
      rules: [{ ...coreRule, operations: ["CREATE"], resources: ["serviceaccounts/token"] }],
    }),
  ];
  const validators = [
    hook("check", validate, { rules: [rule(both, ["accessrequests", "accessrequests/status", "accessprofiles"])] }),
    hook("account", validate, {
      namespaceSelector,
      rules: [{ ...coreRule, operations: both, resources: ["serviceaccounts", "secrets"] }],
    }),
    ...(inventory === "unguarded"
      ? []
      : [
          hook("inventory", validate, {
            ...inventoryMatch(inventory),
            rules: [{ ...coreRule, operations: both, resources: ["configmaps"] }],
          }),
        ]),
  ];
  return configurations(webhookConfigurationName, mutators, validators);
}

function configurations(
  name: string,
  mutators: readonly JsonObject[],
  validators: readonly JsonObject[],
): readonly JsonObject[] {
  const [apiVersion, metadata] = ["admissionregistration.k8s.io/v1", { name }];
  return [
    { apiVersion, kind: "MutatingWebhookConfiguration", metadata, webhooks: mutators },
    { apiVersion, kind: "ValidatingWebhookConfiguration", metadata, webhooks: validators },
  ];
}

function webhook(name: string, clientConfig: JsonObject): JsonObject {
  return {
    name,
    clientConfig,
    failurePolicy: "Fail",
    matchPolicy: "Equivalent",
    sideEffects: "None",
    timeoutSeconds: 10,
    admissionReviewVersions: ["v1", "v1beta1"],
  };
}

/** kube-apiserver sets the label since Kubernetes 1.21, and it cannot be removed. Source: apiserver NamespaceDefaultLabelName. */
function inventoryMatch(inventory: InventoryGuard): JsonObject {
  const { namespace, name } = inventoryPlace;
  const expression = `has(object.metadata.name) && object.metadata.name == "${name}"`;
  return {
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
    ...(inventory === "by-name" ? { matchConditions: [{ name: "node-inventory", expression }] } : {}),
  };
}

/** How kube-apiserver reaches the webhook, and the CA by which it verifies it. */
function webhookClient(place: WebhookPlace, path: string, caPem: string | undefined): JsonObject {
  const target =
    "url" in place
      ? { url: `${place.url.replace(/\/+$/, "")}${path}` }
      : { service: { ...place.service, path, port: 443 } };
  return caPem === undefined ? target : { ...target, caBundle: Buffer.from(caPem).toString("base64") };
}

/** The name of both configurations for managed clusters. */
export const clusterWebhookName = "pratique-clusters";

/** The paths of OCM, and one for add-ons, which OCM does not validate. Source: ocm manifests/cluster-manager/hub. */
export const clusterWebhookPaths: Readonly<
  Record<"mutate" | "validate" | "validateBinding" | "validateAddOn" | "convert", string>
> = {
  mutate: "/mutate-cluster-open-cluster-management-io-v1-managedcluster",
  validate: "/validate-cluster-open-cluster-management-io-v1-managedcluster",
  validateBinding: "/validate-cluster-open-cluster-management-io-v1beta2-managedclustersetbinding",
  validateAddOn: "/validate-addon-open-cluster-management-io-managedclusteraddon",
  convert: "/convert",
};

interface HookRule {
  readonly group: string;
  readonly versions: readonly string[];
  readonly resources: readonly string[];
  readonly scope: "Cluster" | "Namespaced";
}

/** The two configurations for managed clusters; a request that kube-apiserver cannot have reviewed is rejected. */
export function clusterWebhookConfigurations(place: WebhookPlace, caPem: string | undefined): readonly JsonObject[] {
  const { mutate, validate, validateBinding, validateAddOn } = clusterWebhookPaths;
  const hook = (name: string, path: string, { group, versions, ...rule }: HookRule): JsonObject => ({
    ...webhook(`${name}.admission.${group}`, webhookClient(place, path, caPem)),
    rules: [{ apiGroups: [group], apiVersions: versions, operations: ["CREATE", "UPDATE"], ...rule }],
  });
  const clusters = { group: clusterGroup, versions: ["v1"] };
  const [plural, addOns] = ["managedclusters", "managedclusteraddons"];
  const mutator = hook("managedclustermutators", mutate, { ...clusters, resources: [plural], scope: "Cluster" });
  return configurations(
    clusterWebhookName,
    [{ ...mutator, reinvocationPolicy: "IfNeeded" }],
    [
      hook("managedclustervalidators", validate, {
        ...clusters,
        resources: [plural, `${plural}/status`],
        scope: "Cluster",
      }),
      hook("managedclustersetbindingvalidators", validateBinding, {
        group: clusterGroup,
        versions: ["v1beta2"],
        resources: ["managedclustersetbindings"],
        scope: "Namespaced",
      }),
      hook("managedclusteraddonvalidators", validateAddOn, {
        group: managedClusterAddOns.group,
        // Whichever version the cluster serves.
        versions: ["v1alpha1", "v1beta1"],
        resources: [addOns, `${addOns}/status`],
        scope: "Namespaced",
      }),
    ],
  );
}

/** The name of the definition whose older version the webhook converts. */
export const addOnDefinitionName: string = `${managedClusterAddOns.plural}.${managedClusterAddOns.group}`;

/** That definition and its conversion, but for the CA. */
export function addOnConversion(place: WebhookPlace): {
  readonly definition: string;
  readonly clientConfig: JsonObject;
} {
  return {
    definition: addOnDefinitionName,
    clientConfig: webhookClient(place, clusterWebhookPaths.convert, undefined),
  };
}

/** The definition of add-ons in all versions, with the webhook as its converter. */
export function convertedAddOns(place: WebhookPlace, caPem: string | undefined): JsonObject {
  const found = clusterDefinitions("all").find((one) => stringAt(one, "metadata", "name") === addOnDefinitionName);
  const webhook = {
    clientConfig: webhookClient(place, clusterWebhookPaths.convert, caPem),
    conversionReviewVersions: ["v1"],
  };
  return { ...found, spec: { ...fieldsAt(found, "spec"), conversion: { strategy: "Webhook", webhook } } };
}
