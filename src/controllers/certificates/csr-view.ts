import type { ControllerOptions } from "../shared-informers.ts";
import { CsrError, type CsrContents } from "../../pki/csr.ts";
import type { ApiObject, Condition } from "../../apimachinery/object.ts";
import type { UserInfo } from "../../apimachinery/user.ts";

/** The options of controllers of certificate requests. */
export interface CsrControllerOptions extends ControllerOptions {
  /** Parses the PEM of a request, and verifies its self-signature unless the API did. @throws CsrError */
  readonly parse: (pem: string) => CsrContents;
}

/** The fields of a CertificateSigningRequest that controllers read. Absent texts and lists are empty. */
export interface CsrView {
  readonly signerName: string;
  /** The PEM that the requester sent. */
  readonly request: string;
  readonly usages: readonly string[];
  readonly expirationSeconds: number | undefined;
  /** Its creator, as the server recorded it. */
  readonly requester: UserInfo;
  readonly conditions: readonly Condition[];
  /** PEM, or empty. */
  readonly certificate: string;
}

/** Reads a CertificateSigningRequest as the server stores it. */
export function csrView(object: ApiObject): CsrView {
  const spec = (object["spec"] ?? {}) as RawSpec;
  const status = (object["status"] ?? {}) as RawStatus;
  return {
    signerName: spec.signerName ?? "",
    request: Buffer.from(spec.request ?? "", "base64").toString("latin1"),
    usages: spec.usages ?? [],
    expirationSeconds: spec.expirationSeconds ?? undefined,
    requester: requesterOf(spec),
    conditions: status.conditions ?? [],
    certificate: Buffer.from(status.certificate ?? "", "base64").toString("latin1"),
  };
}

/** The requested certificate, or why it cannot be parsed. */
export function readRequest(parse: (pem: string) => CsrContents, csr: CsrView): CsrContents | string {
  try {
    return parse(csr.request);
  } catch (error) {
    if (error instanceof CsrError) return error.message;
    throw error;
  }
}

/** Whether no approver has decided yet. */
export function isUndecided(csr: CsrView): boolean {
  return csr.certificate === "" && !hasCondition(csr, "Approved") && !hasCondition(csr, "Denied");
}

/** Whether the request has a condition of this type; conditions of requests are always True. */
export function hasCondition(view: CsrView, type: "Approved" | "Denied" | "Failed"): boolean {
  return view.conditions.some((condition) => condition.type === type && condition.status === "True");
}

/** The object with one more condition; the server sets its times. */
export function withCondition(object: ApiObject, condition: Condition): ApiObject {
  const status = object["status"] as RawStatus | undefined;
  return { ...object, status: { ...status, conditions: [...(status?.conditions ?? []), condition] } };
}

/** The object with its conditions replaced. */
export function withConditions(object: ApiObject, conditions: readonly Condition[]): ApiObject {
  return { ...object, status: { ...(object["status"] as RawStatus | undefined), conditions } };
}

/** The object with its certificate, given as PEM. */
export function withCertificate(object: ApiObject, pem: string): ApiObject {
  const status = object["status"] as RawStatus | undefined;
  return { ...object, status: { ...status, certificate: Buffer.from(pem, "latin1").toString("base64") } };
}

function requesterOf(spec: RawSpec): UserInfo {
  return {
    username: spec.username ?? "",
    groups: spec.groups ?? [],
    ...(spec.uid === undefined ? {} : { uid: spec.uid }),
    ...(spec.extra === undefined ? {} : { extra: spec.extra }),
  };
}

interface RawSpec {
  readonly request?: string;
  readonly signerName?: string;
  readonly usages?: readonly string[];
  readonly expirationSeconds?: number;
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

interface RawStatus {
  readonly conditions?: readonly Condition[];
  readonly certificate?: string;
}
