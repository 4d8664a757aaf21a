import type { ChainDecision } from "../authorization/chain.ts";
import type { StatusError } from "../apimachinery/status.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import type { AuditDecision } from "./audit/audit-policy.ts";
import type { Classification } from "./flow-control/flow-control.ts";
import type { RequestInfo } from "./request-info.ts";

/** A request's body, for the audit event: parsed already, or bytes of a patch or of DeleteOptions. */
export type ReceivedBody =
  | { readonly value: unknown }
  | { readonly bytes: Buffer; readonly contentType: string | undefined };

/** The object of a request, as far as its path does not name it. */
export interface ObjectNames {
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

/** What is known of a request so far; filled in step by step, read at the end by audit and metrics. */
export interface Progress {
  readonly auditId: string;
  readonly receivedAt: number;
  info: RequestInfo;
  user: UserInfo | undefined;
  impersonated: UserInfo | undefined;
  decision: ChainDecision | undefined;
  /** The decision of the audit policy; undefined before it, and where nothing is recorded. */
  audited: AuditDecision | undefined;
  receivedBody: ReceivedBody | undefined;
  names: ObjectNames | undefined;
  /** Its flow schema and level; undefined until its user is known. */
  classified: Classification | undefined;
  /** How long it has waited for a seat, in milliseconds. */
  waitedMs: number;
  code: number;
  failure: StatusError | undefined;
  /** Whether an internal error was thrown. */
  faulted: boolean;
  warnings: string[] | undefined;
  annotations: Map<string, string> | undefined;
  /** Whether the body was read, or is being read. */
  isBodyTaken: boolean;
  /** Called when the request has ended, with or without success. */
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

/** The progress of a new request. */
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

/** Adds an annotation to the audit event of a request; the first value of a key stays. */
export function addAnnotation(progress: Progress, key: string, value: string): void {
  progress.annotations ??= new Map();
  if (!progress.annotations.has(key)) progress.annotations.set(key, value);
}

/** How many characters all warnings of a reply may take, and each of them once that is exceeded. Source: apiserver pkg/endpoints/filters/warning. */
const allCharacters = 4096;
const eachCharacters = 256;
/** The most Warning headers of a reply: clients bound all headers together, and each takes more than its text. */
const maxHeaders = 100;

/**
 * Adds a warning to a reply, which keeps no more than its headers can show: callers need not count, and one request
 * can cause thousands of warnings.
 */
export function addWarning(texts: string[], text: string): void {
  const kept = text.slice(0, allCharacters + 1);
  if (texts.length < maxHeaders && !texts.includes(kept)) texts.push(kept);
}

/** The values of the Warning headers for some texts: each once, quoted, within the budget. Source: RFC 7234 section 5.5. */
export function warningHeaders(texts: readonly string[]): readonly string[] {
  const unique = [...new Set(texts)].map(oneLine);
  const total = unique.reduce((sum, text) => sum + text.length, 0);
  const cut = total > allCharacters ? unique.map((text) => text.slice(0, eachCharacters)) : unique;
  const headers: string[] = [];
  let left = allCharacters;
  for (const text of cut) {
    left -= text.length;
    if (left < 0 || headers.length === maxHeaders) break;
    headers.push(`299 - "${text.replaceAll(/["\\]/g, (character) => `\\${character}`)}"`);
  }
  return headers;
}

/** Header values contain printable Latin-1 only; everything else becomes a question mark. */
function oneLine(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?");
}

/** The requests under way over time, so that a stall of the event loop can be attributed. */
export interface RequestActivity {
  readonly began: (progress: Progress) => void;
  readonly ended: (progress: Progress, now: number) => void;
  /** Requests that were under way at any time between two moments, in milliseconds since the epoch; those that ended within first, at most five. */
  readonly during: (from: number, to: number) => readonly Progress[];
}

/** How many ended requests are remembered. */
const maxEnded = 64;
const maxNamed = 5;

/** The requests of one port. */
export function requestActivity(): RequestActivity {
  const active = new Set<Progress>();
  const ended: { readonly progress: Progress; readonly at: number }[] = [];
  let next = 0;
  return {
    began: (progress) => void active.add(progress),
    ended: (progress, at) => {
      active.delete(progress);
      ended[next] = { progress, at };
      next = (next + 1) % maxEnded;
    },
    during: (from, to) => {
      const done = ended.filter(({ progress, at }) => at >= from && progress.receivedAt <= to);
      const open = [...active].filter(({ receivedAt, code }) => receivedAt <= to && code === 0);
      return [...done.map(({ progress }) => progress), ...open].slice(0, maxNamed);
    },
  };
}
