import type { RegoNumber } from "./values.ts";

/** The number in its only form: an integer that a double holds exactly is no bigint. */
export function normalNumber(value: RegoNumber): RegoNumber {
  if (typeof value === "number") return value === 0 ? 0 : value;
  return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}

const integerText = /^-?\d+$/;

/** The number that a text in the form of JSON means; undefined when a double does not reach so far. */
export function numberOf(text: string): RegoNumber | undefined {
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value === 0 ? 0 : value;
  if (integerText.test(text)) return text.length > 1000 ? undefined : normalNumber(BigInt(text));
  return Number.isFinite(value) ? value : undefined;
}

/** Whether there is nothing behind the point. */
export function isInteger(value: RegoNumber): boolean {
  return typeof value === "bigint" || Number.isInteger(value);
}

/** The integer as a bigint. @throws RangeError when it is none */
export function toBigInt(value: RegoNumber): bigint {
  return BigInt(value);
}

const largestBits = 4096n;

/** An operation that integers do exactly; undefined when the outcome is beyond all bounds. */
export function exact(
  operands: readonly [RegoNumber, RegoNumber],
  onDoubles: (a: number, b: number) => number,
  onIntegers: (a: bigint, b: bigint) => bigint,
): RegoNumber | undefined {
  const [a, b] = operands;
  if (typeof a === "number" && typeof b === "number") {
    const quick = onDoubles(a, b);
    if (Number.isSafeInteger(quick) || !Number.isInteger(a) || !Number.isInteger(b))
      return Number.isFinite(quick) ? normalNumber(quick) : undefined;
  }
  if (!isInteger(a) || !isInteger(b)) return normalNumber(onDoubles(Number(a), Number(b)));
  const outcome = onIntegers(toBigInt(a), toBigInt(b));
  return outcome > 1n << largestBits || -outcome > 1n << largestBits ? undefined : normalNumber(outcome);
}
