import type { UserInfo } from "../core/user.ts";
import type { RequestInfo } from "./request-info.ts";

/** What the audit log is told of one request. Nothing in it is a body, a token or a header value but the user agent. */
export interface AuditRecord {
  readonly auditId: string;
  readonly requestUri: string;
  readonly info: RequestInfo;
  readonly user: UserInfo | undefined;
  readonly impersonatedUser: UserInfo | undefined;
  readonly sourceIp: string;
  readonly userAgent: string | undefined;
  readonly receivedAt: number;
  readonly code: number;
  readonly reason: string | undefined;
  readonly message: string | undefined;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Takes one line of JSON with its newline; must not throw and must not block for long. */
export type AuditSink = (line: string) => void;

/** Stages at metadata level: a long-running request is logged when it starts, every request when it is complete. */
export type AuditStage = "ResponseStarted" | "ResponseComplete";

const longestUri = 2048;

/** One audit.k8s.io/v1 Event at level Metadata, as one line. */
export function auditLine(record: AuditRecord, stage: AuditStage, now: number): string {
  const { info, user, impersonatedUser } = record;
  return `${JSON.stringify({
    kind: "Event",
    apiVersion: "audit.k8s.io/v1",
    level: "Metadata",
    auditID: record.auditId,
    stage,
    requestURI: record.requestUri.slice(0, longestUri),
    verb: info.verb,
    user: user === undefined ? {} : shown(user),
    ...(impersonatedUser === undefined ? {} : { impersonatedUser: shown(impersonatedUser) }),
    sourceIPs: [record.sourceIp],
    ...(record.userAgent === undefined ? {} : { userAgent: record.userAgent.slice(0, 1024) }),
    ...(info.isResource ? { objectRef: objectRef(info) } : {}),
    responseStatus: {
      metadata: {},
      ...(record.code < 400 ? {} : { status: "Failure" }),
      ...(record.message === undefined ? {} : { message: record.message }),
      ...(record.reason === undefined ? {} : { reason: record.reason }),
      code: record.code,
    },
    requestReceivedTimestamp: micro(record.receivedAt),
    stageTimestamp: micro(now),
    annotations: record.annotations,
  })}\n`;
}

function shown({ username, uid, groups, extra }: UserInfo): object {
  return { username, ...(uid === undefined ? {} : { uid }), groups, ...(extra === undefined ? {} : { extra }) };
}

function objectRef(info: RequestInfo): object {
  const { resource, namespace, name, group, version, subresource } = info;
  return {
    resource,
    ...(namespace === "" ? {} : { namespace }),
    ...(name === "" ? {} : { name }),
    ...(group === "" ? {} : { apiGroup: group }),
    apiVersion: version,
    ...(subresource === "" ? {} : { subresource }),
  };
}

function micro(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 23)}000Z`;
}
