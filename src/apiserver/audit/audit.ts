import type { UserInfo } from "../../apimachinery/user.ts";
import type { AuditDecision, AuditLevel, AuditPolicy, AuditStage } from "./audit-policy.ts";
import type { ObjectNames, Progress } from "../progress.ts";
import type { RequestInfo } from "../request-info.ts";
import type { TraceStep } from "../../authorization/chain.ts";
import type { ExplainedGrant, PolicyObject } from "../../authorization/explained-grant.ts";
import { truncate } from "../../apimachinery/truncate.ts";

/** The sink of events, and which events are recorded. */
export interface Audit {
  readonly policy: AuditPolicy;
  readonly sink: AuditSink;
  /** Leaves the trace of each decision out, which costs as much as all the rest of an event. */
  readonly omitTrace?: boolean;
}

/** Takes one event as a line of JSON with its newline; must not throw and must not block for long. */
export type AuditSink = (line: string) => void;

/** What an event records besides its request; it contains no token and no header value but the user agent. */
export interface AuditEvent {
  readonly stage: AuditStage;
  readonly decision: AuditDecision;
  readonly now: number;
  readonly requestUri: string;
  /** Undefined for a write inside the hub. */
  readonly sourceIp: string | undefined;
  readonly userAgent: string | undefined;
  readonly annotations: Readonly<Record<string, string>>;
  /** JSON text on one line. */
  readonly requestObject: string | undefined;
  readonly responseObject: string | undefined;
}

type Audited = Pick<
  Progress,
  "auditId" | "info" | "user" | "impersonated" | "receivedAt" | "code" | "failure" | "names"
>;

/** On an event of which a part was left out because it was too long. Source: apiserver plugin/pkg/audit/truncate. */
export const truncatedAnnotation = "audit.k8s.io/truncated";

const maxUriBytes = 2048;
/** The messages of refused bodies quote values, which do not belong in a log without bodies. */
const quotingCodes: ReadonlySet<number> = new Set([400, 422]);

/** One audit.k8s.io/v1 Event, as one line. */
export function auditLine(audited: Audited, event: AuditEvent): string {
  const { auditId, info, receivedAt, names } = audited;
  const { stage, requestUri, sourceIp, userAgent, requestObject, responseObject } = event;
  const { level } = event.decision;
  const [user, impersonated] = [audited.user, audited.impersonated].map((one) => one && boundedUser(one));
  const annotations = boundedAnnotations(event.annotations);
  const isWhole = [user, impersonated, annotations].every((one) => one?.isWhole !== false);
  const head = JSON.stringify({
    kind: "Event",
    apiVersion: "audit.k8s.io/v1",
    level,
    auditID: auditId,
    stage,
    requestURI: boundedText(requestUri, maxUriBytes),
    verb: boundedText(info.verb, maxTextBytes),
    user: user?.value ?? {},
    impersonatedUser: impersonated?.value,
    sourceIPs: sourceIp === undefined ? undefined : [sourceIp],
    userAgent: userAgent === undefined ? undefined : boundedText(userAgent, maxTextBytes),
    objectRef: info.isResource ? objectRef(info, names) : undefined,
    responseStatus: responseStatus(audited, level),
    requestReceivedTimestamp: micro(receivedAt),
    stageTimestamp: micro(event.now),
    annotations: isWhole ? annotations.value : { ...annotations.value, [truncatedAnnotation]: "true" },
  });
  const request = requestObject === undefined ? "" : `,"requestObject":${requestObject}`;
  const response = responseObject === undefined ? "" : `,"responseObject":${responseObject}`;
  return `${head.slice(0, -1)}${request}${response}}\n`;
}

