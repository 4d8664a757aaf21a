import { humanDuration } from "../apimachinery/duration.ts";
import { type FieldError, forbiddenField, invalid, required, tooLong } from "../apimachinery/field-error.ts";
import { jsonEqual } from "../apimachinery/equal.ts";
import type { ApiObject, Condition } from "../apimachinery/object.ts";
import { SshKeyError, type SshPublicKey, parseSshPublicKey } from "../pki/ssh-public-key.ts";
import { ageColumn, builtinKind, column, wideColumn } from "./builtin-kind.ts";
import type { DefinitionRule } from "./definition-of.ts";
import { fieldListAt, fieldsAt, isTrueAt, stringAt, withField } from "./json-fields.ts";
import { limitErrors } from "./limit-errors.ts";
import type { Column, PrepareContext, Resource, Subresource } from "./resource.ts";
import { accessRequestSchema } from "./schemas/access.ts";
import { fieldErrors } from "./field-rules.ts";
import { truncate } from "../apimachinery/truncate.ts";

/** The API group of access requests, profiles, policies and credentials. */
export const accessGroup = "access.pratique.dev";

/** Fields that all stored kinds of this group share. */
export const accessKind: Pick<Resource, "group" | "version" | "categories" | "scope" | "generation"> = {
  group: accessGroup,
  version: "v1alpha1",
  categories: ["pratique"],
  scope: "Cluster",
  generation: true,
};

/** On each object that is created for a request: the request's uid. */
export const requestLabel = "access.pratique.dev/request-uid";

/** A machine's request. */
export interface AccessRequest extends ApiObject {
  readonly spec: AccessRequestSpec;
  readonly status?: AccessRequestStatus;
}

export interface AccessRequestSpec {
  readonly pubKey: string;
  readonly profile?: string;
  readonly hostname?: string;
  readonly claims?: Readonly<Record<string, string>>;
  readonly proof?: string;
}

/** One decision as the API recorded it. */
export interface AccessDecision {
  readonly user: string;
  /** The authenticated user, where `user` was impersonated and the API could verify it. */
  readonly impersonator?: string;
  readonly time: string;
  readonly verdict: "Approved" | "Denied" | "Revoked";
  readonly reason?: string;
  readonly words?: "Compared" | "NotCompared";
  readonly fingerprint?: string;
  readonly profile?: DecidedProfile;
}

/** The state of a profile at the decision on a request for it. */
export interface DecidedProfile {
  readonly name: string;
  readonly uid: string;
  /** Increases with each change of the access that the profile grants. */
  readonly generation: number;
}

/** What the API itself recorded about a request. */
export interface AccessEvidence {
  readonly sourceAddress?: string;
  readonly userAgent?: string;
  readonly requester?: string;
  readonly possession?: "Proven" | "Unproven";
  readonly earlierRequests?: number;
  /** Whether the key of the machine was approved before. */
  readonly returning?: { readonly request: string; readonly since?: string; readonly times: number } | undefined;
}

export interface AccessRequestStatus {
  readonly accepted?: boolean;
  readonly denied?: boolean;
  readonly revoked?: boolean;
  readonly reason?: string;
  readonly wordsCompared?: boolean;
  readonly ready?: boolean;
  readonly key?: string;
  readonly token?: string;
  readonly ca?: string;
  readonly bootstrapToken?: string;
  readonly seal?: object;
  readonly fingerprint?: string;
  readonly decisions?: readonly AccessDecision[];
  readonly expiresAt?: string;
  readonly conditions?: readonly Condition[];
  readonly evidence?: AccessEvidence;
  readonly grant?: {
    readonly namespace?: string;
    readonly serviceAccount?: string;
    readonly uid?: string;
    readonly bootstrapSecret?: string;
  };
}

const maxUserAgentCharacters = 256;
const maxClaimsCharacters = 4096;

const columns: readonly Column[] = [
  {
    ...column("Ready", "Whether the answer is there.", (object) => isTrueAt(object, "status", "ready")),
    type: "boolean",
  },
  column("Profile", "What is asked for.", (object) => stringAt(object, "spec", "profile") || "<default>"),
  column("Condition", "Where the request stands.", stateOf),
  column(
    "Source",
    "Where it came from, as the API saw it.",
    (object) => stringAt(object, "status", "evidence", "sourceAddress") || "<unknown>",
  ),
  wideColumn("Fingerprint", "The fingerprint of the machine's key.", (object) =>
    stringAt(object, "status", "fingerprint"),
  ),
  wideColumn("Expires", "When the token ends.", (object, now) => {
    const at = Date.parse(stringAt(object, "status", "expiresAt"));
    return Number.isNaN(at) ? null : at <= now ? "expired" : `in ${humanDuration(at - now)}`;
  }),
  ageColumn,
];

/** The part `status` of a kind of this group, which is always present once it was written. */
export const accessStatus: Subresource = {
  verbs: ["get", "patch", "update"],
  prepareForUpdate: (incoming, stored) => ({ ...stored, status: fieldsAt(incoming, "status") }),
};

