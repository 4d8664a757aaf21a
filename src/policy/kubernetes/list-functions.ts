import { celFunction, type CelFunction } from "../cel/environment.ts";
import { celEquals, compareValues } from "../cel/equality.ts";
import { charge, occupy, type CelMeter } from "../cel/frame.ts";
import { passCost } from "../cel/sizes.ts";
import {
  boundedInt,
  celDouble,
  celDuration,
  celFailure,
  celUint,
  fromJson,
  isCelFailure,
  kindOf,
  maxInt64,
  minInt64,
  boundedUint,
  type CelDouble,
  type CelDuration,
  type CelFailure,
  type CelInt,
  type CelUint,
  type CelValue,
} from "../cel/values.ts";

type List = readonly unknown[];

/** The types whose values are ordered. */
const ordered = ["int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"];

/** Order, sums, extremes and positions of lists. Source: apiserver cel/library lists. */
export const listFunctions: readonly CelFunction[] = [
  ...ordered.map((type) => overList(`<list(${type})>.isSorted(): bool`, isSorted)),
  ...ordered.map((type) => overList(`<list(${type})>.min(): ${type}`, extreme("min", 1))),
  ...ordered.map((type) => overList(`<list(${type})>.max(): ${type}`, extreme("max", -1))),
  overList("<list(int)>.sum(): int", sumOr(0)),
  overList("<list(uint)>.sum(): uint", sumOr(celUint(0n))),
  overList("<list(double)>.sum(): double", sumOr(celDouble(0))),
  overList("<list(duration)>.sum(): duration", sumOr(celDuration(0n))),
  celFunction("<list(T)>.indexOf(T): int", indexOf, traversalCost),
  celFunction(
    "<list(T)>.lastIndexOf(T): int",
    (list: List, wanted: CelValue, meter: CelMeter) => {
      const found = indexOf(list.toReversed(), wanted, meter);
      return found < 0 ? -1 : list.length - 1 - found;
    },
    traversalCost,
  ),
];

/** Slices, orders and ranges of lists. Source: cel-go ext lists, version 3. */
export const listExtensions: readonly CelFunction[] = [
  celFunction("lists.range(int): list(int)", range),
  celFunction("<list(T)>.reverse(): list(T)", reversed),
  celFunction("<list(T)>.slice(int, int): list(T)", slice),
  celFunction("<list(list(T))>.flatten(): list(T)", (lists: List, meter: CelMeter) => flattened(lists, 1, meter)),
  celFunction("<list(dyn)>.flatten(int): list(dyn)", flattened),
  celFunction("<list(T)>.distinct(): list(T)", distinct),
  celFunction("<list(T)>.sort(): list(T)", (values: List, meter: CelMeter) => sortedBy(values, values, meter)),
  celFunction("<list(T)>.@sortByAssociatedKeys(list(U)): list(T)", sortedBy),
];

/** A function of lists of one declared type; the actual types of the elements are checked at run time. */
function overList(
  signature: string,
  answer: (list: readonly CelValue[], meter: CelMeter) => CelValue | CelFailure,
): CelFunction {
  return celFunction(signature, (list: List, meter: CelMeter) => answer(list.map(fromJson), meter), traversalCost);
}

function indexOf(list: List, wanted: CelValue, meter: CelMeter): number {
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

/** As `compareValues`, with a charge for long texts: a list may contain one text many times, and its length does not cover that. */
function comparedValues(one: CelValue, other: CelValue, meter: CelMeter): number | undefined {
  if (typeof one === "string" && typeof other === "string") charge(meter, (one.length + other.length) >> 9);
  if (one instanceof Uint8Array && other instanceof Uint8Array) charge(meter, (one.length + other.length) >> 9);
  return compareValues(one, other);
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
    return boundedUint((one as CelUint).value + (other as CelUint).value);
  }
  if (kind === "duration") {
    const sum = (one as CelDuration).nanos + (other as CelDuration).nanos;
    return sum < minInt64 || sum > maxInt64 ? celFailure("integer overflow") : celDuration(sum);
  }
  return isInteger(one) && isInteger(other) ? boundedInt(BigInt(one) + BigInt(other)) : noOverload();
}

function noOverload(): CelFailure {
  return celFailure("no such overload");
}

function isInteger(value: CelValue): value is CelInt {
  return typeof value === "number" || typeof value === "bigint";
}

/** Each element costs one, texts by their length. */
function traversalCost(list: List): number {
  return list.reduce<number>((cost, one) => cost + (typeof one === "string" ? passCost(one) : 1), 0);
}

function range(count: CelInt, meter: CelMeter): List {
  const length = Math.max(0, Number(count));
  pay(meter, length);
  return Array.from({ length }, (_, index) => index);
}

function reversed(values: List, meter: CelMeter): List {
  pay(meter, values.length);
  return values.toReversed();
}

function slice(...[values, start, end, meter]: readonly [List, CelInt, CelInt, CelMeter]): List | CelFailure {
  const shown = `cannot slice(${start}, ${end})`;
  if (start < 0 || end < 0) return celFailure(`${shown}, negative indexes not supported`);
  if (start > end) return celFailure(`${shown}, start index must be less than or equal to end index`);
  if (values.length < end) return celFailure(`${shown}, list is length ${values.length}`);
  pay(meter, Number(end) - Number(start));
  return values.slice(Number(start), Number(end));
}

function flattened(values: List, depth: CelInt, meter: CelMeter): List | CelFailure {
  if (depth < 0) return celFailure("level must be non-negative");
  const flat: unknown[] = [];
  const add = (members: List, levels: number): void => {
    pay(meter, members.length);
    for (const member of members) {
      if (levels > 0 && Array.isArray(member)) add(member, levels - 1);
      else flat.push(member);
    }
  };
  add(values, Number(depth));
  return flat;
}

function distinct(values: List, meter: CelMeter): List {
  const seen = new Set<unknown>();
  const unique: unknown[] = [];
  const others: unknown[] = [];
  pay(meter, values.length);
  for (const value of values) {
    if (typeof value === "string" || typeof value === "boolean" || Number.isSafeInteger(value)) {
      if (seen.has(value)) continue;
      seen.add(value);
    } else {
      charge(meter, others.length);
      if (others.some((other) => celEquals(other, value, meter))) continue;
      others.push(value);
    }
    unique.push(value);
  }
  return unique;
}

/** The values in the order of their keys; equal keys keep the order of their values. */
function sortedBy(values: List, keys: List, meter: CelMeter): List | CelFailure {
  pay(meter, values.length * Math.ceil(Math.log2(values.length + 1)));
  const of = keys.map(fromJson);
  const [first] = of;
  const isUniform = of.every((one) => typeof one === typeof first && kindOf(one) === kindOf(first));
  if (!isUniform) return celFailure("list elements must have the same type");
  if (first !== undefined && compareValues(first, first) === undefined) {
    return celFailure("list elements must be comparable");
  }
  const places = values.map((_, index) => index);
  const keyAt = (index: number): CelValue => of[index] ?? null;
  return places
    .sort((one, other) => comparedValues(keyAt(one), keyAt(other), meter) ?? 0)
    .map((index) => values[index]);
}

function pay(meter: CelMeter, size: number): void {
  charge(meter, size);
  occupy(meter, size);
}
