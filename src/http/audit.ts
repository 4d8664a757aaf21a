import { StatusError } from "../core/status.ts";
import type { UserInfo } from "../core/user.ts";
import type { AuditDecision, AuditPolicy, AuditStage } from "./audit-policy.ts";
import type { RequestInfo } from "./request-info.ts";

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
  readonly sourceIp: string;
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

const maxUriBytes = 2048;
const maxTextBytes = 1024;
/** The messages of refused bodies quote values, and those do not belong into a log that holds no bodies. */
const quotingCodes: ReadonlySet<number> = new Set([400, 422]);

/** One audit.k8s.io/v1 Event, as one line. */
export function auditLine(
  record: AuditRecord,
  at: { readonly stage: AuditStage; readonly decision: AuditDecision; readonly now: number },
): string {
  const { info, user, impersonatedUser } = record;
  const { level } = at.decision;
  const head = JSON.stringify({
    kind: "Event",
    apiVersion: "audit.k8s.io/v1",
    level,
    auditID: record.auditId,
    stage: at.stage,
    requestURI: bounded(record.requestUri, maxUriBytes),
    verb: bounded(info.verb, maxTextBytes),
    user: user === undefined ? {} : shown(user),
    ...(impersonatedUser === undefined ? {} : { impersonatedUser: shown(impersonatedUser) }),
    sourceIPs: [record.sourceIp],
    ...(record.userAgent === undefined ? {} : { userAgent: bounded(record.userAgent, maxTextBytes) }),
    ...(info.isResource ? { objectRef: objectRef(info, record.object) } : {}),
    ...(record.code === 0
      ? {}
      : { responseStatus: responseStatus(record, level === "Metadata" ? "no bodies" : "bodies") }),
    requestReceivedTimestamp: micro(record.receivedAt),
    stageTimestamp: micro(at.now),
    annotations: record.annotations,
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
    ...(quotes ? {} : { message: bounded(failure.message, maxTextBytes) }),
    ...(failure.reason === "" ? {} : { reason: failure.reason }),
    ...(quotes || failure.details === undefined || isLong(failure.details) ? {} : { details: failure.details }),
    code,
  };
}

function shown({ username, uid, groups, extra }: UserInfo): object {
  return { username, ...(uid === undefined ? {} : { uid }), groups, ...(extra === undefined ? {} : { extra }) };
}

function objectRef(info: RequestInfo, object: ObjectNames | undefined): object {
  const { resource, group, version, subresource } = info;
  const namespace = info.namespace === "" ? object?.namespace : info.namespace;
  const name = info.name === "" ? object?.name : info.name;
  return {
    resource: bounded(resource, maxTextBytes),
    ...optional("namespace", namespace),
    ...optional("name", name),
    ...optional("uid", object?.uid),
    ...optional("apiGroup", group),
    apiVersion: bounded(version, maxTextBytes),
    ...optional("resourceVersion", object?.resourceVersion),
    ...optional("subresource", subresource),
  };
}

function optional(field: string, value: string | undefined): Readonly<Record<string, string>> {
  return value === undefined || value === "" ? {} : { [field]: bounded(value, maxTextBytes) };
}

/** The beginning of a text that takes at most so many bytes as JSON: what a client sends fills no log, whatever characters it is made of. */
function bounded(text: string, maxBytes: number): string {
  if (text.length * maxEscapedBytes <= maxBytes || Buffer.byteLength(JSON.stringify(text)) <= maxBytes) return text;
  let shown = text.slice(0, maxBytes);
  while (shown !== "" && Buffer.byteLength(JSON.stringify(shown)) > maxBytes) {
    shown = shown.slice(0, Math.floor(shown.length / 2));
  }
  return shown;
}

/** What one character takes at most: an escape such as \u0001. */
const maxEscapedBytes = 6;

function isLong(details: object): boolean {
  return JSON.stringify(details).length > maxTextBytes;
}

function micro(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 23)}000Z`;
}
