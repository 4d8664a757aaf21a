import { RegoError } from "./rego-error.ts";
import { sizeOf, type RegoValue } from "./values.ts";

/** The limits of one evaluation. */
export interface RegoLimits {
  /** Steps: expressions, iterations, and members compared. */
  readonly steps: number;
  /** Characters and members that may be built. */
  readonly room: number;
  readonly timeMs: number;
}

/** Enough for a policy over any SubjectAccessReview: a policy that needs more is broken, or under attack. */
export const usualLimits: RegoLimits = { steps: 2_000_000, room: 8_000_000, timeMs: 1_000 };

/** What remains of the limits of an evaluation. */
export interface Meter {
  steps: number;
  room: number;
  /** The number of steps at which the clock is read next. */
  nextLook: number;
  readonly deadline: number;
  readonly now: () => number;
}

const stepsBetweenLooks = 4096;

/** A new meter; `now` is a clock in milliseconds. */
export function newMeter(limits: RegoLimits, now: () => number): Meter {
  const { steps, room, timeMs } = limits;
  return { steps, room, nextLook: steps - stepsBetweenLooks, deadline: now() + timeMs, now };
}

/** Charges work before it is done. @throws RegoError `eval_cancel_error` when steps or time are used up */
export function charge(meter: Meter, steps: number): void {
  meter.steps -= steps;
  if (meter.steps > meter.nextLook) return;
  if (!(meter.steps >= 0)) throw new RegoError("eval_cancel_error", "the policy takes more steps than it may");
  meter.nextLook = meter.steps - stepsBetweenLooks;
  if (meter.now() > meter.deadline) throw new RegoError("eval_cancel_error", "the policy takes longer than it may");
}

/** Charges the size of a value before it is built. @throws RegoError `eval_cancel_error` when the remaining room is too small */
export function occupy(meter: Meter, size: number): void {
  meter.room -= size;
  if (!(meter.room >= 0)) throw new RegoError("eval_cancel_error", "the policy builds more than it may");
}

/** Charges a look-up by key: a composite is serialized for it. @throws RegoError as `charge` does */
export function chargeKey(meter: Meter, key: RegoValue): void {
  if (typeof key === "object" && key !== null) charge(meter, sizeOf(key));
}
