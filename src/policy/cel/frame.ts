import { RE2JS, RE2JSException } from "re2js";
import { celFailure, isCelFailure, type CelValue, type CelFailure } from "./values.ts";

/** The evaluation has used up its limits. Nothing in an expression catches it. */
export class CelLimitError extends Error {
  override readonly name = "CelLimitError";
  constructor() {
    super("operation cancelled: actual cost limit exceeded");
  }
}

/** What remains of the limits of an evaluation. A function's `apply` receives it after its arguments. */
export interface CelMeter {
  /** Remaining cost, in the units of Kubernetes. */
  budget: number;
  /** Remaining number of characters, octets and elements that may be built or compared. */
  room: number;
  /** Cache of compiled regular expressions. */
  readonly patterns: Patterns;
  /** Cache of the keys of maps and the lengths of long texts, so that a loop computes them once; empty at first. */
  readonly counted: Map<unknown, number | readonly CelValue[]>;
}

/** One evaluation in progress. */
export interface Frame extends CelMeter {
  /** The variables: first those of the environment that occur in the expression, then those that macros declare. */
  readonly slots: (CelValue | undefined)[];
  /** The reason why the last step returned undefined. */
  error: string;
  /** Cache of converted raw members that took a copy, by the conversion. */
  converted: Map<unknown, { readonly by: unknown; readonly value: CelValue }> | undefined;
}

/** A compiled step: its value, or undefined after it put the reason into the frame. */
export type Step = (frame: Frame) => CelValue | undefined;

/** Maximum number of characters, octets and elements that one evaluation may build or compare. */
export const maxRoom = 4_000_000;

/** Fails the step. */
export function failStep(frame: Frame, error: string): undefined {
  frame.error = error;
  return undefined;
}

/**
 * Charges work before it is done.
 * @throws CelLimitError when the budget does not cover it
 */
export function charge(meter: CelMeter, cost: number): void {
  meter.budget -= cost;
  if (!(meter.budget >= 0)) throw new CelLimitError();
}

/**
 * Charges the characters, octets or elements of a value before it is built.
 * @throws CelLimitError when the remaining room is too small
 */
export function occupy(meter: CelMeter, size: number): void {
  meter.room -= size;
  if (!(meter.room >= 0)) throw new CelLimitError();
}

/**
 * Compiles regular expressions in RE2's syntax and caches the last few; a failure says what is wrong with one. Compiling takes
 * room, since it may take long.
 * @throws CelLimitError when there is none left
 */
type Patterns = (source: string, meter: CelMeter) => RE2JS | CelFailure;

const maxLength = 2000;
const maxCost = 500_000;
const remembered = 16;

/** Patterns of one expression: cached as long as it exists, at most 16, since a pattern may come from data. */
export function newPatterns(): Patterns {
  const cache = new Map<string, RE2JS | CelFailure>();
  return (source, meter) => {
    const known = cache.get(source);
    if (known !== undefined) return known;
    occupy(meter, compileCost(source));
    const compiled = compilePattern(source);
    if (!isCelFailure(compiled)) occupy(meter, compiled.programSize());
    const [oldest] = cache.keys();
    if (cache.size >= remembered && oldest !== undefined) cache.delete(oldest);
    cache.set(source, compiled);
    return compiled;
  };
}

/** Constructs that make a pattern far slower to compile than its length suggests: classes of Unicode, and letters of either case. */
const classes = /\\[pPx]|[^\p{ASCII}]/u;
const eitherCase = /\(\?[a-zA-Z]*i/;

/** Measured: case folding of a class beyond ASCII takes milliseconds, a class of Unicode a tenth of one. */
function compileCost(source: string): number {
  const dear = classes.test(source);
  return source.length * (dear ? (eitherCase.test(source) ? 2000 : 200) : 20);
}

/** A compiled pattern, or what is wrong with it; at most 2000 characters long, fewer when it is expensive to compile. */
export function compilePattern(source: string): RE2JS | CelFailure {
  if (source.length > maxLength) return celFailure(`error parsing regexp: longer than ${maxLength} characters`);
  if (compileCost(source) > maxCost) return celFailure("error parsing regexp: expression too large");
  try {
    return RE2JS.compile(source);
  } catch (error) {
    if (error instanceof RE2JSException) return celFailure(error.message);
    throw error;
  }
}
