import type { ControllerOptions } from "../shared-informers.ts";
import { CsrError, type CsrContents } from "../../pki/csr.ts";
import type { ApiObject, Condition } from "../../apimachinery/object.ts";
import type { UserInfo } from "../../apimachinery/user.ts";

/** What controllers of certificate requests are given. */
export interface CsrControllerOptions extends ControllerOptions {
  /** Reads the PEM of a request, and verifies that its own key signed it unless the API did. @throws CsrError */
  readonly parse: (pem: string) => CsrContents;
}

/** What the controllers look at in a CertificateSigningRequest. Absent texts and lists are empty. */
export interface CsrView {
  readonly signerName: string;
  /** The PEM that the requester sent. */
  readonly request: string;
  readonly usages: readonly string[];
  readonly expirationSeconds: number | undefined;
  /** Who created it, as the server recorded. */
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

/** What the requester asks to have certified, or why it cannot be read. */
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

/** Whether the request carries a condition of this type; those of requests are only ever True. */
export function hasCondition(view: CsrView, type: "Approved" | "Denied" | "Failed"): boolean {
  return view.conditions.some((condition) => condition.type === type && condition.status === "True");
}

/** The object with one more condition; the server fills in its times. */
export function withCondition(object: ApiObject, condition: Condition): ApiObject {
  const status = object["status"] as RawStatus | undefined;
  return { ...object, status: { ...status, conditions: [...(status?.conditions ?? []), condition] } };
}

/** The object with these conditions in place of its own. */
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