// Otherwise a decision could apply to another request than the approver saw.
const fixed: DefinitionRule = { rule: "self == oldSelf", message: "a request cannot change; delete it and ask again" };

/** The hub's checks of a spec besides its schema, as CEL rules for an API that serves the kind by its definition. */
export const requestRules: readonly DefinitionRule[] = [fixed];

export const accessRequests: Resource = builtinKind({
  ...accessKind,
  kind: "AccessRequest",
  shortNames: ["areq"],
  schema: accessRequestSchema,
  columns,
  subresources: { status: accessStatus },
  prepareForCreate: (object, context) => withField(object, "status", firstStatus(object, context)),
  prepareForUpdate: (incoming, stored) => withField(incoming, "status", stored["status"]),
  validate: (object) => [...limitErrors(accessRequestSchema, object), ...specErrors(object)],
  validateUpdate: (next, stored) =>
    jsonEqual(next["spec"], stored["spec"]) ? [] : [forbiddenField("spec", fixed.message)],
});

/** What the API itself records about a new request; a status from the client is ignored. */
function firstStatus(object: ApiObject, { user, source }: PrepareContext): AccessRequestStatus {
  const key = readKey(object);
  return {
    ...(key === undefined ? {} : { fingerprint: key.fingerprint }),
    evidence: {
      ...(source === undefined
        ? {}
        : {
            sourceAddress: plainAddress(source.address),
            userAgent: source.userAgent.slice(0, maxUserAgentCharacters),
          }),
      requester: user.username,
    },
  };
}

const mappedPrefix = "::ffff:";

/** An IPv4 address in dotted form, also where the socket has it in IPv6 form; without the zone. */
export function plainAddress(address: string): string {
  const plain = address.toLowerCase().startsWith(mappedPrefix) ? address.slice(mappedPrefix.length) : address;
  return plain.split("%", 1)[0] ?? "";
}

/** The public key of a request, or undefined where it is invalid. */
export function readKey(object: ApiObject): SshPublicKey | undefined {
  try {
    return parseSshPublicKey(stringAt(object, "spec", "pubKey"));
  } catch (error) {
    if (error instanceof SshKeyError) return undefined;
    throw error;
  }
}

/** The associated data that binds a sealed answer to this request. */
export function sealBinding(request: AccessRequest): string {
  const { name = "", uid = "" } = request.metadata;
  return JSON.stringify(["access.pratique.dev/v1alpha1", "AccessRequest", name, uid]);
}

/** Reasons of the condition `Issued` that pass once an administrator creates the missing object; the machine waits for that. */
const passingReasons: readonly string[] = [
  "ProfileNamespaceMissing",
  "ProfileNamespaceTerminating",
  "ProfileRoleMissing",
  "IssuingFailed",
];

/** The condition of a pending request: `False` while the profile that it names does not exist, or where it names none and there is no default. */
export const profileExistsCondition = "ProfileExists";

/** The message for a request whose profile does not exist; undefined for any other. */
export function missingProfileIn({ conditions = [] }: AccessRequestStatus): string | undefined {
  const found = conditions.find(({ type, status: holds }) => type === profileExistsCondition && holds === "False");
  return found && (found.message ?? "");
}

/** Why an approved request has no credential, and whether it may get one later; undefined where nothing prevents it. */
export function notIssuedIn({ conditions = [] }: AccessRequestStatus):
  | {
      readonly reason: string;
      readonly message: string;
      readonly mayPass: boolean;
    }
  | undefined {
  const found = conditions.find(({ type, status: holds }) => type === "Issued" && holds === "False");
  if (found === undefined) return undefined;
  const { reason = "", message = "" } = found;
  return { reason, message, mayPass: passingReasons.includes(reason) };
}

/** The phase of a request, from its latest decision. */
export function stateOf(object: ApiObject): string {
  const is = (field: string): boolean => isTrueAt(object, "status", field);
  const isExpired = fieldListAt(object, "status", "conditions").some(
    (one) => stringAt(one, "type") === "Expired" && stringAt(one, "status") === "True",
  );
  if (is("revoked")) return "Revoked";
  if (is("denied")) return "Denied";
  if (isExpired) return "Expired";
  if (is("ready")) return "Approved,Issued";
  return is("accepted") ? "Approved" : "Pending";
}

function specErrors(object: ApiObject): readonly FieldError[] {
  const claims = fieldsAt(object, "spec", "claims");
  return fieldErrors(
    keyErrors(stringAt(object, "spec", "pubKey")),
    JSON.stringify(claims).length > maxClaimsCharacters && tooLong("spec.claims", maxClaimsCharacters),
  );
}

function keyErrors(pubKey: string): readonly FieldError[] {
  if (pubKey === "") return [required("spec.pubKey", "the public key of the machine, as in id_ed25519.pub")];
  try {
    parseSshPublicKey(pubKey);
    return [];
  } catch (error) {
    if (!(error instanceof SshKeyError)) throw error;
    const shown = truncate(pubKey, 64);
    return [invalid("spec.pubKey", shown, error.message)];
  }
}
