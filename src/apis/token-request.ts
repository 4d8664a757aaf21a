import { invalid, type FieldError } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { numberAt } from "./json-fields.ts";
import type { Resource } from "./resource.ts";
import { published } from "./schemas/published.ts";

/** The wish for a token of a ServiceAccount, and the token. Source: api/authentication/v1. */
export interface TokenRequest extends ApiObject {
  readonly spec: {
    readonly audiences: readonly string[];
    readonly expirationSeconds?: number;
    readonly boundObjectRef?: BoundObjectReference | null;
  };
  readonly status?: { readonly token: string; readonly expirationTimestamp: string };
}

/** The object with which a token ends: a Pod, Secret or Node. */
export interface BoundObjectReference {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly name?: string;
  readonly uid?: string;
}

/** Served as the subresource `token` of ServiceAccounts, and nowhere else. */
export const tokenRequests: Resource = {
  group: "authentication.k8s.io",
  version: "v1",
  kind: "TokenRequest",
  plural: "tokenrequests",
  singular: "tokenrequest",
  shortNames: [],
  categories: [],
  scope: "Namespaced",
  verbs: ["create"],
  get schema() {
    return published("io.k8s.api.authentication.v1.TokenRequest");
  },
  columns: [],
  subresources: {},
  names: "dns-subdomain",
  createOnUpdate: false,
  unconditionalUpdate: false,
  deleteReturnsObject: false,
  generation: false,
  validate: (object) => validateExpiration(object),
};

const shortest = 10 * 60;
const longest = 2 ** 32;

/** Source: pkg/apis/authentication/validation ValidateTokenRequest. */
function validateExpiration(object: ApiObject): readonly FieldError[] {
  const path = "spec.expirationSeconds";
  const seconds = numberAt(object, "spec", "expirationSeconds") ?? 0;
  if (seconds < shortest) return [invalid(path, seconds, "may not specify a duration less than 10 minutes")];
  if (seconds > longest) return [invalid(path, seconds, "may not specify a duration larger than 2^32 seconds")];
  return [];
}
