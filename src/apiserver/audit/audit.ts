import { StatusError } from "../../apimachinery/status.ts";
import type { UserInfo } from "../../apimachinery/user.ts";
import { boundedAnnotations, boundedText, boundedUser, maxTextBytes } from "./audit-bounds.ts";
import type { AuditDecision, AuditPolicy, AuditStage } from "./audit-policy.ts";
import type { RequestInfo } from "../request-info.ts";

/** Where events go, and which there are. */
export interface Audit {
  readonly policy: AuditPolicy;
  readonly sink: AuditSink;
  /** Leaves the trace of each decision out, which costs as much as all the rest of an event. */
  readonly omitTrace?: boolean;
}

/** Takes one event as a line of JSON with its newline; must not throw and must not block for long. */
export type AuditSink = (line: string) => void;

/** What is known of an object that a request is about, where its path does not say it. */
export interface ObjectNames {
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

/** What the audit log is told of one request. Nothing in it is a token or a header value but the user agent. */
export interface AuditRecord {
  readonly auditId: string;
  readonly requestUri: string;
  readonly info: RequestInfo;
  readonly user: UserInfo | undefined;
  readonly impersonatedUser: UserInfo | undefined;
  /** Undefined for a write inside the hub. */
  readonly sourceIp: string | undefined;
  readonly userAgent: string | undefined;
  readonly receivedAt: number;
  /** 0 before there is an answer. */
  readonly code: number;
  readonly failure: StatusError | undefined;
  readonly annotations: Readonly<Record<string, string>>;
  readonly object: ObjectNames | undefined;
  /** JSON text on one line. */
  readonly requestObject: string | undefined;
  readonly responseObject: string | undefined;
}

/** On an event of which a part was left out because it was too long. Source: apiserver plugin/pkg/audit/truncate. */
export const truncatedAnnotation = "audit.k8s.io/truncated";

const maxUriBytes = 2048;
/** The messages of refused bodies quote values, and those do not belong into a log that holds no bodies. */
const quotingCodes: ReadonlySet<number> = new Set([400, 422]);

/** One audit.k8s.io/v1 Event, as one line. */
export function auditLine(
  record: AuditRecord,
  at: { readonly stage: AuditStage; readonly decision: AuditDecision; readonly now: number },
): string {
  const { info } = record;
  const [user, impersonated] = [record.user, record.impersonatedUser].map((one) => one && boundedUser(one));
  const annotations = boundedAnnotations(record.annotations);
  const isWhole = user?.isWhole !== false && impersonated?.isWhole !== false && annotations.isWhole;
  const { level } = at.decision;
  const head = JSON.stringify({
    kind: "Event",
    apiVersion: "audit.k8s.io/v1",
    level,
    auditID: record.auditId,
    stage: at.stage,
    requestURI: boundedText(record.requestUri, maxUriBytes),
    verb: boundedText(info.verb, maxTextBytes),
    user: user?.value ?? {},
    ...(impersonated === undefined ? {} : { impersonatedUser: impersonated.value }),
    ...(record.sourceIp === undefined ? {} : { sourceIPs: [record.sourceIp] }),
    ...(record.userAgent === undefined ? {} : { userAgent: boundedText(record.userAgent, maxTextBytes) }),
    ...(info.isResource ? { objectRef: objectRef(info, record.object) } : {}),
    ...(record.code === 0
      ? {}
      : { responseStatus: responseStatus(record, level === "Metadata" ? "no bodies" : "bodies") }),
    requestReceivedTimestamp: micro(record.receivedAt),
    stageTimestamp: micro(at.now),
    annotations: isWhole ? annotations.value : { ...annotations.value, [truncatedAnnotation]: "true" },
  });
  const request = record.requestObject === undefined ? "" : `,"requestObject":${record.requestObject}`;
  const response = record.responseObject === undefined ? "" : `,"responseObject":${record.responseObject}`;
  return `${head.slice(0, -1)}${request}${response}}\n`;
}

function responseStatus({ code, failure }: AuditRecord, with_: "bodies" | "no bodies"): object {
  if (failure === undefined) return { metadata: {}, ...(code < 400 ? {} : { status: "Failure" }), code };
  const quotes = with_ === "no bodies" && quotingCodes.has(failure.code);
  return {
    metadata: {},
    status: "Failure",
    ...(quotes ? {} : { message: boundedText(failure.message, maxTextBytes) }),
    ...(failure.reason === "" ? {} : { reason: failure.reason }),
    ...(quotes || failure.details === undefined || isLong(failure.details) ? {} : { details: failure.details }),
    code,
  };
}

function objectRef(info: RequestInfo, object: ObjectNames | undefined): object {
  const { resource, group, version, subresource } = info;
  const namespace = info.namespace === "" ? object?.namespace : info.namespace;
  const name = info.name === "" ? object?.name : info.name;
  return {
    resource: boundedText(resource, maxTextBytes),
    ...optional("namespace", namespace),
    ...optional("name", name),
    ...optional("uid", object?.uid),
    ...optional("apiGroup", group),
    apiVersion: boundedText(version, maxTextBytes),
    ...optional("resourceVersion", object?.resourceVersion),
    ...optional("subresource", subresource),
  };
}

function optional(field: string, value: string | undefined): Readonly<Record<string, string>> {
  return value === undefined || value === "" ? {} : { [field]: boundedText(value, maxTextBytes) };
}

function isLong(details: object): boolean {
  return JSON.stringify(details).length > maxTextBytes;
}

function micro(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 23)}000Z`;
}
