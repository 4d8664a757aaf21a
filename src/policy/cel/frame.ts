import type { Patterns } from "./patterns.ts";
import type { CelValue } from "./values.ts";

/** The evaluation has done all the work it may. Nothing in an expression absorbs it. */
export class CelLimitError extends Error {
  override readonly name = "CelLimitError";
  constructor() {
    super("operation cancelled: actual cost limit exceeded");
  }
}

/** What an evaluation may still do. A function's `apply` is given it behind its arguments. */
export interface CelMeter {
  /** Cost, in the units of Kubernetes, that may still be spent. */
  budget: number;
  /** How many characters, octets and elements may still be built or compared. */
  room: number;
  /** Regular expressions, compiled once. */
  readonly patterns: Patterns;
  /** Keys of maps and lengths of long texts, which would otherwise be counted anew at every step of a loop; empty at first. */
  readonly counted: Map<unknown, number | readonly CelValue[]>;
}

/** One evaluation as it goes on. */
export interface Frame extends CelMeter {
  /** The variables: first those of the environment that occur in the expression, then those that macros make. */
  readonly slots: (CelValue | undefined)[];
  /** Why the last step that returned undefined did so. */
  error: string;
  /** What raw members became, where that took a copy, and what made it. */
  converted: Map<unknown, { readonly by: unknown; readonly value: CelValue }> | undefined;
}

/** A compiled step: its value, or undefined after it put the reason into the frame. */
export type Step = (frame: Frame) => CelValue | undefined;

/** How many characters, octets and elements one evaluation may build or compare. */
export const maxRoom = 4_000_000;

/** Fails the step. */
export function failStep(frame: Frame, error: string): undefined {
  frame.error = error;
  return undefined;
}

/**
 * Pays for work that is about to be done.
 * @throws CelLimitError when the budget does not cover it
 */
export function charge(meter: CelMeter, cost: number): void {
  meter.budget -= cost;
  if (!(meter.budget >= 0)) throw new CelLimitError();
}

/**
 * Pays for something that is about to be built, by its characters, octets or elements.
 * @throws CelLimitError when there is no room for it
 */
export function occupy(meter: CelMeter, size: number): void {
  meter.room -= size;
  if (!(meter.room >= 0)) throw new CelLimitError();
}
