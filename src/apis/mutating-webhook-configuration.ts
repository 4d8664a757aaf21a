import { defaultedWebhooks, validateWebhooks, webhookColumns } from "./admission-webhook.ts";
import { checkMatchCondition } from "./admission-expression.ts";
import { type Resource, storedVerbs } from "./resource.ts";
import { published } from "./schemas/published.ts";

/** Webhooks that may change or refuse what is written, before it is validated. Source: api/admissionregistration/v1. */
export const mutatingWebhookConfigurations: Resource = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "MutatingWebhookConfiguration",
  plural: "mutatingwebhookconfigurations",
  singular: "mutatingwebhookconfiguration",
  shortNames: [],
  categories: ["api-extensions"],
  scope: "Cluster",
  verbs: storedVerbs,
  get schema() {
    return published("io.k8s.api.admissionregistration.v1.MutatingWebhookConfiguration");
  },
  columns: webhookColumns,
  subresources: {},
  names: "dns-subdomain",
  createOnUpdate: false,
  unconditionalUpdate: false,
  deleteReturnsObject: false,
  generation: true,
  prepareForCreate: (object) => defaultedWebhooks(object, { reinvocationPolicy: "Never" }),
  prepareForUpdate: (incoming) => defaultedWebhooks(incoming, { reinvocationPolicy: "Never" }),
  validate: (object, stored) => validateWebhooks(object, stored, checkMatchCondition({ params: false })),
};
