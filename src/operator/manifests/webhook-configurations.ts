import { inventoryPlace } from "../../admission/required-rights.ts";
import type { JsonObject } from "../../apimachinery/json-value.ts";
import { accessGroup } from "../../apis/access-request.ts";

/** Where kube-apiserver finds the webhook: a Service of the cluster, or an `https://` URL. */
export type WebhookPlace =
  | { readonly service: { readonly namespace: string; readonly name: string } }
  | { readonly url: string };

/** On the namespaces of profiles: there, what a machine may renew is kept within the terms of its profile. */
export const machinesLabel = "access.pratique.dev/machines";

/**
 * Which ConfigMaps kube-apiserver asks about: none, all of kube-system, or the inventory of nodes alone. The last is a match condition,
 * which Kubernetes takes from 1.28 on.
 */
export type InventoryGuard = "unguarded" | "configmaps" | "by-name";

/** The name of both configurations. */
export const webhookConfigurationName = "pratique-access";

/** The paths that the webhook serves. */
export const webhookPaths: { readonly mutate: string; readonly validate: string } = {
  mutate: "/mutate",
  validate: "/validate",
};

/** The two configurations that make kube-apiserver ask the webhook; what it cannot ask about, it refuses. */
export function webhookConfigurations(
  place: WebhookPlace,
  caPem: string | undefined,
  { inventory }: { readonly inventory: InventoryGuard },
): readonly JsonObject[] {
  const common = (name: string, path: string): JsonObject => ({
    name: `${name}.${accessGroup}`,
    clientConfig: webhookClient(place, path, caPem),
    failurePolicy: "Fail",
    matchPolicy: "Equivalent",
    sideEffects: "None",
    timeoutSeconds: 10,
    admissionReviewVersions: ["v1", "v1beta1"],
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
  // Elsewhere accounts, Secrets and tokens are no concern of ours, and must not wait for us.
  const namespaceSelector = { matchLabels: { [machinesLabel]: "true" } };
  const metadata = { name: webhookConfigurationName };
  return [
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingWebhookConfiguration",
      metadata,
      webhooks: [
        {
          ...common("stamp", webhookPaths.mutate),
          reinvocationPolicy: "Never",
          rules: [rule(["CREATE"], ["accessrequests"]), rule(["UPDATE"], ["accessrequests/status"])],
        },
        {
          ...common("token", webhookPaths.mutate),
          reinvocationPolicy: "Never",
          namespaceSelector,
          rules: [{ ...coreRule, operations: ["CREATE"], resources: ["serviceaccounts/token"] }],
        },
      ],
    },
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingWebhookConfiguration",
      metadata,
      webhooks: [
        {
          ...common("check", webhookPaths.validate),
          rules: [rule(both, ["accessrequests", "accessrequests/status", "accessprofiles"])],
        },
        {
          ...common("account", webhookPaths.validate),
          namespaceSelector,
          rules: [{ ...coreRule, operations: both, resources: ["serviceaccounts", "secrets"] }],
        },
        ...(inventory === "unguarded"
          ? []
          : [
              {
                ...common("inventory", webhookPaths.validate),
                ...inventoryMatch(inventory),
                rules: [{ ...coreRule, operations: both, resources: ["configmaps"] }],
              },
            ]),
      ],
    },
  ];
}

/** The label is set by kube-apiserver since Kubernetes 1.21, and cannot be taken away. Source: apiserver NamespaceDefaultLabelName. */
function inventoryMatch(inventory: InventoryGuard): JsonObject {
  const { namespace, name } = inventoryPlace;
  const expression = `has(object.metadata.name) && object.metadata.name == "${name}"`;
  return {
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
    ...(inventory === "by-name" ? { matchConditions: [{ name: "node-inventory", expression }] } : {}),
  };
}

/** How kube-apiserver reaches the webhook, and by which CA it knows it. */
export function webhookClient(place: WebhookPlace, path: string, caPem: string | undefined): JsonObject {
  return { ...target(place, path), ...(caPem === undefined ? {} : { caBundle: base64(caPem) }) };
}

function target(place: WebhookPlace, path: string): JsonObject {
  if ("url" in place) return { url: `${place.url.replace(/\/+$/, "")}${path}` };
  return { service: { ...place.service, path, port: 443 } };
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
