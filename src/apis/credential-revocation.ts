import { createHash } from "node:crypto";
import { jsonEqual } from "../apimachinery/equal.ts";
import { forbiddenField, invalid, required, type FieldError } from "../apimachinery/field-error.ts";
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

/** What takes credentials back. */
export interface CredentialRevocation extends ApiObject {
  readonly spec: CredentialRevocationSpec;
  readonly status?: { readonly revokedBy?: string; readonly enforced?: boolean };
}

/** What is revoked: exactly one of these, by its exact value. */
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
const tokenIdForm = /^JTI=[\x21-\x7e]{1,512}$/;
const bootstrapIdForm = /^[a-z0-9]{6}$/;
const certificatePrefix = "X509SHA256=";

/** What a revocation is about, in one line for people. */
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

/** What the hub says of a spec besides its schema, as rules for an API that serves the kind by its definition. */
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
  validate: (object) => [
    ...limitErrors(credentialRevocationSchema, object),
    ...revocationErrors(fieldsAt(object, "spec")),
  ],
  validateUpdate: (next, stored) => [
    ...(jsonEqual(targetOf(next), targetOf(stored)) ? [] : [forbiddenField("spec", fixedTarget.message)]),
    ...pendingErrors(next, stored),
  ],
});

/** A controller revokes what this annotation names: who may only update must not have more revoked by it. */
function pendingErrors({ metadata }: ApiObject, stored: ApiObject): readonly FieldError[] {
  const pending = metadata.annotations?.[cloneLockPendingAnnotation];
  return pending === undefined || pending === stored.metadata.annotations?.[cloneLockPendingAnnotation]
    ? []
    : [
        forbiddenField(
          `metadata.annotations[${cloneLockPendingAnnotation}]`,
          "the controller sets it when it creates the revocation; an update may only remove it",
        ),
      ];
}

function targetOf(object: ApiObject): Fields {
  const spec = fieldsAt(object, "spec");
  return Object.fromEntries(revocationTargets.map((field) => [field, spec[field] ?? null]));
}

function revocationErrors(spec: Fields): readonly FieldError[] {
  const named = revocationTargets.filter((field) => spec[field] !== undefined);
  const [only, another] = named;
  if (only === undefined) return [required("spec", oneTarget.message)];
  if (another !== undefined) return [forbiddenField(`spec.${another}`, oneTarget.message)];
  return targetErrors[only](spec);
}

type Check = (spec: Fields) => readonly FieldError[];

function matching(field: string, form: RegExp, why: string): Check {
  return (spec) => {
    const value = stringAt(spec, field);
    return form.test(value) ? [] : [invalid(`spec.${field}`, value.slice(0, 128), why)];
  };
}

const digestWords = "must be the SHA-256 as 64 lower-case hexadecimal digits";

const targetErrors: Readonly<Record<keyof RevocationTarget, Check>> = {
  user: (spec) => {
    const user = stringAt(spec, "user");
    if (user === "") return [required("spec.user", "the exact name of a user")];
    return user === anonymousUser
      ? [
          invalid(
            "spec.user",
            user,
            "has no credential that could be revoked; start the hub with --anonymous-auth=false",
          ),
        ]
      : [];
  },
  fingerprint: matching("fingerprint", hexDigest, digestWords),
  certificate: (spec) => {
    const serial = stringAt(spec, "certificate", "serialNumber");
    const issuer = stringAt(spec, "certificate", "issuer");
    const why = "must be lower-case hexadecimal, two digits a byte, without leading zero bytes, of at most 20 bytes";
    return [
      ...(serialForm.test(serial) ? [] : [invalid("spec.certificate.serialNumber", serial.slice(0, 128), why)]),
      ...(issuer === "" || hexDigest.test(issuer)
        ? []
        : [invalid("spec.certificate.issuer", issuer.slice(0, 128), digestWords)]),
    ];
  },
  credentialID: (spec) => {
    const id = stringAt(spec, "credentialID");
    if (tokenIdForm.test(id)) return [];
    if (id.startsWith(certificatePrefix) && hexDigest.test(id.slice(certificatePrefix.length))) return [];
    const why = `must be JTI=<id of a token> or ${certificatePrefix}<64 lower-case hexadecimal digits>`;
    return [invalid("spec.credentialID", id.slice(0, 128), why)];
  },
  bootstrapTokenID: matching("bootstrapTokenID", bootstrapIdForm, "must be the six characters before the point"),
  secret: (spec) => {
    const [namespace, name] = [stringAt(spec, "secret", "namespace"), stringAt(spec, "secret", "name")];
    return [
      ...dnsLabelProblems(namespace).map((why) => invalid("spec.secret.namespace", namespace, why)),
      ...dnsSubdomainProblems(name).map((why) => invalid("spec.secret.name", name, why)),
    ];
  },
};

/** On a revocation that the hub made because two machines held one identity: that identity. */
export const clonedAnnotation = "access.pratique.dev/cloned";

/**
 * On the first revocation of a clone lock, until the lock is complete: the fingerprints of the certificates that are to be revoked after
 * it, separated by commas. Set when the revocation is created, and removed later, never added or changed.
 */
export const cloneLockPendingAnnotation = "access.pratique.dev/clone-lock-pending";

/** The name of a revocation: one for each target, so that revoking twice is revoking once. */
export function revocationName(target: RevocationTarget): string {
  const [kind = ""] = Object.keys(target);
  const digest = createHash("sha256").update(JSON.stringify(target)).digest("hex").slice(0, 32);
  return `${kind.toLowerCase()}-${digest}`;
}
