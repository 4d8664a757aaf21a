import { X509Certificate } from "node:crypto";
import { CertificateError } from "../pki/certificate.ts";
import { parseCertificate } from "../pki/parse-certificate.ts";

import { duplicate, type FieldError, forbiddenField, invalid, required } from "../apimachinery/field-error.ts";
import { humanDuration } from "../apimachinery/duration.ts";
import type { ApiObject, Condition } from "../apimachinery/object.ts";
import { CsrError, parseCsr } from "../pki/csr.ts";
import { decodePem, type PemBlock, PemError } from "../pki/pem.ts";
import { usageMeanings } from "../pki/usages.ts";
import { collectErrors, fieldErrors, type FieldResult, repetitions, unsupported } from "./field-rules.ts";
import { ageColumn, column, textColumn, builtinKind } from "./builtin-kind.ts";
import {
  csrConditionCell,
  validateCsrApprovalsUntouched,
  validateCsrConditions,
  validateCsrConditionsKept,
  withConditionTimes,
  withStoredApprovals,
} from "./csr-conditions.ts";
import { plainAddress } from "./access-request.ts";
import { fieldListAt, fieldsAt, type Fields, numberAt, stringAt, stringsAt, withField } from "./json-fields.ts";
import type { Column, PrepareContext, Resource, Subresource } from "./resource.ts";
import { validateSignerName } from "./signer-name.ts";

/** A request for a certificate, its decision, and the certificate. Source: api/certificates/v1 CertificateSigningRequest. */
export interface CertificateSigningRequest extends ApiObject {
  readonly spec: CertificateSigningRequestSpec;
  readonly status?: CertificateSigningRequestStatus;
}

