import type { CelFunction, CelOverload } from "../cel/environment.ts";
import { celEquals, compareBytes, compareNumbers } from "../cel/equality.ts";
import { charge, type CelMeter } from "../cel/frame.ts";
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  intType,
  listType,
  stringType,
  timestampType,
  typeParameter,
  uintType,
  type CelType,
} from "../cel/types.ts";
import {
  celDouble,
  celDuration,
  celFailure,
  celInt,
  celUint,
  fromJson,
  maxInt64,
  minInt64,
  isCelFailure,
  kindOf,
  maxUint64,
  type CelDouble,
  type CelDuration,
  type CelFailure,
  type CelInt,
  type CelUint,
  type CelValue,
} from "../cel/values.ts";
import { textCost } from "./text-cost.ts";

/** The types whose values have an order. */
const ordered: readonly CelType[] = [
  intType,
  uintType,
  doubleType,
  boolType,
  durationType,
  timestampType,
  stringType,
  bytesType,
];

const element = typeParameter("T");

/** What can be asked of lists: order, sums, extremes, places. Source: apiserver cel/library lists. */
export const listFunctions: readonly CelFunction[] = [
  { name: "isSorted", member: true, overloads: ordered.map((type) => overList(type, boolType, isSorted)) },
  { name: "min", member: true, overloads: ordered.map((type) => overList(type, type, extreme("min", 1))) },
  { name: "max", member: true, overloads: ordered.map((type) => overList(type, type, extreme("max", -1))) },
  {
    name: "sum",
    member: true,
    overloads: [
      overList(intType, intType, sumOr(0)),
      overList(uintType, uintType, sumOr(celUint(0n))),
      overList(doubleType, doubleType, sumOr(celDouble(0))),
      overList(durationType, durationType, sumOr(celDuration(0n))),
    ],
  },
  { name: "indexOf", member: true, overloads: [place(indexOf)] },
  {
    name: "lastIndexOf",
    member: true,
    overloads: [
      place((list, wanted, meter) => {
        const found = indexOf(list.toReversed(), wanted, meter);
        return found < 0 ? -1 : list.length - 1 - found;
      }),
    ],
  },
];

/** An overload for lists of one declared type; of what type the elements are in truth is seen when they are met. */
function overList(
  of: CelType,
  result: CelType,
  answer: (list: readonly CelValue[], meter: CelMeter) => CelValue | CelFailure,
): CelOverload {
  const apply = (list: readonly unknown[], meter: CelMeter): CelValue | CelFailure => answer(list.map(fromJson), meter);
  return { args: [listType(of)], result, cost: traversalCost, apply };
}

function place(answer: (list: readonly unknown[], wanted: CelValue, meter: CelMeter) => number): CelOverload {
  return { args: [listType(element), element], result: intType, cost: traversalCost, apply: answer };
}

function indexOf(list: readonly unknown[], wanted: CelValue, meter: CelMeter): number {
  return list.findIndex((one) => celEquals(one, wanted, meter));
}

function isSorted(list: readonly CelValue[], meter: CelMeter): CelValue | CelFailure {
  for (const [index, value] of list.entries()) {
    const order = comparedValues(index === 0 ? value : (list[index - 1] ?? null), value, meter);
    if (order === undefined) return noOverload();
    if (order > 0) return false;
  }
  return true;
}

/** The first of the least values for a `sign` of 1, of the greatest for -1. */
function extreme(name: string, sign: 1 | -1): (list: readonly CelValue[], meter: CelMeter) => CelValue | CelFailure {
  return (list, meter) => {
    let best = list[0];
    if (best === undefined) return celFailure(`${name} called on empty list`);
    for (const value of list) {
      const order = comparedValues(best, value, meter);
      if (order === undefined) return noOverload();
      if (order * sign > 0) best = value;
    }
    return best;
  };
}

/** As `compareValues`, and long texts are paid for: a list may hold one of them many times, and is not paid for by its length alone. */
export function comparedValues(one: CelValue, other: CelValue, meter: CelMeter): number | undefined {
  if (typeof one === "string" && typeof other === "string") charge(meter, (one.length + other.length) >> 9);
  if (one instanceof Uint8Array && other instanceof Uint8Array) charge(meter, (one.length + other.length) >> 9);
  return compareValues(one, other);
}

/** The order of two values: below, at or above zero; NaN beside a value that is not a number; undefined for values of which there is no order. */
export function compareValues(one: CelValue, other: CelValue): number | undefined {
  if (typeof one === "string" && typeof other === "string") return Buffer.compare(Buffer.from(one), Buffer.from(other));
  if (typeof one === "boolean" && typeof other === "boolean") return Number(one) - Number(other);
  if (one instanceof Uint8Array && other instanceof Uint8Array) return compareBytes(one, other);
  const kind = kindOf(one);
  if ((kind !== "duration" && kind !== "timestamp") || kind !== kindOf(other)) return compareNumbers(one, other);
  const [left, right] = [(one as CelDuration).nanos, (other as CelDuration).nanos];
  return left < right ? -1 : Number(left > right);
}

/** The sum of a list; of an empty one, `zero`. */
function sumOr(zero: CelValue): (list: readonly CelValue[]) => CelValue | CelFailure {
  return ([first, ...rest]) => {
    let sum: CelValue | CelFailure = first ?? zero;
    if (!isInteger(sum) && !["uint", "double", "duration"].includes(kindOf(sum) ?? "")) return noOverload();
    for (const value of rest) {
      sum = added(sum, value);
      if (isCelFailure(sum)) return sum;
    }
    return sum;
  };
}

function added(one: CelValue, other: CelValue): CelValue | CelFailure {
  const kind = kindOf(one);
  if (kind !== kindOf(other)) return noOverload();
  if (kind === "double") return celDouble((one as CelDouble).value + (other as CelDouble).value);
  if (kind === "uint") {
    const sum = (one as CelUint).value + (other as CelUint).value;
    return sum > maxUint64 ? celFailure("unsigned integer overflow") : celUint(sum);
  }
  if (kind === "duration") {
    const sum = (one as CelDuration).nanos + (other as CelDuration).nanos;
    return fits(sum) ? celDuration(sum) : celFailure("integer overflow");
  }
  if (!isInteger(one) || !isInteger(other)) return noOverload();
  const sum = BigInt(one) + BigInt(other);
  return fits(sum) ? celInt(sum) : celFailure("integer overflow");
}

function noOverload(): CelFailure {
  return celFailure("no such overload");
}

function isInteger(value: CelValue): value is CelInt {
  return typeof value === "number" || typeof value === "bigint";
}

function fits(value: bigint): boolean {
  return value >= minInt64 && value <= maxInt64;
}

/** Each element costs one, texts by their length. */
function traversalCost(list: readonly unknown[]): number {
  return list.reduce<number>((cost, one) => cost + (typeof one === "string" ? textCost(one) : 1), 0);
}
