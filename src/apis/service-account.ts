import type { ApiObject } from "../apimachinery/object.ts";
import { ageColumn } from "./age-column.ts";
import { arrayAt, fieldListAt, stringAt, withField } from "./json-fields.ts";
import { type Resource, storedVerbs } from "./resource.ts";
import { published } from "./schemas/published.ts";
import { tokenRequests } from "./token-request.ts";

/** An identity for processes, by the name `system:serviceaccount:<namespace>:<name>`. Source: api/core/v1 ServiceAccount. */
export interface ServiceAccount extends ApiObject {
  readonly secrets?: readonly { readonly name?: string }[];
  readonly imagePullSecrets?: readonly { readonly name?: string }[];
  readonly automountServiceAccountToken?: boolean;
}

export const serviceAccounts: Resource = {
  group: "",
  version: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  singular: "serviceaccount",
  shortNames: ["sa"],
  categories: [],
  scope: "Namespaced",
  verbs: storedVerbs,
  get schema() {
    return published("io.k8s.api.core.v1.ServiceAccount");
  },
  columns: [ageColumn],
  subresources: { token: { verbs: ["create"], creates: tokenRequests } },
  names: "dns-subdomain",
  createOnUpdate: false,
  unconditionalUpdate: true,
  deleteReturnsObject: true,
  generation: false,
  prepareForCreate: (object) => withSecretNames(object),
  prepareForUpdate: (incoming) => withSecretNames(incoming),
};

/** Of a reference to a Secret only the name is kept: it always lies in the account's own namespace. */
function withSecretNames(object: ApiObject): ApiObject {
  if (arrayAt(object, "secrets").length === 0) return object;
  return withField(
    object,
    "secrets",
    fieldListAt(object, "secrets").map((secret) => ({ name: stringAt(secret, "name") })),
  );
}
