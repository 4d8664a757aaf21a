import { renewalDeadline } from "./rotation-plan.ts";

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
  if (failures !== undefined) {
    const { refusals, lastAt, pauseMs } = failures;
    if (refusals >= maxRefusals || (refusals > 0 && expired)) return { kind: "refused", expired };
    // A clock that was set back would else wait for as long as it was set back.
    return now >= lastAt + pauseMs || now < lastAt ? { kind: "renew" } : { kind: "wait", until: lastAt + pauseMs };
  }
  if (aheadMs === undefined && now < token.issuedAt - tolerableMs) return { kind: "renew" };
  const until = dueAt(view);
  return now >= until ? { kind: "renew" } : { kind: "wait", until };
}

/** When the next token is to be asked for, by this machine's clock. */
export function dueAt({ token, aheadMs = 0, spread }: Pick<RenewalView, "token" | "aheadMs" | "spread">): number {
  return renewalDeadline({ notBefore: token.issuedAt, notAfter: token.expiresAt }, { spread }) + aheadMs;
}
