import { forbiddenField, required, type FieldError } from "../apimachinery/field-error.ts";
import { jsonEqual } from "../apimachinery/equal.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { accessGroup } from "./access-request.ts";
import { ageColumn } from "./age-column.ts";
import { fieldListAt, fieldsAt, stringAt, valueAt, withField } from "./json-fields.ts";
import { limitErrors } from "./limit-errors.ts";
import { storedVerbs, type Resource } from "./resource.ts";
import { issuedCredentialSchema } from "./schemas/credentials.ts";

/** What a credential is for: being a client by certificate, serving, or access by tokens. */
export type CredentialPurpose = "Client" | "Serving" | "Access";

/** Whose credentials a record is about. */
export interface CredentialIdentity {
  readonly username: string;
  readonly purpose: CredentialPurpose;
}

/** One credential that was given out. */
export interface CredentialIssue {
  readonly credentialID?: string;
  readonly serialNumber?: string;
  readonly issuer?: string;
  readonly notBefore?: string;
  readonly notAfter?: string;
  readonly requestedBy?: string;
  readonly approvedBy?: string;
  readonly request?: string;
  /** `SHA256:<base64>` of the public key of a certificate. */
  readonly key?: string;
  /** Which of all that were given out, counted from 1. */
  readonly generation?: number;
  /** When somebody first came in with it. */
  readonly firstUsed?: string;
}

/** The credentials of one identity for one purpose. */
export interface IssuedCredential extends ApiObject {
  readonly spec: { readonly identity: CredentialIdentity };
  readonly status?: {
    /** The newest last. */
    readonly issued?: readonly CredentialIssue[];
    readonly count?: number;
    readonly lastSeen?: string;
    readonly warnedOf?: string;
    readonly expiredOf?: string;
    /** When the holder was let in again after its credential had ended, the newest last. */
    readonly recoveries?: readonly { readonly request: string; readonly time: string }[];
  };
}

function newestAt(object: ApiObject, field: string): string {
  return stringAt(fieldListAt(object, "status", "issued").at(-1), field);
}

export const issuedCredentials: Resource = {
  group: accessGroup,
  version: "v1alpha1",
  kind: "IssuedCredential",
  plural: "issuedcredentials",
  singular: "issuedcredential",
  shortNames: ["icred"],
  categories: ["pratique"],
  scope: "Cluster",
  verbs: storedVerbs,
  schema: issuedCredentialSchema,
  columns: [
    {
      name: "User",
      type: "string",
      description: "Who holds it.",
      cell: (object) => stringAt(object, "spec", "identity", "username"),
    },
    {
      name: "Purpose",
      type: "string",
      description: "What it is for.",
      cell: (object) => stringAt(object, "spec", "identity", "purpose"),
    },
    {
      name: "Expires",
      type: "string",
      description: "When the newest ends.",
      cell: (object) => newestAt(object, "notAfter") || "<unknown>",
    },
    {
      name: "LastSeen",
      type: "string",
      description: "When its holder last made a request.",
      cell: (object) => stringAt(object, "status", "lastSeen") || "<never>",
    },
    {
      name: "Approved-By",
      type: "string",
      description: "Who approved the newest.",
      priority: 1,
      cell: (object) => newestAt(object, "approvedBy") || "<unknown>",
    },
    ageColumn,
  ],
  subresources: {
    status: {
      verbs: ["get", "patch", "update"],
      prepareForUpdate: (incoming, stored) => ({ ...stored, status: fieldsAt(incoming, "status") }),
    },
  },
  names: "dns-subdomain",
  createOnUpdate: false,
  unconditionalUpdate: false,
  deleteReturnsObject: false,
  generation: true,
  prepareForUpdate: (incoming, stored) => withField(incoming, "status", stored["status"]),
  validate: (object) => [...limitErrors(issuedCredentialSchema, object), ...identityErrors(object)],
  validateUpdate: (next, stored) =>
    jsonEqual(fieldsAt(next, "spec", "identity"), fieldsAt(stored, "spec", "identity"))
      ? []
      : [forbiddenField("spec.identity", "a record is of one identity")],
};

function identityErrors(object: ApiObject): readonly FieldError[] {
  const username = stringAt(object, "spec", "identity", "username");
  const purpose = valueAt(object, "spec", "identity", "purpose");
  return [
    ...(username === "" ? [required("spec.identity.username")] : []),
    ...(purpose === undefined ? [required("spec.identity.purpose", "Client, Serving or Access")] : []),
  ];
}
