import { RE2JS, RE2JSException } from "re2js";
import { celFailure, isCelFailure, type CelValue, type CelFailure } from "./values.ts";

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

/**
 * Compiles regular expressions in RE2's syntax, remembering the last few; a failure says what is wrong with one. Compiling takes
 * room, for it may take long.
 * @throws CelLimitError when there is none left
 */
type Patterns = (source: string, meter: CelMeter) => RE2JS | CelFailure;

const maxLength = 2000;
const maxCost = 500_000;
const remembered = 16;

/** Patterns of one expression: kept as long as it is, at most 16 of them, since a pattern may come from data. */
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

/** What makes a pattern take far longer to compile than its length tells: classes of Unicode, and letters of either case. */
const classes = /\\[pPx]|[^\p{ASCII}]/u;
const eitherCase = /\(\?[a-zA-Z]*i/;

/** Measured: case folding of a class beyond ASCII takes milliseconds, a class of Unicode a tenth of one. */
function compileCost(source: string): number {
  const dear = classes.test(source);
  return source.length * (dear ? (eitherCase.test(source) ? 2000 : 200) : 20);
}

/** A pattern compiled, or what is wrong with it; of 2000 characters at most, and fewer when it is dear to compile. */
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
