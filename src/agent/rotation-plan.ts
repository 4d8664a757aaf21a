import { jitteredBackoffMs, type Backoff } from "../client/backoff.ts";
import { pauseAfter } from "./token-renewal-policy.ts";

/** The times of a certificate, in milliseconds since the epoch. */
export interface CertificateTimes {
  readonly notBefore: number;
  readonly notAfter: number;
}

const earliestPart = 0.7;
const spreadPart = 0.2;
const minMs = 1000;

/**
 * When to rotate a certificate: once 70 to 90 % of its life is over; `spread` in [0, 1) says where between. Certificates begin some
 * minutes before they are issued, so one of a few minutes may be past that when it comes: then the same part of what was left at
 * `receivedAt` is used, lest the machine asks without end. @see client-go util/certificate nextRotationDeadline
 */
export function rotationDeadline(
  { notBefore, notAfter }: CertificateTimes,
  { spread, receivedAt }: { readonly spread: number; readonly receivedAt: number | undefined },
): number {
  const part = earliestPart + spreadPart * spread;
  const deadline = Math.floor(notBefore + (notAfter - notBefore) * part);
  if (receivedAt === undefined || deadline > receivedAt) return deadline;
  return Math.floor(receivedAt + Math.max(minMs, (notAfter - receivedAt) * part));
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
export interface FailedRotation {
  /** How many have failed in a row, this one included. */
  readonly count: number;
  /** Whether somebody decided so; else it may pass by itself. */
  readonly decided: boolean;
  /** How long the server asked to be left alone, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** What is left of the life of the certificate in use, in milliseconds; 0 without one. */
  readonly leftMs: number;
  /** In [0, 1). */
  readonly random: number;
}

/** People who said no, or who sleep, are not asked each second. */
const decidedBackoff: Backoff = { initialMs: 120_000, maxMs: 3_600_000 };

/** How long to wait after a failure, in milliseconds: growing pauses, at least as long as the server asked. */
export function rotationPause(failed: FailedRotation): number {
  if (!failed.decided) return pauseAfter(failed);
  return Math.ceil(jitteredBackoffMs(decidedBackoff, failed.count, () => failed.random));
}
