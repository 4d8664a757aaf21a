import type { ChainDecision } from "../authorization/chain.ts";
import type { StatusError } from "../apimachinery/status.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import type { ObjectNames } from "./audit/audit.ts";
import type { AuditDecision } from "./audit/audit-policy.ts";
import type { Classification } from "./flow-control/flow-control.ts";
import type { RequestInfo } from "./request-info.ts";

/** A request's body, for the audit event: parsed already, or bytes of a patch or of DeleteOptions. */
export type ReceivedBody =
  | { readonly value: unknown }
  | { readonly bytes: Buffer; readonly contentType: string | undefined };

/** What is known of a request so far; filled in step by step, read at the end by audit and metrics. */
export interface Progress {
  readonly auditId: string;
  readonly receivedAt: number;
  info: RequestInfo;
  user: UserInfo | undefined;
  impersonated: UserInfo | undefined;
  decision: ChainDecision | undefined;
  /** What the audit policy says; undefined until it was asked, and where nothing is recorded. */
  audited: AuditDecision | undefined;
  receivedBody: ReceivedBody | undefined;
  names: ObjectNames | undefined;
  /** What flow schema and level it belongs to; undefined until its user is known. */
  classified: Classification | undefined;
  /** How long it has waited for a place, in milliseconds. */
  waitedMs: number;
  code: number;
  failure: StatusError | undefined;
  /** Whether something was thrown that is no answer to a client. */
  faulted: boolean;
  warnings: string[] | undefined;
  annotations: Map<string, string> | undefined;
  /** Whether the body was read, or is being read. */
  isBodyTaken: boolean;
  /** Called when the request has ended, whatever its end. */
  whenEnded: (() => void) | undefined;
}

const unread: RequestInfo = {
  isResource: false,
  verb: "",
  path: "",
  group: "",
  version: "",
  namespace: "",
  resource: "",
  subresource: "",
  name: "",
};

/** A request of which nothing was read yet. */
export function newProgress(auditId: string, receivedAt: number): Progress {
  return {
    auditId,
    receivedAt,
    info: unread,
    user: undefined,
    impersonated: undefined,
    decision: undefined,
    classified: undefined,
    audited: undefined,
    receivedBody: undefined,
    names: undefined,
    waitedMs: 0,
    code: 0,
    failure: undefined,
    faulted: false,
    warnings: undefined,
    annotations: undefined,
    isBodyTaken: false,
    whenEnded: undefined,
  };
}
