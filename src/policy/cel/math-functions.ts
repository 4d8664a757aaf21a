import { celFunction, type CelFunction } from "./environment.ts";
import { compareNumbers } from "./equality.ts";
import {
  boundedInt,
  celDouble,
  celFailure,
  celInt,
  celUint,
  fromJson,
  type CelDouble,
  type CelFailure,
  type CelInt,
  type CelUint,
  type CelValue,
} from "./values.ts";

const numbers = ["int", "uint", "double"];

/** `sign` is below zero for the least, above for the greatest. */
function extremes(name: "math.greatest" | "math.least", sign: number): readonly CelFunction[] {
  const extreme = (list: readonly unknown[]): CelValue | CelFailure => {
    let best: CelValue | undefined;
    for (const raw of list) {
      const value = fromJson(raw);
      const order = compareNumbers(value, best ?? value);
      if (order === undefined) return celFailure("no such overload");
      if (best === undefined || order * sign > 0) best = value;
    }
    return best ?? celFailure(`${name}(list) argument must not be empty`);
  };
  const ofTwo = (one: CelValue, other: CelValue): CelValue | CelFailure => extreme([one, other]);
  const cost = (list: readonly unknown[]): number => list.length;
  return [
    ...numbers.map((type) => celFunction(`${name}(${type}): ${type}`, (value: CelValue) => value)),
    ...numbers.flatMap((left) =>
      numbers.map((right) => celFunction(`${name}(${left}, ${right}): ${left === right ? left : "dyn"}`, ofTwo)),
    ),
    ...[...numbers, "dyn"].map((type) => celFunction(`${name}(list(${type})): ${type}`, extreme, cost)),
  ];
}

function onDoubles(name: string, compute: (value: number) => number): CelFunction {
  return celFunction(`math.${name}(double): double`, ({ value }: CelDouble) => celDouble(compute(value)));
}

function testOf(name: string, holds: (value: number) => boolean): CelFunction {
  return celFunction(`math.${name}(double): bool`, ({ value }: CelDouble) => holds(value));
}

/** Halves are rounded away from zero. */
function roundAway(value: number): number {
  return Math.sign(value) * Math.round(Math.abs(value));
}

function squareRoot(value: CelInt | CelDouble | CelUint): CelDouble {
  return celDouble(Math.sqrt(Number(typeof value === "object" ? value.value : value)));
}

function bits(name: string, compute: (left: bigint, right: bigint) => bigint): readonly CelFunction[] {
  return [
    celFunction(`math.${name}(int, int): int`, (left: CelInt, right: CelInt) =>
      celInt(BigInt.asIntN(64, compute(BigInt(left), BigInt(right)))),
    ),
    celFunction(`math.${name}(uint, uint): uint`, (left: CelUint, right: CelUint) =>
      celUint(BigInt.asUintN(64, compute(left.value, right.value))),
    ),
  ];
}

function shift(name: string, compute: (value: bigint, by: bigint) => bigint): readonly CelFunction[] {
  const shifted = (value: bigint, offset: CelInt): bigint | CelFailure => {
    if (offset < 0) return celFailure(`math.${name}() negative offset: ${offset}`);
    return offset > 63 ? 0n : BigInt.asUintN(64, compute(value, BigInt(offset)));
  };
  return [
    celFunction(`math.${name}(int, int): int`, (value: CelInt, offset: CelInt) => {
      // A logical shift: the sign does not spread.
      const result = shifted(BigInt.asUintN(64, BigInt(value)), offset);
      return typeof result === "bigint" ? celInt(BigInt.asIntN(64, result)) : result;
    }),
    celFunction(`math.${name}(uint, int): uint`, (value: CelUint, offset: CelInt) => {
      const result = shifted(value.value, offset);
      return typeof result === "bigint" ? celUint(result) : result;
    }),
  ];
}

/** The extension `math`. */
export const mathFunctions: readonly CelFunction[] = [
  ...extremes("math.greatest", 1),
  ...extremes("math.least", -1),
  onDoubles("ceil", Math.ceil),
  onDoubles("floor", Math.floor),
  onDoubles("trunc", Math.trunc),
  onDoubles("round", roundAway),
  testOf("isNaN", Number.isNaN),
  testOf("isInf", (value) => Math.abs(value) === Number.POSITIVE_INFINITY),
  testOf("isFinite", Number.isFinite),
  celFunction("math.abs(int): int", (value: CelInt) => (value < 0 ? boundedInt(-BigInt(value)) : value)),
  celFunction("math.abs(uint): uint", (value: CelUint) => value),
  onDoubles("abs", Math.abs),
  celFunction("math.sign(int): int", (value: CelInt) => (value < 0 ? -1 : value > 0 ? 1 : 0)),
  celFunction("math.sign(uint): uint", ({ value }: CelUint) => celUint(value > 0n ? 1n : 0n)),
  onDoubles("sign", Math.sign),
  ...numbers.map((type) => celFunction(`math.sqrt(${type}): double`, squareRoot)),
  ...bits("bitAnd", (left, right) => left & right),
  ...bits("bitOr", (left, right) => left | right),
  ...bits("bitXor", (left, right) => left ^ right),
  celFunction("math.bitNot(int): int", (value: CelInt) => celInt(~BigInt(value))),
  celFunction("math.bitNot(uint): uint", ({ value }: CelUint) => celUint(BigInt.asUintN(64, ~value))),
  ...shift("bitShiftLeft", (value, by) => value << by),
  ...shift("bitShiftRight", (value, by) => value >> by),
];
