import { jitteredBackoffMs, type Backoff } from "../../client/backoff.ts";

/** The times of a certificate, in milliseconds since the epoch. */
export interface CertificateTimes {
  readonly notBefore: number;
  readonly notAfter: number;
}

/** In which part of its life a credential is renewed: from `from` on, spread over `spread` of it. */
export interface RenewalWindow {
  readonly from: number;
  readonly spread: number;
  /** How long a certificate that came late in its life is kept at the least, in milliseconds. */
  readonly minMs: number;
}

/** As a kubelet does: 70 to 90 %. @see client-go util/certificate nextRotationDeadline */
const machineWindow: RenewalWindow = { from: 0.7, spread: 0.2, minMs: 1000 };
/** As an agent of OCM does: 75 to 80 %. @see open-cluster-management.io/ocm pkg/registration/register/csr */
export const clusterWindow: RenewalWindow = { from: 0.8, spread: -0.05, minMs: 0 };

/**
 * When to renew: in the window of its life; `spread` in [0, 1) says where. Certificates begin some minutes before they are issued, so one
 * of a few minutes may be past that when it comes: then the same part of what was left at `receivedAt` is used, lest the machine asks
 * without end.
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
 * life that is left. Machines that come back together after a power cut would else ask together.
 */
export function overdueDelay(leftMs: number, random: number): number {
  return leftMs <= 0 ? 0 : Math.floor(Math.min(maxStartMs, leftMs / 10) * random);
}

/** One rotation that failed. */
export interface FailedRotation extends FailedTry {
  /** Whether somebody decided so; else it may pass by itself. */
  readonly decided: boolean;
}

/** People who said no, or who sleep, are not asked each second. */
const decidedBackoff: Backoff = { initialMs: 120_000, maxMs: 3_600_000 };

/** How long to wait after a failure, in milliseconds: growing pauses, at least as long as the server asked. */
export function rotationPause(failed: FailedRotation): number {
  if (!failed.decided) return pauseAfter(failed);
  return Math.ceil(jitteredBackoffMs(decidedBackoff, failed.count, () => failed.random));
}

/** One try that failed. */
export interface FailedTry {
  /** How many have failed in a row, this one included. */
  readonly count: number;
  /** How long the server asked to be left alone, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** What is left of the token's life, in milliseconds; negative once it is over. */
  readonly leftMs: number;
  /** In [0, 1). */
  readonly random: number;
}

const passingBackoff: Backoff = { initialMs: 1000, maxMs: 300_000 };
const minPauseMs = 1000;
const maxRetryAfterMs = 3_600_000;

/** How long to wait after a failure, in milliseconds: growing pauses, shorter when the end is near, never shorter than the server asked, at most an hour. */
export function pauseAfter({ count, retryAfterMs = 0, leftMs, random }: FailedTry): number {
  const grown = jitteredBackoffMs(passingBackoff, count, () => random);
  const near = leftMs > 0 ? Math.max(minPauseMs / 2, leftMs / 4) : grown;
  return Math.ceil(Math.max(Math.min(grown, near), Math.min(retryAfterMs, maxRetryAfterMs)));
}

/** Everything by which it is decided when to ask for the next token. Times in milliseconds since the epoch. */
export interface RenewalView {
  /** By the clock of whoever issued it. */
  readonly token: { readonly issuedAt: number; readonly expiresAt: number };
  /** By this machine's clock. */
  readonly now: number;
  /** How far this machine's clock is ahead of the issuer's, negative when behind; undefined where nobody knows. */
  readonly aheadMs: number | undefined;
  /** In [0, 1), drawn once for each token: it spreads many machines that were started together. */
  readonly spread: number;
  /** The tries since the last one that succeeded. */
  readonly failures: RenewalFailures | undefined;
}

/** What has failed in a row. */
export interface RenewalFailures {
  readonly count: number;
  /** How many of them in a row were refusals of the token itself. */
  readonly refusals: number;
  readonly lastAt: number;
  /** The pause after the last one, as `pauseAfter` gave it. */
  readonly pauseMs: number;
}

/** What to do now. */
export type RenewalStep =
  | { readonly kind: "wait"; readonly until: number }
  | { readonly kind: "renew" }
  /** The hub does not take the token any more; asking on would be of no use. */
  | { readonly kind: "refused"; readonly expired: boolean };

/** A hub that has just begun may refuse once what it takes a moment later. */
const maxRefusals = 3;
/** A token from further in the future than this means that this clock is wrong. */
const tolerableMs = 60_000;

/**
 * Decides the next step: ask between 70 and 90 % of the token's life, and after failures when their pause is over. That a token has
 * expired by this clock alone ends nothing, since the clock may be wrong: the hub's refusal does.
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
  // A clock that was set back would else wait for as long as it was set back.
  return now >= lastAt + pauseMs || now < lastAt ? { kind: "renew" } : { kind: "wait", until: lastAt + pauseMs };
}

/** When the next token is to be asked for, by this machine's clock. */
export function dueAt({ token, aheadMs = 0, spread }: Pick<RenewalView, "token" | "aheadMs" | "spread">): number {
  return renewalDeadline({ notBefore: token.issuedAt, notAfter: token.expiresAt }, { spread }) + aheadMs;
}