/** Immutable after creation. The server sets the requester. */
export interface CertificateSigningRequestSpec {
  /** A PEM block of type CERTIFICATE REQUEST, in base64. */
  readonly request: string;
  readonly signerName: string;
  readonly usages: readonly string[];
  readonly expirationSeconds?: number;
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface CertificateSigningRequestStatus {
  readonly conditions?: readonly Condition[];
  /** One or more PEM blocks of type CERTIFICATE, the leaf first, in base64. Set once. */
  readonly certificate?: string;
}

/** The address that the request came from, as recorded by the API; no client can write it. */
const sourceAnnotation = "pratique.dev/source-address";
/** The authenticated approver; no client can write it either. */
const deciderAnnotation = "pratique.dev/decided-by";
const stampedAnnotations = [sourceAnnotation, deciderAnnotation];

const legacyUnknownSigner = "kubernetes.io/legacy-unknown";

/** The minimum lifetime of a request, in seconds: 10 minutes. */
const minExpirationSeconds = 600;
/** 256 KiB: a chain has a few certificates of one or two KiB. */
const maxCertificatePem = 262_144;

const columns: readonly Column[] = [
  ageColumn,
  column(
    "SignerName",
    "The signer that is asked for the certificate.",
    (object) => stringAt(object, "spec", "signerName") || "<none>",
  ),
  textColumn("Requestor", "The user that made the request.", "spec", "username"),
  column("RequestedDuration", "The lifetime that is asked for.", requestedDuration),
  column("Condition", "What was decided, and whether a certificate was issued.", csrConditionCell),
];

/** Signers write here: the certificate, and conditions other than the decision. */
const status: Subresource = {
  verbs: ["get", "patch", "update"],
  prepareForUpdate: (incoming, stored, context) => {
    const conditions = withConditionTimes(withStoredApprovals(incoming, stored), stored, context.now);
    return withStatus(withoutClaims(incoming, stored), { ...fieldsAt(incoming, "status"), conditions });
  },
  validateUpdate: (next, stored) => [
    ...validateCsrConditions(next),
    ...validateCsrConditionsKept(next, stored),
    ...validateCsrApprovalsUntouched(next, stored),
    ...validateCertificateUpdate(next, stored),
  ],
};

/** Approvers write here: conditions and nothing else. */
const approval: Subresource = {
  verbs: ["get", "patch", "update"],
  prepareForUpdate: (incoming, stored, context) => {
    const conditions = withConditionTimes(fieldListAt(incoming, "status", "conditions"), stored, context.now);
    const unclaimed = withoutClaims(incoming, stored);
    const isFirst = csrDeciderOf(stored) === undefined && !isDecided(stored) && isDecided(incoming);
    const reported = isFirst
      ? withStamps(unclaimed, { ...stampsOf(stored), [deciderAnnotation]: context.user.username })
      : unclaimed;
    return withStatus(reported, { ...fieldsAt(stored, "status"), conditions });
  },
  validateUpdate: (next, stored) => [...validateCsrConditions(next), ...validateCsrConditionsKept(next, stored)],
  table: false,
};

function isDecided(object: ApiObject): boolean {
  return fieldListAt(object, "status", "conditions").some(({ type }) => type === "Approved" || type === "Denied");
}

export const certificateSigningRequests: Resource = builtinKind({
  group: "certificates.k8s.io",
  kind: "CertificateSigningRequest",
  shortNames: ["csr"],
  scope: "Cluster",
  schema: "io.k8s.api.certificates.v1.CertificateSigningRequest",
  columns,
  subresources: { approval, status },
  // A kubelet derives the name from a hash in base64url: upper case, `_` and `-` at the end are all possible.
  names: "path",
  unconditionalUpdate: true,
  serverFields: {
    "f:metadata": { "f:annotations": Object.fromEntries(stampedAnnotations.map((name) => [`f:${name}`, {}])) },
    "f:spec": { "f:username": {}, "f:uid": {}, "f:groups": {}, "f:extra": {} },
  },
  prepareForCreate,
  // No error: a plain update keeps the stored spec and status, so that metadata can be edited.
  prepareForUpdate: (incoming, stored) => withField(withoutClaims(incoming, stored), "status", stored["status"]),
  validate: validateSpec,
  selectableFields: { "spec.signerName": (object) => stringAt(object, "spec", "signerName") },
});

/** A client cannot create a request in another's name, nor an approved one. */
function prepareForCreate(object: ApiObject, context: PrepareContext): ApiObject {
  const { username: _username, uid: _uid, groups: _groups, extra: _extra, ...asked } = fieldsAt(object, "spec");
  const { username, uid, groups, extra } = context.user;
  const spec = {
    ...asked,
    username,
    ...(uid === undefined || uid === "" ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(extra === undefined || Object.keys(extra).length === 0 ? {} : { extra }),
  };
  const address = plainAddress(context.source?.address ?? "");
  return withStamps({ ...object, spec, status: {} }, address === "" ? {} : { [sourceAnnotation]: address });
}

/** The source address of a request, as this API recorded it at creation; on other APIs its author wrote the annotation. */
export function sourceAddressOf(object: ApiObject): string | undefined {
  return stampsOf(object)[sourceAnnotation];
}

/** The approver of a request, as this API recorded it; on other APIs any client may have written the annotation. */
export function csrDeciderOf(object: ApiObject): string | undefined {
  return stampsOf(object)[deciderAnnotation];
}

/** The incoming object with the stored values of the fields that only the server writes, status aside. */
function withoutClaims(incoming: ApiObject, stored: ApiObject): ApiObject {
  return withField(withStamps(incoming, stampsOf(stored)), "spec", stored["spec"]);
}

type Stamps = Readonly<Record<string, string>>;

function stampsOf({ metadata: { annotations = {} } }: ApiObject): Stamps {
  const found = stampedAnnotations.map((name) => [name, annotations[name]] as const);
  return Object.fromEntries(
    found.filter((one): one is [string, string] => typeof one[1] === "string" && one[1] !== ""),
  );
}

/** The object with these annotations and no others of the server; itself where nothing changes. */
function withStamps(object: ApiObject, stamps: Stamps): ApiObject {
  const { annotations = {}, ...metadata } = object.metadata;
  if (stampedAnnotations.every((name) => annotations[name] === stamps[name])) return object;
  const others = Object.entries(annotations).filter(([name]) => !stampedAnnotations.includes(name));
  const next = { ...Object.fromEntries(others), ...stamps };
  return { ...object, metadata: Object.keys(next).length === 0 ? metadata : { ...metadata, annotations: next } };
}

function withStatus(object: ApiObject, fields: Fields): ApiObject {
  const { conditions, ...rest } = fields;
  const none = Array.isArray(conditions) && conditions.length === 0;
  return withField(object, "status", none ? rest : { ...rest, conditions });
}

function validateSpec(object: ApiObject): readonly FieldError[] {
  const signerName = stringAt(object, "spec", "signerName");
  const seconds = numberAt(object, "spec", "expirationSeconds");
  const problem = requestProblem(stringAt(object, "spec", "request"));
  return fieldErrors(
    // The message omits the request itself: it can be large, and the requester has it.
    problem !== undefined && invalid("spec.request", "<certificate request data>", problem),
    validateUsages(stringsAt(object, "spec", "usages")),
    signerName === legacyUnknownSigner
      ? invalid("spec.signerName", signerName, "the legacy signerName is not allowed via this API version")
      : validateSignerName("spec.signerName", signerName),
    seconds !== undefined &&
      seconds < minExpirationSeconds &&
      invalid("spec.expirationSeconds", seconds, "may not specify a duration less than 600 seconds (10 minutes)"),
  );
}

function requestProblem(base64: string): string | undefined {
  try {
    parseCsr(Buffer.from(base64, "base64"));
    return undefined;
  } catch (error) {
    if (error instanceof CsrError) return error.message;
    throw error;
  }
}

function validateUsages(usages: readonly string[]): FieldResult {
  if (usages.length === 0) return required("spec.usages");
  const known = [...usageMeanings.keys()].sort();
  const isRepeated = repetitions();
  return collectErrors(usages, (usage, index) => {
    const path = `spec.usages[${index}]`;
    return [unsupported(path, usage, known), isRepeated(usage) && duplicate(path, usage)];
  });
}

function validateCertificateUpdate(next: ApiObject, stored: ApiObject): readonly FieldError[] {
  const before = stringAt(stored, "status", "certificate");
  const after = stringAt(next, "status", "certificate");
  if (after === before) return [];
  if (before !== "") {
    return [forbiddenField("status.certificate", "updates may not modify existing certificate content")];
  }
  const problem = certificateProblem(Buffer.from(after, "base64").toString("latin1"));
  return problem === undefined ? [] : [invalid("status.certificate", "<certificate data>", problem)];
}

/** Text may surround the blocks, as RFC 7468 section 5.2 allows; the signer alone checks the contents of the certificates. */
function certificateProblem(pem: string): string | undefined {
  let blocks: readonly PemBlock[];
  try {
    blocks = decodePem(pem, { maxLength: maxCertificatePem, surroundingText: "ignore" });
  } catch (error) {
    if (!(error instanceof PemError)) throw error;
    if (error.code === "empty") return "must contain at least one CERTIFICATE PEM block";
    return error.code === "headers" ? "no PEM block headers are permitted" : error.message;
  }
  const other = blocks.find((block) => block.label !== "CERTIFICATE");
  if (other !== undefined) {
    return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(other.label)}`;
  }
  return blocks.every((block) => isCertificate(block.bytes))
    ? undefined
    : "a CERTIFICATE PEM block does not contain a certificate";
}

/** The parser of the hub is ten times faster; a certificate that it rejects may still be a valid one of another signer. */
function isCertificate(der: Uint8Array): boolean {
  return isOurCertificate(der) || isAnyCertificate(der);
}

function isOurCertificate(der: Uint8Array): boolean {
  try {
    parseCertificate(der);
    return true;
  } catch (error) {
    if (error instanceof CertificateError) return false;
    throw error;
  }
}

/** OpenSSL reads the certificate and stops there, so the length reveals bytes that follow. */
function isAnyCertificate(der: Uint8Array): boolean {
  try {
    return new X509Certificate(der).raw.length === der.length;
  } catch {
    return false;
  }
}

function requestedDuration(object: ApiObject): string {
  const seconds = numberAt(object, "spec", "expirationSeconds");
  return seconds === undefined ? "<none>" : humanDuration(seconds * 1000);
}
