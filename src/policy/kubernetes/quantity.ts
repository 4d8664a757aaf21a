import { celFunction, libraryType, type CelFunction } from "../cel/environment.ts";
import { passCost } from "../cel/sizes.ts";
import {
  celDouble,
  celFailure,
  celInt,
  maxInt64,
  minInt64,
  type CelFailure,
  type CelInt,
  type CelOpaque,
  type CelValue,
} from "../cel/values.ts";

/**
 * An exact amount: `value * 10^scale`. `small` means that Kubernetes stores it in 64 bits: only such a quantity can be read as an
 * integer, even where another one has an integral value (`1.5Gi`). Source: apimachinery api/resource Quantity.
 */
export interface Quantity {
  readonly value: bigint;
  readonly scale: number;
  readonly small: boolean;
}

/** A quantity, or why the text is invalid. */
export type ParsedQuantity = { readonly quantity: Quantity } | { readonly problem: string };

const formatProblem = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const suffixProblem = "unable to parse quantity's suffix";
const numberProblem = "unable to parse numeric part of quantity";

/** Longer text is rejected, so that the size of numbers is limited. */
const maxTextCharacters = 256;
const maxExponent = 1_000;
const nano = -9;
/** As many decimal digits as always fit into 64 bits. */
const safeDigits = 18;

interface Suffix {
  readonly base: 2 | 10;
  readonly exponent: number;
}

