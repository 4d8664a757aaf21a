import type { Lease, LeaseSpec } from "../apis/lease.ts";
import { leases } from "./kinds.ts";
import { getOrUndefined, hasReason } from "../client/api-errors.ts";
import type { Client } from "../client/client.ts";
import type { Clock } from "../apimachinery/clock.ts";
import { logEntry, type Log, type LogEntry } from "../apimachinery/log-entry.ts";
import type { ApiObject } from "../apimachinery/object.ts";

/** Durations of leader election, in milliseconds. */
export interface LeaderTimings {
  /** How long a lease is valid without renewal. */
  readonly leaseMs: number;
  /** How long the leader tries to renew before it steps down; less than `leaseMs`. */
  readonly renewMs: number;
  /** Time between two attempts. */
  readonly retryMs: number;
}

/** Source: client-go's defaults. */
export const leaderTimings: LeaderTimings = { leaseMs: 15_000, renewMs: 10_000, retryMs: 2_000 };

/** The lease as a candidate sees it. */
export interface LeaseView {
  readonly lease: Pick<Lease, "spec"> | undefined;
  /** When this process first saw the present spec of the lease, by its own clock: times written by other processes are not trusted. */
  readonly seenAt: number;
  readonly identity: string;
  readonly now: number;
  readonly leaseMs: number;
}

/** What to do next: write the lease with this spec, or wait while another process holds it. */
export type LeaseStep =
  | { readonly kind: "write"; readonly spec: LeaseSpec }
  | { readonly kind: "wait"; readonly holder: string };

/** Decides whether to take, renew or leave a lease. Source: client-go tools/leaderelection. */
export function leaseStep({ lease, seenAt, identity, now, leaseMs }: LeaseView): LeaseStep {
  const { holderIdentity: holder, leaseDurationSeconds, acquireTime, leaseTransitions } = { ...unheld, ...lease?.spec };
  const term = { holderIdentity: identity, leaseDurationSeconds: leaseMs / 1000, renewTime: microTime(now) };
  if (holder === identity) {
    const since = acquireTime ?? microTime(now);
    return { kind: "write", spec: { ...term, acquireTime: since, leaseTransitions } };
  }
  if (holder !== "" && now < seenAt + Math.max(leaseMs, leaseDurationSeconds * 1000)) return { kind: "wait", holder };
  const transitions = lease === undefined ? 0 : leaseTransitions + 1;
  return { kind: "write", spec: { ...term, acquireTime: microTime(now), leaseTransitions: transitions } };
}

const unheld = { holderIdentity: "", leaseDurationSeconds: 0, leaseTransitions: 0 } satisfies LeaseSpec;

export interface ElectionOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** Returns [0, 1); spreads the attempts of the candidates. */
  readonly random: () => number;
  readonly lease: { readonly namespace: string; readonly name: string };
  /** Different for each process. */
  readonly identity: string;
  readonly timings: LeaderTimings;
  /** Runs while this process leads, until its signal aborts; the lease is released after it has ended. */
  readonly lead: (term: AbortSignal) => Promise<void>;
  readonly log: Log;
  /** Ends the election; a held lease is released. */
  readonly signal: AbortSignal;
}

type Attempt = "held" | "other" | "failed";

/**
 * Runs `lead` whenever this process holds the lease, until `signal` aborts: only one process leads at a time. A leader that cannot
 * renew in time stops before another may start. Rejects with what `lead` rejects with.
 */
export async function leadWhileElected(options: ElectionOptions): Promise<void> {
  const { clock, timings, signal, random, log } = options;
  const attempt = attempts(options);
  try {
    while (!signal.aborted) {
      if ((await attempt.take()) === "held") await term(options, attempt);
      if (!signal.aborted) await clock.sleep(timings.retryMs * (1 + 1.2 * random()), signal);
    }
  } finally {
    await attempt.release().catch((error: unknown) => log(leaseFailure(error)));
  }
}

