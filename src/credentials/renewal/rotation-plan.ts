import { jitteredBackoffMs, type Backoff } from "../../client/backoff.ts";

/** The times of a certificate, in milliseconds since the epoch. */
export interface CertificateTimes {
  readonly notBefore: number;
  readonly notAfter: number;
}

/** The part of its lifetime in which a credential is renewed: from `from` on, spread over `spread` of it. */
export interface RenewalWindow {
  readonly from: number;
  readonly spread: number;
  /** How long a certificate that was received late in its lifetime is used at the least, in milliseconds. */
  readonly minMs: number;
}

/** As a kubelet does: 70 to 90 %. @see client-go util/certificate nextRotationDeadline */
const machineWindow: RenewalWindow = { from: 0.7, spread: 0.2, minMs: 1000 };
/** As an agent of OCM does: 75 to 80 %. @see open-cluster-management.io/ocm pkg/registration/register/csr */
export const clusterWindow: RenewalWindow = { from: 0.8, spread: -0.05, minMs: 0 };

/**
 * When to renew: in the window of its lifetime; `spread` in [0, 1) is the position. Certificates begin some minutes before they are
 * issued, so one of a few minutes may be past that when it is received: then the same part of the remainder at `receivedAt` is used, or
 * the machine would request without end.
 */
export function renewalDeadline(
  { notBefore, notAfter }: CertificateTimes,
  {
    spread,
    receivedAt,
    window = machineWindow,
  }: { readonly spread: number; readonly receivedAt?: number | undefined; readonly window?: RenewalWindow },
): number {
  const part = window.from + window.spread * spread;
  const deadline = Math.floor(notBefore + (notAfter - notBefore) * part);
  if (receivedAt === undefined || deadline > receivedAt) return deadline;
  return Math.floor(receivedAt + Math.max(window.minMs, (notAfter - receivedAt) * part));
}

const maxStartMs = 60_000;

/**
 * How long to wait before a rotation that is overdue when the agent starts, in milliseconds: at most a minute, and at most a tenth of the
 * remaining lifetime. Machines that start together after a power cut would else send their requests together.
 */
export function overdueDelay(leftMs: number, random: number): number {
  return leftMs <= 0 ? 0 : Math.floor(Math.min(maxStartMs, leftMs / 10) * random);
}

/** One rotation that failed. */
export interface FailedRotation extends FailedTry {
  /** Whether an approver or a signer decided so; else it may be temporary. */
  readonly decided: boolean;
}

/** Approvers who denied a request, or are away, get no request each second. */
const decidedBackoff: Backoff = { initialMs: 120_000, maxMs: 3_600_000 };

/** How long to wait after a failure, in milliseconds: growing pauses, at least as long as the server requested. */
export function rotationPause(failed: FailedRotation): number {
  if (!failed.decided) return pauseAfter(failed);
  return Math.ceil(jitteredBackoffMs(decidedBackoff, failed.count, () => failed.random));
}

/** One try that failed. */
export interface FailedTry {
  /** How many have failed in a row, this one included. */
  readonly count: number;
  /** The Retry-After of the server, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** The remaining lifetime of the token, in milliseconds; negative once it has expired. */
  readonly leftMs: number;
  /** In [0, 1). */
  readonly random: number;
}

const passingBackoff: Backoff = { initialMs: 1000, maxMs: 300_000 };
const minPauseMs = 1000;
const maxRetryAfterMs = 3_600_000;

/** How long to wait after a failure, in milliseconds: growing pauses, shorter near the expiry, never shorter than the server requested, at most an hour. */
export function pauseAfter({ count, retryAfterMs = 0, leftMs, random }: FailedTry): number {
  const grown = jitteredBackoffMs(passingBackoff, count, () => random);
  const near = leftMs > 0 ? Math.max(minPauseMs / 2, leftMs / 4) : grown;
  return Math.ceil(Math.max(Math.min(grown, near), Math.min(retryAfterMs, maxRetryAfterMs)));
}

/** The inputs of the decision when to request the next token. Times in milliseconds since the epoch. */
export interface RenewalView {
  /** By the issuer's clock. */
  readonly token: { readonly issuedAt: number; readonly expiresAt: number };
  /** By this machine's clock. */
  readonly now: number;
  /** How far this machine's clock is ahead of the issuer's, negative when behind; undefined where that is not known. */
  readonly aheadMs: number | undefined;
  /** In [0, 1), drawn once for each token: it spreads machines that were started together. */
  readonly spread: number;
  /** The failed tries since the last success. */
  readonly failures: RenewalFailures | undefined;
}

/** The consecutive failures. */
export interface RenewalFailures {
  readonly count: number;
  /** How many of the last failures were rejections of the token itself. */
  readonly refusals: number;
  readonly lastAt: number;
  /** The pause after the last one, from `pauseAfter`. */
  readonly pauseMs: number;
}

/** The next step. */
export type RenewalStep =
  | { readonly kind: "wait"; readonly until: number }
  | { readonly kind: "renew" }
  /** The hub no longer accepts the token; further requests would be of no use. */
  | { readonly kind: "refused"; readonly expired: boolean };

/** A hub that has just started may reject once what it accepts a moment later. */
const maxRefusals = 3;
/** A token from further in the future than this means that this clock is wrong. */
const tolerableMs = 60_000;

/**
 * Decides the next step: request between 70 and 90 % of the token's lifetime, and after failures when their pause is over. An expiry by
 * this clock alone ends nothing, since the clock may be wrong: the hub's rejection does.
 */
export function renewalStep(view: RenewalView): RenewalStep {
  const { token, now, aheadMs, failures } = view;
  const expired = now - (aheadMs ?? 0) >= token.expiresAt;
  if (failures !== undefined) return stepAfter(failures, now, expired);
  if (aheadMs === undefined && now < token.issuedAt - tolerableMs) return { kind: "renew" };
  const until = dueAt(view);
  return now >= until ? { kind: "renew" } : { kind: "wait", until };
}

function stepAfter({ refusals, lastAt, pauseMs }: RenewalFailures, now: number, expired: boolean): RenewalStep {
  if (refusals >= maxRefusals || (refusals > 0 && expired)) return { kind: "refused", expired };
  // A clock that was set back would else prolong the wait by as much.
  return now >= lastAt + pauseMs || now < lastAt ? { kind: "renew" } : { kind: "wait", until: lastAt + pauseMs };
}

/** When to request the next token, by this machine's clock. */
export function dueAt({ token, aheadMs = 0, spread }: Pick<RenewalView, "token" | "aheadMs" | "spread">): number {
  return renewalDeadline({ notBefore: token.issuedAt, notAfter: token.expiresAt }, { spread }) + aheadMs;
}
