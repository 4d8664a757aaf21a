import { forbiddenField, required, type FieldError } from "../apimachinery/field-error.ts";
import { jsonEqual } from "../apimachinery/equal.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { accessKind, accessStatus } from "./access-request.ts";
import { ageColumn, column, textColumn, wideColumn, builtinKind } from "./builtin-kind.ts";
import { fieldListAt, fieldsAt, stringAt, valueAt, withField } from "./json-fields.ts";
import { limitErrors } from "./limit-errors.ts";
import type { Resource } from "./resource.ts";
import { issuedCredentialSchema } from "./schemas/credentials.ts";
import { fieldErrors } from "./field-rules.ts";

/** The purpose of a credential: client certificate, serving certificate, or access by tokens. */
export type CredentialPurpose = "Client" | "Serving" | "Access";

/** The subject of a record. */
export interface CredentialIdentity {
  readonly username: string;
  readonly purpose: CredentialPurpose;
}

/** One issued credential. */
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
  /** Its serial position among all issued ones, counted from 1. */
  readonly generation?: number;
  /** The time of its first use. */
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
    /** The times of recoveries after the end of the credential, the newest last. */
    readonly recoveries?: readonly { readonly request: string; readonly time: string }[];
  };
}

function newestAt(object: ApiObject, field: string): string {
  return stringAt(fieldListAt(object, "status", "issued").at(-1), field);
}

export const issuedCredentials: Resource = builtinKind({
  ...accessKind,
  kind: "IssuedCredential",
  shortNames: ["icred"],
  schema: issuedCredentialSchema,
  columns: [
    textColumn("User", "Who holds it.", "spec", "identity", "username"),
    textColumn("Purpose", "What it is for.", "spec", "identity", "purpose"),
    column("Expires", "When the newest ends.", (object) => newestAt(object, "notAfter") || "<unknown>"),
    column(
      "LastSeen",
      "When its holder last made a request.",
      (object) => stringAt(object, "status", "lastSeen") || "<never>",
    ),
    wideColumn("Approved-By", "Who approved the newest.", (object) => newestAt(object, "approvedBy") || "<unknown>"),
    ageColumn,
  ],
  subresources: { status: accessStatus },
  prepareForUpdate: (incoming, stored) => withField(incoming, "status", stored["status"]),
  validate: (object) => [...limitErrors(issuedCredentialSchema, object), ...identityErrors(object)],
  validateUpdate: (next, stored) =>
    jsonEqual(fieldsAt(next, "spec", "identity"), fieldsAt(stored, "spec", "identity"))
      ? []
      : [forbiddenField("spec.identity", "a record is of one identity")],
});

function identityErrors(object: ApiObject): readonly FieldError[] {
  const username = stringAt(object, "spec", "identity", "username");
  const purpose = valueAt(object, "spec", "identity", "purpose");
  return fieldErrors(
    username === "" && required("spec.identity.username"),
    purpose === undefined && required("spec.identity.purpose", "Client, Serving or Access"),
  );
}
