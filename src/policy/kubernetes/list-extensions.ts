import type { CelFunction } from "../cel/environment.ts";
import { celEquals } from "../cel/equality.ts";
import { charge, occupy, type CelMeter } from "../cel/frame.ts";
import { dynType, intType, listType, optionalType, typeParameter } from "../cel/types.ts";
import {
  celFailure,
  celOptional,
  fromJson,
  kindOf,
  type CelFailure,
  type CelInt,
  type CelValue,
} from "../cel/values.ts";
import { comparedValues, compareValues } from "./list-functions.ts";

type List = readonly unknown[];

const element = typeParameter("T");
const key = typeParameter("U");
const list = listType(element);

/** What makes other lists of lists: parts, orders, ranges. Source: cel-go ext lists, version 3. */
export const listExtensions: readonly CelFunction[] = [
  { name: "lists.range", overloads: [{ args: [intType], result: listType(intType), apply: range }] },
  { name: "reverse", member: true, overloads: [{ args: [list], result: list, apply: reversed }] },
  { name: "slice", member: true, overloads: [{ args: [list, intType, intType], result: list, apply: slice }] },
  {
    name: "flatten",
    member: true,
    overloads: [
      { args: [listType(list)], result: list, apply: (lists: List, meter: CelMeter) => flattened(lists, 1, meter) },
      { args: [listType(dynType), intType], result: listType(dynType), apply: flattened },
    ],
  },
  { name: "distinct", member: true, overloads: [{ args: [list], result: list, apply: distinct }] },
  {
    name: "sort",
    member: true,
    overloads: [
      { args: [list], result: list, apply: (values: List, meter: CelMeter) => sortedBy(values, values, meter) },
    ],
  },
  {
    name: "@sortByAssociatedKeys",
    member: true,
    overloads: [{ args: [list, listType(key)], result: list, apply: sortedBy }],
  },
  {
    name: "first",
    member: true,
    overloads: [{ args: [list], result: optionalType(element), apply: (values: List) => optionalAt(values, 0) }],
  },
  {
    name: "last",
    member: true,
    overloads: [
      { args: [list], result: optionalType(element), apply: (values: List) => optionalAt(values, values.length - 1) },
    ],
  },
];

function range(count: CelInt, meter: CelMeter): List {
  const length = Math.max(0, Number(count));
  pay(meter, length);
  return Array.from({ length }, (_, index) => index);
}

function reversed(values: List, meter: CelMeter): List {
  pay(meter, values.length);
  return values.toReversed();
}

function slice(values: List, start: CelInt, end: CelInt, meter: CelMeter): List | CelFailure {
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
  const kept: unknown[] = [];
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
    kept.push(value);
  }
  return kept;
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

function optionalAt(values: List, index: number): CelValue {
  return celOptional(index < 0 || index >= values.length ? undefined : fromJson(values[index]));
}

function pay(meter: CelMeter, size: number): void {
  charge(meter, size);
  occupy(meter, size);
}
