import { createHash } from "node:crypto";
import { jsonEqual } from "../apimachinery/equal.ts";
import { forbiddenField, invalid, required } from "../apimachinery/field-error.ts";
import { dnsLabelProblems, dnsSubdomainProblems } from "../apimachinery/names.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { anonymousUser } from "../apimachinery/user.ts";
import { accessKind } from "./access-request.ts";
import { ageColumn, column, builtinKind } from "./builtin-kind.ts";
import type { DefinitionRule } from "./definition-of.ts";
import { fieldsAt, stringAt, withField, type Fields } from "./json-fields.ts";
import { limitErrors } from "./limit-errors.ts";
import type { Resource } from "./resource.ts";
import { credentialRevocationSchema } from "./schemas/credentials.ts";
import { fieldErrors, nameErrors, type FieldResult } from "./field-rules.ts";

/** The API group of revocations. */
export interface CredentialRevocation extends ApiObject {
  readonly spec: CredentialRevocationSpec;
  readonly status?: { readonly revokedBy?: string; readonly enforced?: boolean };
}

/** The target of the revocation: exactly one of these, by its exact value. */
export interface RevocationTarget {
  readonly user?: string;
  readonly fingerprint?: string;
  readonly certificate?: { readonly serialNumber: string; readonly issuer?: string };
  readonly credentialID?: string;
  readonly bootstrapTokenID?: string;
  readonly secret?: { readonly namespace: string; readonly name: string };
}

export interface CredentialRevocationSpec extends RevocationTarget {
  readonly reason?: string;
  readonly expiresAt?: string;
}

/** The fields of which exactly one is set. */
export const revocationTargets: readonly (keyof RevocationTarget)[] = [
  "user",
  "fingerprint",
  "certificate",
  "credentialID",
  "bootstrapTokenID",
  "secret",
];

const hexDigest = /^[0-9a-f]{64}$/;
const serialForm = /^(?!00)(?:[0-9a-f]{2}){1,20}$/;
const certificatePrefix = "X509SHA256=";

/** The target of a revocation, as one line of text. */
export function revokedText(object: ApiObject): string {
  const spec = fieldsAt(object, "spec");
  const of = (field: string): string => stringAt(spec, field);
  if (of("user") !== "") return `user ${of("user")}`;
  if (of("fingerprint") !== "") return `certificate ${certificatePrefix}${of("fingerprint")}`;
  if (of("credentialID") !== "") return `credential ${of("credentialID")}`;
  if (of("bootstrapTokenID") !== "") return `bootstrap token ${of("bootstrapTokenID")}`;
  const serial = stringAt(spec, "certificate", "serialNumber");
  if (serial !== "") return `certificate with serial number ${serial}`;
  const name = stringAt(spec, "secret", "name");
  return name === "" ? "<nothing>" : `tokens of secret ${stringAt(spec, "secret", "namespace")}/${name}`;
}

const oneTarget: DefinitionRule = {
  rule: `[${revocationTargets.map((field) => `has(self.${field})`).join(", ")}].filter(given, given).size() == 1`,
  message: `name exactly one of ${revocationTargets.join(", ")}`,
};