const suffixes: ReadonlyMap<string, Suffix> = new Map<string, Suffix>([
  ...["n", "u", "m", "", "k", "M", "G", "T", "P", "E"].map(
    (suffix, at) => [suffix, { base: 10, exponent: 3 * at - 9 }] as const,
  ),
  ...["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].map((suffix, at) => [suffix, { base: 2, exponent: 10 * at + 10 }] as const),
]);

interface Parts {
  readonly negative: boolean;
  readonly whole: string;
  readonly fraction: string;
  readonly suffix: Suffix;
}

/** Reads `500m`, `1.5Gi`, `1e3`. Finer than a billionth is rounded up, away from zero. Source: apimachinery resource.ParseQuantity. */
export function parseQuantity(text: string): ParsedQuantity {
  const parts = partsOf(text);
  if (typeof parts === "string") return { problem: parts };
  return { quantity: smallQuantity(parts) ?? decimalQuantity(parts) };
}

/** A quantity of a whole number of 64 bits. */
export function quantityOf(value: bigint): Quantity {
  return { value, scale: 0, small: true };
}

/** -1, 0 or 1, by the exact amounts. */
export function compareQuantities(one: Quantity, other: Quantity): -1 | 0 | 1 {
  const scale = Math.min(one.scale, other.scale);
  return signOf(atScale(one, scale) - atScale(other, scale));
}

/** The exact sum. */
export function addQuantities(one: Quantity, other: Quantity): Quantity {
  if (one.small && other.value === 0n) return other.small ? one : { ...one, small: false };
  if (one.value === 0n && one.small) return other;
  const scale = Math.min(one.scale, other.scale);
  const scaled = [atScale(one, scale), atScale(other, scale)] as const;
  const value = scaled[0] + scaled[1];
  return { value, scale, small: one.small && other.small && [value, ...scaled].every(fits) };
}

/** The exact difference. */
export function subtractQuantities(one: Quantity, other: Quantity): Quantity {
  return addQuantities(one, { ...other, value: -other.value });
}

/** The amount as an integer of 64 bits, or undefined where Kubernetes cannot express it without loss. */
export function quantityInteger({ value, scale, small }: Quantity): bigint | undefined {
  if (!small) return undefined;
  if (value === 0n) return 0n;
  if (scale < 0 || scale > safeDigits) return undefined;
  const whole = value * 10n ** BigInt(scale);
  return fits(whole) ? whole : undefined;
}

/** The amount as the nearest floating point number; infinite where it is out of range. */
export function quantityFloat({ value, scale }: Quantity): number {
  return Number(`${value}e${scale}`);
}

/** -1, 0 or 1. */
export function quantitySign({ value }: Quantity): -1 | 0 | 1 {
  return signOf(value);
}

function partsOf(text: string): Parts | string {
  if (text === "" || text.length > maxTextCharacters) return formatProblem;
  const match = /^([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/.exec(text);
  if (match === null) return formatProblem;
  const [, sign, whole = "", fraction = "", suffixText = ""] = match;
  const suffix = suffixOf(suffixText);
  if (suffix === undefined) return suffixProblem;
  if (whole + fraction === "") return numberProblem;
  return { negative: sign === "-", whole: whole.replace(/^0+/, "") || "0", fraction, suffix };
}

function suffixOf(text: string): Suffix | undefined {
  const known = suffixes.get(text);
  if (known !== undefined) return known;
  const digits = /^[eE]([-+]?[0-9]+)$/.exec(text)?.[1];
  const exponent = digits === undefined ? Number.NaN : Number(digits);
  return Math.abs(exponent) <= maxExponent ? { base: 10, exponent } : undefined;
}

/** The quantity in 64 bits, where Kubernetes uses that form: few digits, and no fraction of a power of two. */
function smallQuantity({ negative, whole, fraction, suffix }: Parts): Quantity | undefined {
  const digits = whole.length + fraction.length;
  const unsigned = BigInt(whole + fraction);
  const signed = negative ? -unsigned : unsigned;
  if (suffix.base === 10) {
    const scale = suffix.exponent - fraction.length;
    return digits <= safeDigits && scale >= nano ? { value: signed, scale, small: true } : undefined;
  }
  const spareDigits = 15 - whole.length - Math.trunc((suffix.exponent * 3) / 10) - 1;
  const value = signed << BigInt(suffix.exponent);
  return fraction === "" && spareDigits >= 0 && fits(value) ? { value, scale: 0, small: true } : undefined;
}

function decimalQuantity({ negative, whole, fraction, suffix }: Parts): Quantity {
  const digits = BigInt(whole + fraction);
  const exact =
    suffix.base === 10
      ? { value: digits, scale: suffix.exponent - fraction.length }
      : { value: digits << BigInt(suffix.exponent), scale: -fraction.length };
  const { value, scale } = cappedBinary(suffix, roundedUp(exact));
  return { value: negative ? -value : value, scale, small: false };
}

type Amount = Pick<Quantity, "value" | "scale">;

function roundedUp({ value, scale }: Amount): Amount {
  if (scale >= nano) return { value, scale };
  const unit = 10n ** BigInt(nano - scale);
  return { value: (value + unit - 1n) / unit, scale: nano };
}

/** Amounts with a suffix of powers of two are capped at 2^63 - 1. */
function cappedBinary(suffix: Suffix, amount: Amount): Amount {
  if (suffix.base === 10 || amount.value <= maxInt64 * 10n ** BigInt(-amount.scale)) return amount;
  return { value: maxInt64, scale: 0 };
}

function atScale({ value, scale }: Quantity, target: number): bigint {
  return value * 10n ** BigInt(scale - target);
}

function fits(value: bigint): boolean {
  return value >= minInt64 && value <= maxInt64;
}

function signOf(value: bigint): -1 | 0 | 1 {
  if (value === 0n) return 0;
  return value < 0n ? -1 : 1;
}

const quantity = libraryType<Quantity>("kubernetes.Quantity", (one, other) => compareQuantities(one, other) === 0);

/** Quantities: `quantity('1.5Gi')` and its functions. Source: apiserver cel/library quantity. */
export const quantityFunctions: readonly CelFunction[] = [
  celFunction(
    "quantity(string): kubernetes.Quantity",
    (text: string) => {
      const parsed = parseQuantity(text);
      return "problem" in parsed ? celFailure(parsed.problem) : quantity.wrap(parsed.quantity);
    },
    passCost,
  ),
  celFunction("isQuantity(string): bool", (text: string) => "quantity" in parseQuantity(text), passCost),
  unary("sign(): int", quantitySign),
  unary("isInteger(): bool", (one) => quantityInteger(one) !== undefined),
  unary("asInteger(): int", (one) => {
    const whole = quantityInteger(one);
    return whole === undefined ? celFailure("cannot convert value to integer") : celInt(whole);
  }),
  unary("asApproximateFloat(): double", (one) => celDouble(quantityFloat(one))),
  ...binary("add", addQuantities),
  ...binary("sub", subtractQuantities),
  comparison("isGreaterThan(kubernetes.Quantity): bool", (order) => order > 0),
  comparison("isLessThan(kubernetes.Quantity): bool", (order) => order < 0),
  comparison("compareTo(kubernetes.Quantity): int", (order) => order),
];

function unary(signature: string, answer: (one: Quantity) => CelValue | CelFailure): CelFunction {
  return celFunction(`<kubernetes.Quantity>.${signature}`, (one: CelOpaque) => answer(quantity.unwrap(one)));
}

function comparison(signature: string, answer: (order: -1 | 0 | 1) => CelValue): CelFunction {
  return celFunction(`<kubernetes.Quantity>.${signature}`, (one: CelOpaque, other: CelOpaque) =>
    answer(compareQuantities(quantity.unwrap(one), quantity.unwrap(other))),
  );
}

function binary(name: string, combine: (one: Quantity, other: Quantity) => Quantity): readonly CelFunction[] {
  return [
    celFunction(
      `<kubernetes.Quantity>.${name}(kubernetes.Quantity): kubernetes.Quantity`,
      (one: CelOpaque, other: CelOpaque) => quantity.wrap(combine(quantity.unwrap(one), quantity.unwrap(other))),
    ),
    celFunction(`<kubernetes.Quantity>.${name}(int): kubernetes.Quantity`, (one: CelOpaque, other: CelInt) =>
      quantity.wrap(combine(quantity.unwrap(one), quantityOf(BigInt(other)))),
    ),
  ];
}
