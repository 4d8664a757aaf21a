import type { RegoNumber } from "./values.ts";

/** The number in its only form: an integer that a double holds exactly is no bigint. */
export function normalNumber(value: RegoNumber): RegoNumber {
  if (typeof value === "number") return value === 0 ? 0 : value;
  return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}

const numberText = /^(-?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,6}))?$/;
/** How many digits an integer may have. */
const maxDigits = 5000;

/** The number that a text in the form of JSON means; undefined when it is beyond all bounds. */
export function numberOf(text: string): RegoNumber | undefined {
  const value = Number(text);
  if (Number.isSafeInteger(value) && !/[.eE]/.test(text)) return value === 0 ? 0 : value;
  const match = numberText.exec(text);
  if (match === null) return undefined;
  const [, sign = "", whole = "", fraction = "", power = "0"] = match;
  const digits = whole + fraction.replace(/0+$/, "");
  const exponent = Number(power) - fraction.replace(/0+$/, "").length;
  if (exponent < 0 && !/0+$/.test(digits)) return Number.isFinite(value) ? normalNumber(value) : undefined;
  return integerOf(digits, exponent, sign) ?? (Number.isFinite(value) ? normalNumber(value) : undefined);
}

/** Digits with so many zeros behind them, or taken away; undefined for no integer, or one too long. */
function integerOf(digits: string, exponent: number, sign: string): RegoNumber | undefined {
  const end = digits.length + exponent;
  if (digits.length > maxDigits || end > maxDigits) return undefined;
  if (exponent < 0 && !/^0*$/.test(digits.slice(Math.max(0, end)))) return undefined;
  const text = exponent < 0 ? digits.slice(0, Math.max(0, end)) : digits + "0".repeat(exponent);
  const value = BigInt(text === "" ? "0" : text);
  return normalNumber(sign === "-" ? -value : value);
}

/** Whether there is nothing behind the point. */
export function isInteger(value: RegoNumber): boolean {
  return typeof value === "bigint" || Number.isInteger(value);
}

/** The integer as a bigint. @throws RangeError when it is none */
export function toBigInt(value: RegoNumber): bigint {
  return BigInt(value);
}

const maxBits = 4096n;

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
  return outcome > 1n << maxBits || -outcome > 1n << maxBits ? undefined : normalNumber(outcome);
}