const fixedTarget: DefinitionRule = {
  rule: revocationTargets
    .map(
      (field) =>
        `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
    )
    .join(" && "),
  message: "what is revoked cannot change; delete this revocation and make another",
};

/** The hub's checks of a spec besides its schema, as CEL rules for an API that serves the kind by its definition. */
export const revocationRules: readonly DefinitionRule[] = [oneTarget, fixedTarget];

export const credentialRevocations: Resource = builtinKind({
  ...accessKind,
  kind: "CredentialRevocation",
  shortNames: ["crev"],
  schema: credentialRevocationSchema,
  columns: [
    column("Revokes", "What counts no longer.", revokedText),
    column("By", "Who revoked.", (object) => stringAt(object, "status", "revokedBy") || "<unknown>"),
    column("Reason", "Why.", (object) => stringAt(object, "spec", "reason") || "<none>"),
    column("Expires", "When the revocation ends.", (object) => stringAt(object, "spec", "expiresAt") || "<none>"),
    ageColumn,
  ],
  prepareForCreate: (object, { user }) => withField(object, "status", { revokedBy: user.username, enforced: true }),
  prepareForUpdate: (incoming, stored) => withField(incoming, "status", stored["status"]),
  validate: (object) =>
    fieldErrors(limitErrors(credentialRevocationSchema, object), revocationErrors(fieldsAt(object, "spec"))),
  validateUpdate: (next, stored) =>
    fieldErrors(
      !jsonEqual(targetOf(next), targetOf(stored)) && forbiddenField("spec", fixedTarget.message),
      pendingErrors(next, stored),
    ),
});

/** A controller revokes the targets of this annotation: a client with only update rights must not extend it. */
function pendingErrors({ metadata }: ApiObject, stored: ApiObject): FieldResult {
  const pending = metadata.annotations?.[cloneLockPendingAnnotation];
  const path = `metadata.annotations[${cloneLockPendingAnnotation}]`;
  const why = "the controller sets it when it creates the revocation; an update may only remove it";
  const isNew = pending !== undefined && pending !== stored.metadata.annotations?.[cloneLockPendingAnnotation];
  return isNew && forbiddenField(path, why);
}

function targetOf(object: ApiObject): Fields {
  const spec = fieldsAt(object, "spec");
  return Object.fromEntries(revocationTargets.map((field) => [field, spec[field] ?? null]));
}

function revocationErrors(spec: RevocationTarget): FieldResult {
  const [only, another] = revocationTargets.filter((field) => spec[field] !== undefined);
  if (only === undefined) return required("spec", oneTarget.message);
  return another === undefined ? targetErrors[only](spec) : forbiddenField(`spec.${another}`, oneTarget.message);
}

type Check = (spec: RevocationTarget) => FieldResult;

function matches(
  path: string,
  value: string,
  { form, why }: { readonly form: RegExp; readonly why: string },
): FieldResult {
  return !form.test(value) && invalid(`spec.${path}`, value.slice(0, 128), why);
}

const digest = { form: hexDigest, why: "must be the SHA-256 as 64 lower-case hexadecimal digits" };
const serial = {
  form: serialForm,
  why: "must be lower-case hexadecimal, two digits a byte, without leading zero bytes, of at most 20 bytes",
};
const credentialId = {
  form: /^(?:JTI=[\x21-\x7e]{1,512}|X509SHA256=[0-9a-f]{64})$/,
  why: `must be JTI=<id of a token> or ${certificatePrefix}<64 lower-case hexadecimal digits>`,
};
const bootstrapId = { form: /^[a-z0-9]{6}$/, why: "must be the six characters before the point" };
const anonymousHas = "has no credential that could be revoked; start the hub with --anonymous-auth=false";

const targetErrors: Readonly<Record<keyof RevocationTarget, Check>> = {
  user: ({ user = "" }) =>
    user === ""
      ? required("spec.user", "the exact name of a user")
      : user === anonymousUser && invalid("spec.user", user, anonymousHas),
  fingerprint: ({ fingerprint = "" }) => matches("fingerprint", fingerprint, digest),
  certificate: ({ certificate: { serialNumber = "", issuer = "" } = {} }) => [
    matches("certificate.serialNumber", serialNumber, serial),
    issuer !== "" && matches("certificate.issuer", issuer, digest),
  ],
  credentialID: ({ credentialID = "" }) => matches("credentialID", credentialID, credentialId),
  bootstrapTokenID: ({ bootstrapTokenID = "" }) => matches("bootstrapTokenID", bootstrapTokenID, bootstrapId),
  secret: ({ secret: { namespace = "", name = "" } = {} }) => [
    nameErrors("spec.secret.namespace", namespace, dnsLabelProblems),
    nameErrors("spec.secret.name", name, dnsSubdomainProblems),
  ],
};

/** On a revocation that the hub created because two machines used one identity: that identity. */
export const clonedAnnotation = "access.pratique.dev/cloned";

/**
 * On the first revocation of a clone lock, until the lock is complete: the fingerprints of the certificates to revoke after
 * it, separated by commas. Set when the revocation is created, and removed later, never added or changed.
 */
export const cloneLockPendingAnnotation = "access.pratique.dev/clone-lock-pending";

/** The name of a revocation: one for each target, so that revoking twice is revoking once. */
export function revocationName(target: RevocationTarget): string {
  const [kind = ""] = Object.keys(target);
  const digest = createHash("sha256").update(JSON.stringify(target)).digest("hex").slice(0, 32);
  return `${kind.toLowerCase()}-${digest}`;
}
