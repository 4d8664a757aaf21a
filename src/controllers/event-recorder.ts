import { createHash } from "node:crypto";
import type { Client } from "../client/client.ts";
import { rfc3339, type Clock } from "../apimachinery/clock.ts";
import type { OwnerReference } from "../apimachinery/object.ts";
import { isDecision, reasons, type Reason } from "../apimachinery/reasons.ts";
import type { Event } from "../apis/event.ts";
import { hasReason, isTerminating } from "../client/api-errors.ts";
import { events } from "./kinds.ts";
import type { Report } from "./controller.ts";
import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";
import { truncate } from "../apimachinery/truncate.ts";

/**
 * The result for an Event: created or counted up; known already where it is reported once; limited by the budget, or by a namespace that
 * is being deleted or gone; rejected by the API.
 */
export type Recorded =
  | { readonly kind: "written" | "known" | "limited" }
  | { readonly kind: "failed"; readonly error: unknown };

/** The source of the Event, and the client that writes it. */
export interface Recording {
  readonly client: Client;
  readonly controller: string;
  /** Whether the Event is deleted with its object, for reasons why an object waits. Default: it expires. */
  readonly goesWithObject?: boolean;
}

/** Writes an Event about an object; never rejects. */
export type EventRecorder = (by: Recording, report: Report) => Promise<Recorded>;

// The namespace of Events about cluster-scoped objects.
const clusterNamespace = "default";
const maxMessage = 1024;
const maxName = 230;
/** The budget of one source for one object, separate for decisions and marks. Source: client-go tools/record, EventSourceObjectSpamFilter. */
const ofObject = { burst: 25, refillMs: 300_000 };
/** The budget of each reason of each source, so that a flood of others does not displace it. */
const ofReason = { burst: 20, refillMs: 10_000 };
/** The shared budget beyond that. Events expire after an hour, so at most 72,000 are stored, and no mark displaces a decision. */
const shared = { decision: { burst: 500, refillMs: 100 }, mark: { burst: 500, refillMs: 200 } };
const maxRemembered = 4096;

/**
 * Records Events like the recorder of client-go: repetitions are counted in one Event for each object and reason, with the last message;
 * more than 25 of one source about one object are dropped. For all objects together, each reason of each source has a budget of 20 at
 * once and one in 10 seconds; beyond it decisions share 500 at once and 10 a second, marks 500 at once and 5 a second.
 */
export function eventRecorder(clock: Clock): EventRecorder {
  const isWithinBudget = eventBudget(clock);
  const counts = new Map<string, { readonly first: string; readonly count: number }>();

  function counted(name: string, first: string): { readonly first: string; readonly count: number } {
    const before = counts.get(name);
    const next = { first: before?.first ?? first, count: (before?.count ?? 0) + 1 };
    counts.delete(name);
    counts.set(name, next);
    const [oldest] = counts.keys();
    if (counts.size > maxRemembered && oldest !== undefined) counts.delete(oldest);
    return next;
  }

  /** An Event that was not created counts as none, unless it exists already: what was counted meanwhile stays. */
  async function created(client: Client, event: Event, name: string): Promise<Recorded> {
    const recorded = await createEvent(client, event);
    if (recorded.kind !== "written" && !isTaken(recorded)) counts.delete(name);
    return recorded;
  }

  return async ({ client, controller, goesWithObject = false }, report) => {
    const name = eventName(report, controller);
    if (report.once === true && counts.has(name)) return { kind: "known" };
    if (!isWithinBudget(report, controller)) return { kind: "limited" };
    const now = rfc3339(clock.now());
    const { first, count } = counted(name, now);
    const event = eventOf(report, { name, controller, goesWithObject, first, last: now, count });
    if (count === 1) {
      const recorded = await created(client, event, name);
      if (!isTaken(recorded)) return recorded;
      if (report.once === true) return { kind: "known" };
    }
    const patched = await patchEvent(client, event, name);
    if (patched !== undefined) return patched;
    // The Event has expired: create another one.
    counts.delete(name);
    counted(name, now);
    return created(client, { ...event, firstTimestamp: now, count: 1 }, name);
  };
}

function isTaken(recorded: Recorded): boolean {
  return recorded.kind === "failed" && hasReason(recorded.error, "AlreadyExists");
}

async function createEvent(client: Client, event: Event): Promise<Recorded> {
  try {
    await client.create(events, event);
    return { kind: "written" };
  } catch (error) {
    return unwritten(error);
  }
}

/** Counts the stored Event up; undefined where it has expired. */
async function patchEvent(client: Client, event: Event, name: string): Promise<Recorded | undefined> {
  const { metadata, message, lastTimestamp, count } = event;
  try {
    const key = { namespace: metadata.namespace ?? "", name };
    await client.patch(events, key, { message, lastTimestamp, ...(count === 1 ? {} : { count }) });
    return { kind: "written" };
  } catch (error) {
    return hasReason(error, "NotFound") ? undefined : { kind: "failed", error };
  }
}

/** An Event is not written to a namespace that is being deleted, which is no fault. */
function unwritten(error: unknown): Recorded {
  return isTerminating(error) || hasReason(error, "NotFound") ? { kind: "limited" } : { kind: "failed", error };
}

/** Whether one more Event of a source may be written; takes it from the budget. */
function eventBudget(clock: Clock): (report: Report, controller: string) => boolean {
  const allowsObject = tokenBuckets(clock, ofObject, maxRemembered);
  const allowsReason = tokenBuckets(clock, ofReason, maxRemembered);
  const allowsMore = {
    decision: tokenBuckets(clock, shared.decision, 1),
    mark: tokenBuckets(clock, shared.mark, 1),
  };
  return ({ reason, about }, controller) => {
    const weight = isDecision(reason) ? "decision" : "mark";
    if (!allowsObject(JSON.stringify([controller, weight, about.kind, about.uid ?? about.name]))) return false;
    return allowsReason(`${controller} ${reason}`) || allowsMore[weight]("");
  };
}

