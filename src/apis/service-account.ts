import { invalid, type FieldError } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { ageColumn, builtinKind } from "./builtin-kind.ts";
import { arrayAt, fieldListAt, stringAt, withField, numberAt } from "./json-fields.ts";
import type { Resource } from "./resource.ts";

/** The request for a token of a ServiceAccount, and the token. Source: api/authentication/v1. */
export interface TokenRequest extends ApiObject {
  readonly spec: {
    readonly audiences: readonly string[];
    readonly expirationSeconds?: number;
    readonly boundObjectRef?: BoundObjectReference | null;
  };
  readonly status?: { readonly token: string; readonly expirationTimestamp: string };
}

/** The object whose deletion invalidates a token: a Pod, Secret or Node. */
export interface BoundObjectReference {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly name?: string;
  readonly uid?: string;
}

/** Served only as the subresource `token` of ServiceAccounts. */
export const tokenRequests: Resource = builtinKind({
  group: "authentication.k8s.io",
  kind: "TokenRequest",
  scope: "Namespaced",
  verbs: ["create"],
  schema: "io.k8s.api.authentication.v1.TokenRequest",
  validate: validateExpiration,
});

const minSeconds = 10 * 60;
const maxSeconds = 2 ** 32;

/** Source: pkg/apis/authentication/validation ValidateTokenRequest. */
function validateExpiration(object: ApiObject): readonly FieldError[] {
  const path = "spec.expirationSeconds";
  const seconds = numberAt(object, "spec", "expirationSeconds") ?? 0;
  if (seconds < minSeconds) return [invalid(path, seconds, "may not specify a duration less than 10 minutes")];
  if (seconds > maxSeconds) return [invalid(path, seconds, "may not specify a duration larger than 2^32 seconds")];
  return [];
}

/** An identity for processes, by the name `system:serviceaccount:<namespace>:<name>`. Source: api/core/v1 ServiceAccount. */
export interface ServiceAccount extends ApiObject {
  readonly secrets?: readonly { readonly name?: string }[];
  readonly imagePullSecrets?: readonly { readonly name?: string }[];
  readonly automountServiceAccountToken?: boolean;
}

export const serviceAccounts: Resource = builtinKind({
  group: "",
  kind: "ServiceAccount",
  shortNames: ["sa"],
  scope: "Namespaced",
  schema: "io.k8s.api.core.v1.ServiceAccount",
  columns: [ageColumn],
  subresources: { token: { verbs: ["create"], creates: tokenRequests } },
  unconditionalUpdate: true,
  deleteReturnsObject: true,
  prepareForCreate: withSecretNames,
  prepareForUpdate: withSecretNames,
});

/** A reference to a Secret keeps only the name: it is always in the account's own namespace. */
function withSecretNames(object: ApiObject): ApiObject {
  if (arrayAt(object, "secrets").length === 0) return object;
  return withField(
    object,
    "secrets",
    fieldListAt(object, "secrets").map((secret) => ({ name: stringAt(secret, "name") })),
  );
}
