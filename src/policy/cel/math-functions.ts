import type { CelFunction, CelOverload } from "./environment.ts";
import { compareNumbers } from "./equality.ts";
import { boolType, doubleType, dynType, intType, listType, uintType, type CelType } from "./types.ts";
import {
  celDouble,
  celFailure,
  celInt,
  celUint,
  fromJson,
  minInt64,
  type CelDouble,
  type CelFailure,
  type CelInt,
  type CelUint,
  type CelValue,
} from "./values.ts";

const numbers: readonly CelType[] = [intType, uintType, doubleType];

/** `sign` is below zero for the least, above for the greatest. */
function extreme(list: readonly unknown[], name: string, sign: number): CelValue | CelFailure {
  let best: CelValue | undefined;
  for (const raw of list) {
    const value = fromJson(raw);
    const order = compareNumbers(value, best ?? value);
    if (order === undefined) return celFailure("no such overload");
    if (best === undefined || order * sign > 0) best = value;
  }
  return best ?? celFailure(`${name}(list) argument must not be empty`);
}

function extremes(name: "math.greatest" | "math.least", sign: number): CelFunction {
  const ofList = (list: readonly unknown[]): CelValue | CelFailure => extreme(list, name, sign);
  const pairs = numbers.flatMap((left) =>
    numbers.map((right): CelOverload => ({
      args: [left, right],
      result: left === right ? left : dynType,
      apply: (one: CelValue, other: CelValue) => extreme([one, other], name, sign),
    })),
  );
  return {
    name,
    overloads: [
      ...numbers.map((type): CelOverload => ({ args: [type], result: type, apply: (value: CelValue) => value })),
      ...pairs,
      ...[...numbers, dynType].map((type): CelOverload => ({
        args: [listType(type)],
        result: type,
        cost: (list: readonly unknown[]) => list.length,
        apply: ofList,
      })),
    ],
  };
}

function onDoubles(name: string, compute: (value: number) => number): CelFunction {
  return {
    name: `math.${name}`,
    overloads: [
      { args: [doubleType], result: doubleType, apply: (value: CelDouble) => celDouble(compute(value.value)) },
    ],
  };
}

function testOf(name: string, holds: (value: number) => boolean): CelFunction {
  return {
    name: `math.${name}`,
    overloads: [{ args: [doubleType], result: boolType, apply: (value: CelDouble) => holds(value.value) }],
  };
}

/** Halves are rounded away from zero. */
function roundAway(value: number): number {
  return Math.sign(value) * Math.round(Math.abs(value));
}

function absolute(value: CelInt): CelInt | CelFailure {
  const magnitude = BigInt(value) < 0n ? -BigInt(value) : BigInt(value);
  return BigInt(value) === minInt64 ? celFailure("integer overflow") : celInt(magnitude);
}

function bits(name: string, compute: (left: bigint, right: bigint) => bigint): CelFunction {
  return {
    name: `math.${name}`,
    overloads: [
      {
        args: [intType, intType],
        result: intType,
        apply: (left: CelInt, right: CelInt) => celInt(BigInt.asIntN(64, compute(BigInt(left), BigInt(right)))),
      },
      {
        args: [uintType, uintType],
        result: uintType,
        apply: (left: CelUint, right: CelUint) => celUint(BigInt.asUintN(64, compute(left.value, right.value))),
      },
    ],
  };
}

function shift(name: string, compute: (value: bigint, by: bigint) => bigint): CelFunction {
  const by = (offset: CelInt): bigint | CelFailure =>
    offset < 0 ? celFailure(`math.${name}() negative offset: ${offset}`) : BigInt(offset);
  return {
    name: `math.${name}`,
    overloads: [
      {
        args: [intType, intType],
        result: intType,
        apply: (value: CelInt, offset: CelInt) => {
          const places = by(offset);
          if (typeof places !== "bigint") return places;
          // The bits are shifted as they are: the sign does not spread.
          const pattern = BigInt.asUintN(64, BigInt(value));
          return places > 63n ? 0 : celInt(BigInt.asIntN(64, compute(pattern, places)));
        },
      },
      {
        args: [uintType, intType],
        result: uintType,
        apply: (value: CelUint, offset: CelInt) => {
          const places = by(offset);
          if (typeof places !== "bigint") return places;
          return celUint(places > 63n ? 0n : BigInt.asUintN(64, compute(value.value, places)));
        },
      },
    ],
  };
}

/** The extension `math`. */
export const mathFunctions: readonly CelFunction[] = [
  extremes("math.greatest", 1),
  extremes("math.least", -1),
  onDoubles("ceil", Math.ceil),
  onDoubles("floor", Math.floor),
  onDoubles("trunc", Math.trunc),
  onDoubles("round", roundAway),
  testOf("isNaN", Number.isNaN),
  testOf("isInf", (value) => Math.abs(value) === Number.POSITIVE_INFINITY),
  testOf("isFinite", Number.isFinite),
  {
    name: "math.abs",
    overloads: [
      { args: [intType], result: intType, apply: absolute },
      { args: [uintType], result: uintType, apply: (value: CelUint) => value },
      { args: [doubleType], result: doubleType, apply: (value: CelDouble) => celDouble(Math.abs(value.value)) },
    ],
  },
  {
    name: "math.sign",
    overloads: [
      { args: [intType], result: intType, apply: (value: CelInt) => (value < 0 ? -1 : value > 0 ? 1 : 0) },
      { args: [uintType], result: uintType, apply: (value: CelUint) => celUint(value.value > 0n ? 1n : 0n) },
      { args: [doubleType], result: doubleType, apply: (value: CelDouble) => celDouble(Math.sign(value.value)) },
    ],
  },
  {
    name: "math.sqrt",
    overloads: numbers.map((type) => ({
      args: [type],
      result: doubleType,
      apply: (value: CelInt | CelDouble | CelUint) =>
        celDouble(Math.sqrt(Number(typeof value === "object" ? value.value : value))),
    })),
  },
  bits("bitAnd", (left, right) => left & right),
  bits("bitOr", (left, right) => left | right),
  bits("bitXor", (left, right) => left ^ right),
  {
    name: "math.bitNot",
    overloads: [
      { args: [intType], result: intType, apply: (value: CelInt) => celInt(~BigInt(value)) },
      { args: [uintType], result: uintType, apply: (value: CelUint) => celUint(BigInt.asUintN(64, ~value.value)) },
    ],
  },
  shift("bitShiftLeft", (value, by) => value << by),
  shift("bitShiftRight", (value, by) => value >> by),
];
