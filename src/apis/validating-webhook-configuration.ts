import { defaultedWebhooks, validateWebhooks, webhookColumns } from "./admission-webhook.ts";
import { checkMatchCondition } from "./admission-expression.ts";
import { type Resource, storedVerbs } from "./resource.ts";
import { published } from "./schemas/published.ts";

/** Webhooks that may refuse what is written, after it was validated. Source: api/admissionregistration/v1. */
export const validatingWebhookConfigurations: Resource = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
  singular: "validatingwebhookconfiguration",
  shortNames: [],
  categories: ["api-extensions"],
  scope: "Cluster",
  verbs: storedVerbs,
  get schema() {
    return published("io.k8s.api.admissionregistration.v1.ValidatingWebhookConfiguration");
  },
  columns: webhookColumns,
  subresources: {},
  names: "dns-subdomain",
  createOnUpdate: false,
  unconditionalUpdate: false,
  deleteReturnsObject: false,
  generation: true,
  prepareForCreate: (object) => defaultedWebhooks(object, {}),
  prepareForUpdate: (incoming) => defaultedWebhooks(incoming, {}),
  validate: (object, stored) => validateWebhooks(object, stored, checkMatchCondition({ params: false })),
};