function eventName({ about, reason }: Report, controller: string): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([about.kind, about.uid, reason, controller]))
    .digest("hex");
  return `${(about.name ?? "").slice(0, maxName)}.${digest.slice(0, 16)}`;
}

function eventOf(
  { reason, about, message }: Report,
  at: {
    readonly name: string;
    readonly controller: string;
    readonly goesWithObject: boolean;
    readonly first: string;
    readonly last: string;
    readonly count: number;
  },
): Event {
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: {
      namespace: about.namespace ?? clusterNamespace,
      name: at.name,
      ...(at.goesWithObject ? { ownerReferences: [ownerOf(about)] } : {}),
    },
    involvedObject: about,
    type: reasons[reason],
    reason,
    message: cutTo(escaped(message), maxMessage),
    source: { component: `pratique-${at.controller}` },
    reportingComponent: `pratique.dev/${at.controller}`,
    firstTimestamp: at.first,
    lastTimestamp: at.last,
    count: at.count,
  };
}

function ownerOf({ apiVersion = "", kind = "", name = "", uid = "" }: Report["about"]): OwnerReference {
  return { apiVersion, kind, name, uid };
}

// Control characters, and those that reverse, join or hide text: untrusted clients choose names.
const unsafe = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Untrusted text on one line; characters that control a terminal or are invisible are written as `\u{1b}`. */
function escaped(text: string): string {
  return text.replaceAll(unsafe, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** At most so many bytes of UTF-8. */
function cutTo(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  return `${Buffer.from(text)
    .subarray(0, maxBytes - 6)
    .toString("utf8")
    .replace(/\uFFFD+$/, "")}…`;
}

/** The burst, and the time until one more is allowed, in milliseconds. */
interface BucketSize {
  readonly burst: number;
  readonly refillMs: number;
}

/** One token bucket for each name, of at most `maxNames`; the least recently used name is dropped first. */
function tokenBuckets(clock: Clock, { burst, refillMs }: BucketSize, maxNames: number): (name: string) => boolean {
  const buckets = new Map<string, { readonly tokens: number; readonly at: number }>();
  return (name) => {
    const now = clock.now();
    const { tokens, at } = buckets.get(name) ?? { tokens: burst, at: now };
    const filled = Math.min(burst, tokens + Math.max(0, now - at) / refillMs);
    const isAllowed = filled >= 1;
    buckets.delete(name);
    buckets.set(name, { tokens: isAllowed ? filled - 1 : filled, at: now });
    const [oldest] = buckets.keys();
    if (buckets.size > maxNames && oldest !== undefined) buckets.delete(oldest);
    return isAllowed;
  };
}

/** The reporting controller, with a client that acts as its account. */
export interface ReporterOptions extends Pick<Recording, "client" | "controller"> {
  readonly record: EventRecorder;
  readonly log: (entry: LogEntry, thrown?: unknown) => void;
  readonly count?: ((controller: string, reason: Reason) => void) | undefined;
}

/** Writes reports; with `goesWithObject` the Event is deleted with its object. */
export type Reporter = (report: Report, goesWithObject?: boolean) => Promise<void>;

/** Writes one log line, one Event and one count for each report; nothing for a `once` report that was written before. Never rejects. */
export function reporter({ controller, client, record, log, count }: ReporterOptions): Reporter {
  let hasFailed = false;
  return async (report, goesWithObject = false) => {
    const { reason, about, message, details = {} } = report;
    const recorded = await record({ client, controller, goesWithObject }, report);
    if (recorded.kind === "known") return;
    count?.(controller, reason);
    const fields = Object.entries(details).map(([name, value]) => [name, shortened(value)] as const);
    const object = shortened(objectText(about));
    log(logEntry(reason, shortened(message), { controller, object, ...Object.fromEntries(fields) }));
    // Logged once until an Event is written again: the log line above has all that the Event would contain.
    if (recorded.kind === "failed" && !hasFailed) {
      const { error } = recorded;
      log(logEntry("EventWriteFailed", "the controller cannot write Events", { controller, error }), error);
    }
    hasFailed = recorded.kind === "failed";
  };
}

function objectText({ kind = "", namespace, name = "" }: Report["about"]): string {
  return namespace === undefined ? `${kind}/${name}` : `${kind}/${namespace}/${name}`;
}

const maxText = 512;

/** Untrusted names and reasons may be long; the log escapes them. */
function shortened<T>(value: T): T | string {
  return typeof value === "string" ? truncate(value, maxText) : value;
}

const maxObstacles = 10_000;

/** Why keys are blocked, so that each reason is reported when it starts and when it changes. */
export interface ObstacleMemory {
  readonly isNew: (key: string, because: Report) => boolean;
  readonly forget: (key: string) => void;
}

/** An empty list; the oldest key is dropped first. */
export function obstacleMemory(): ObstacleMemory {
  const known = new Map<string, string>();
  return {
    isNew: (key, { reason, message }) => {
      const text = `${reason} ${message}`;
      if (known.get(key) === text) return false;
      known.delete(key);
      known.set(key, text);
      const [oldest] = known.keys();
      if (known.size > maxObstacles && oldest !== undefined) known.delete(oldest);
      return true;
    },
    forget: (key) => void known.delete(key),
  };
}