/** Undefined before there is an answer. */
function responseStatus({ code, failure }: Audited, level: AuditLevel): object | undefined {
  if (code === 0) return undefined;
  if (failure === undefined) return { metadata: {}, ...(code < 400 ? {} : { status: "Failure" }), code };
  const isQuoting = level === "Metadata" && quotingCodes.has(failure.code);
  const { message, reason, details } = failure;
  return {
    metadata: {},
    status: "Failure",
    message: isQuoting ? undefined : boundedText(message, maxTextBytes),
    reason: reason === "" ? undefined : reason,
    details: isQuoting || details === undefined || isLong(details) ? undefined : details,
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

/** The most that one text of an event takes as JSON, in bytes. */
export const maxTextBytes = 1024;
/** The most that all groups of a user, all its extra values, and all annotations of an event take as JSON, in bytes. */
const maxGroupsBytes = 16_384;
const maxExtraBytes = 8_192;
const maxAnnotationsBytes = 32_768;
const maxAnnotationBytes = 8_192;

/** What is left of a value in an event, and whether that is all of it. */
export interface Bounded<T> {
  readonly value: T;
  readonly isWhole: boolean;
}

/** The beginning of a text that takes at most `maxBytes` as JSON: no client can fill the log, whichever characters it sends. */
function boundedText(text: string, maxBytes: number): string {
  if (fits(text, maxBytes)) return text;
  let shown = text.slice(0, maxBytes);
  while (shown !== "" && Buffer.byteLength(JSON.stringify(shown)) > maxBytes) {
    shown = shown.slice(0, Math.floor(shown.length / 2));
  }
  return shown;
}

/**
 * A user as an event shows it: the first of the groups and extra values where there are many or long ones, since a token or impersonation
 * headers may hold 64 KiB of them. Fields that are absent stay absent.
 */
function boundedUser({ username, uid, groups, extra }: UserInfo): Bounded<object> {
  const name = boundedText(username, maxTextBytes);
  const id = uid === undefined ? undefined : boundedText(uid, maxTextBytes);
  const shownGroups = boundedList(groups, maxGroupsBytes);
  const shownExtra = extra === undefined ? undefined : boundedExtra(extra);
  return {
    value: {
      username: name,
      ...(id === undefined ? {} : { uid: id }),
      groups: shownGroups.value,
      ...(shownExtra === undefined ? {} : { extra: shownExtra.value }),
    },
    isWhole: name === username && id === uid && shownGroups.isWhole && shownExtra?.isWhole !== false,
  };
}

/** Annotations of an event: the first of them where all take too much, and the beginning of one that is too long. */
function boundedAnnotations(annotations: Readonly<Record<string, string>>): Bounded<Readonly<Record<string, string>>> {
  let [left, isWhole] = [maxAnnotationsBytes, true];
  const shown = Object.entries(annotations).flatMap(([key, text]): readonly (readonly [string, string])[] => {
    const value = boundedText(text, maxAnnotationBytes);
    const size = sizeOf(key) + sizeOf(value);
    if (value !== text || size > left) isWhole = false;
    if (size > left) return [];
    left -= size;
    return [[key, value]];
  });
  return { value: isWhole ? annotations : Object.fromEntries(shown), isWhole };
}

function boundedExtra(extra: NonNullable<UserInfo["extra"]>): Bounded<NonNullable<UserInfo["extra"]>> {
  let [left, isWhole] = [maxExtraBytes, true];
  const shown = Object.entries(extra).flatMap(([key, values]): readonly (readonly [string, readonly string[]])[] => {
    const size = sizeOf(key);
    const kept = boundedList(values, left - size);
    if (!kept.isWhole || size > left) isWhole = false;
    if (size > left || (kept.value.length === 0 && values.length > 0)) return [];
    left -= size + kept.value.reduce((sum, value) => sum + sizeOf(value), 0);
    return [[key, kept.value]];
  });
  return { value: isWhole ? extra : Object.fromEntries(shown), isWhole };
}

/** The first texts that fit; no text is truncated, because the beginning of a group is the name of another one. */
function boundedList(texts: readonly string[], maxBytes: number): Bounded<readonly string[]> {
  let left = maxBytes;
  for (const [at, text] of texts.entries()) {
    left -= sizeOf(text);
    if (left < 0) return { value: texts.slice(0, at), isWhole: false };
  }
  return { value: texts, isWhole: true };
}

/** What a text takes as JSON, with the comma behind it. */
function sizeOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) + 1;
}

function fits(text: string, maxBytes: number): boolean {
  return text.length * maxEscapedBytes <= maxBytes || Buffer.byteLength(JSON.stringify(text)) <= maxBytes;
}

/** What one character takes at most: an escape such as \u0001. */
const maxEscapedBytes = 6;

/** The annotation of an audit event that contains a decision's trace. */
export const traceAnnotation = "authorization.pratique.dev/trace";

/** The longest text of one authorizer that is recorded, in characters, and the longest trace. */
const maxTextCharacters = 256;
const maxTraceCharacters = 4096;

/**
 * A decision's trace as JSON for the audit log: the authorizers called, in order, with verdict, reason, error and time, and the grant that
 * allowed it. At most about 4,000 characters: where it would be more, verdicts alone are kept, of the last authorizers if need be.
 */
export function traceText(trace: readonly TraceStep[]): string {
  const whole = JSON.stringify(trace.map(recorded));
  if (whole.length <= maxTraceCharacters) return whole;
  const verdicts = trace.map(({ name, verdict }) => ({ name: truncate(name, maxTextCharacters), verdict }));
  for (let from = 0; ; from += 1) {
    const text = JSON.stringify(verdicts.slice(from));
    if (text.length <= maxTraceCharacters) return text;
  }
}

function recorded({ name, type, verdict, reason, error, note, grant, ms }: TraceStep): object {
  return {
    name,
    ...(type === undefined || type === name ? {} : { type }),
    verdict,
    ...(reason === "" ? {} : { reason: truncate(reason, maxTextCharacters) }),
    ...(error === undefined ? {} : { error: truncate(error, maxTextCharacters) }),
    ...(note === undefined ? {} : { note }),
    ...(grant === undefined ? {} : grantText(grant)),
    ...(ms === undefined ? {} : { ms: Math.round(ms * 100) / 100 }),
  };
}

function grantText({ binding, role, rule }: ExplainedGrant): object {
  return {
    binding: named(binding),
    role: named(role),
    ...(rule === undefined ? {} : { rule: truncate(rule, maxTextCharacters) }),
  };
}

function named({ kind, namespace, name }: PolicyObject): string {
  return namespace === undefined ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}