/** One term as the leader: from acquiring the lease to losing it or to `signal`. */
async function term(options: ElectionOptions, attempt: Attempts): Promise<void> {
  const { clock, timings, signal, log } = options;
  const over = new AbortController();
  const end = (): void => over.abort();
  signal.addEventListener("abort", end);
  if (signal.aborted) end();
  log(logEntry("LeaderElected", "became leader"));
  const work = options.lead(over.signal).finally(end);
  // Its failure is rethrown below; this avoids an unhandled rejection until then.
  work.catch(() => undefined);
  let renewed = clock.now();
  while (!over.signal.aborted) {
    await clock.sleep(timings.retryMs, over.signal);
    if (over.signal.aborted) break;
    const left = renewed + timings.renewMs - clock.now();
    const begun = clock.now();
    const outcome = left <= 0 ? "late" : await within(options, left, attempt.take());
    if (outcome === "held") renewed = begun;
    else if (outcome !== "failed") {
      const why = outcome === "late" ? "the lease was not renewed in time" : "another process holds the lease";
      log(logEntry("LeadershipLost", "lost leadership", { why }));
      end();
    }
  }
  signal.removeEventListener("abort", end);
  await work;
}

async function within({ clock }: ElectionOptions, ms: number, take: Promise<Attempt>): Promise<Attempt | "late"> {
  const done = new AbortController();
  const late = clock.sleep(ms, done.signal).then(() => "late" as const);
  const outcome = await Promise.race([take, late]);
  done.abort();
  return outcome;
}

interface Attempts {
  /** Acquires or renews the lease. Never rejects. */
  take(): Promise<Attempt>;
  /** Releases the lease, if this process holds it. */
  release(): Promise<void>;
}

function attempts(options: ElectionOptions): Attempts {
  const { client, clock, identity, lease: key, timings, log } = options;
  let seen = { text: "", at: 0 };
  let holder = "";

  const look = (): Promise<Lease | undefined> => getOrUndefined<Lease>(client, leases, key);

  function follow(next: string): void {
    if (next !== holder && next !== identity) log(logEntry("LeaderChanged", "new leader elected", { holder: next }));
    holder = next;
  }

  async function tryAcquire(): Promise<Attempt> {
    const lease = await look();
    const text = JSON.stringify(lease?.spec ?? {});
    if (text !== seen.text) seen = { text, at: clock.now() };
    const step = leaseStep({ lease, seenAt: seen.at, identity, now: clock.now(), leaseMs: timings.leaseMs });
    if (step.kind === "wait") {
      follow(step.holder);
      return "other";
    }
    if (lease === undefined) await client.create(leases, leaseObject(key, step.spec));
    else await client.update(leases, { ...lease, ...types, spec: step.spec });
    holder = identity;
    return "held";
  }

  async function take(): Promise<Attempt> {
    try {
      return await tryAcquire();
    } catch (error) {
      // Another process was faster; the next attempt reads its name.
      if (!hasReason(error, "Conflict", "AlreadyExists")) log(leaseFailure(error));
      return "failed";
    }
  }

  async function release(): Promise<void> {
    const lease = await look();
    if (lease?.spec?.holderIdentity !== identity) return;
    const now = microTime(clock.now());
    const { leaseTransitions = 0 } = lease.spec;
    const spec = { leaseDurationSeconds: 1, acquireTime: now, renewTime: now, leaseTransitions };
    await client.update(leases, { ...lease, ...types, spec: { ...spec, holderIdentity: "" } });
  }

  return { take, release };
}

function leaseFailure(error: unknown): LogEntry {
  return logEntry("LeaseUpdateFailed", "cannot acquire or renew the leader lease", { error });
}

const types = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" };

function leaseObject(key: ElectionOptions["lease"], spec: LeaseSpec): ApiObject {
  return { ...types, metadata: { ...key }, spec };
}

/** As the API writes a MicroTime. */
function microTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -1)}000Z`;
}
