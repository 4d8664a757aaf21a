import { durationOf, timestampOf } from "./time.ts";
import { celFunction, type CelFunction } from "./environment.ts";
import { celEquals, compareValues, identityOf, joinIdentified } from "./equality.ts";
import { occupy, type CelMeter } from "./frame.ts";
import { passCost } from "./sizes.ts";
import {
  boundedInt,
  boundedUint,
  celDouble,
  celFailure,
  type CelDouble,
  type CelDuration,
  type CelFailure,
  type CelInt,
  type CelTimestamp,
  type CelUint,
  type CelValue,
} from "./values.ts";

interface Operation {
  readonly integers: (left: bigint, right: bigint) => bigint;
  readonly doubles?: (left: number, right: number) => number;
  /** The error where the right operand is zero. */
  readonly byZero?: string;
}

/** An operator between two numbers of one type. */
function onNumbers(name: string, { integers, doubles, byZero }: Operation): readonly CelFunction[] {
  const ofIntegers = [
    celFunction(`${name}(int, int): int`, (left: CelInt, right: CelInt) =>
      byZero !== undefined && right === 0 ? celFailure(byZero) : boundedInt(integers(BigInt(left), BigInt(right))),
    ),
    celFunction(`${name}(uint, uint): uint`, (left: CelUint, right: CelUint) =>
      byZero !== undefined && right.value === 0n ? celFailure(byZero) : boundedUint(integers(left.value, right.value)),
    ),
  ];
  if (doubles === undefined) return ofIntegers;
  const onDoubles = (left: CelDouble, right: CelDouble): CelValue => celDouble(doubles(left.value, right.value));
  return [...ofIntegers, celFunction(`${name}(double, double): double`, onDoubles)];
}

const joinCost = (left: string | Uint8Array, right: string | Uint8Array): number => passCost(left) + passCost(right);

function joinTexts(left: string, right: string, meter: CelMeter): string {
  occupy(meter, left.length + right.length);
  return left + right;
}

function joinBytes(left: Uint8Array, right: Uint8Array, meter: CelMeter): Uint8Array {
  occupy(meter, left.length + right.length);
  const joined = new Uint8Array(left.length + right.length);
  joined.set(left);
  joined.set(right, left.length);
  return joined;
}

function joinLists(left: readonly unknown[], right: readonly unknown[], meter: CelMeter): readonly unknown[] {
  occupy(meter, left.length + right.length);
  if (identityOf(left) === undefined) return [...left, ...right];
  return joinIdentified(left, right, (one, other) => celEquals(one, other, meter));
}

type Time = CelTimestamp | CelDuration;
const timestampSum = (left: Time, right: Time): CelValue | CelFailure => timestampOf(left.nanos + right.nanos);
const durationSum = (left: Time, right: Time): CelValue | CelFailure => durationOf(left.nanos + right.nanos);
const timestampDifference = (left: Time, right: Time): CelValue | CelFailure => timestampOf(left.nanos - right.nanos);
const durationDifference = (left: Time, right: Time): CelValue | CelFailure => durationOf(left.nanos - right.nanos);

const numbers = ["int", "uint", "double"];
/** The types whose values are ordered. */
const ordered: readonly string[] = [
  ...numbers.flatMap((left) => numbers.map((right) => `${left}, ${right}`)),
  ...["bool", "string", "bytes", "timestamp", "duration"].map((type) => `${type}, ${type}`),
];

function comparison(name: string, holds: (order: number) => boolean): readonly CelFunction[] {
  const apply = (one: CelValue, other: CelValue): boolean => holds(compareValues(one, other) ?? Number.NaN);
  const cost = (one: CelValue, other: CelValue): number => Math.min(passCost(one), passCost(other));
  return ordered.map((types) => celFunction(`${name}(${types}): bool`, apply, cost));
}

/** `+ - * / %` and `< <= > >=`. */
export const arithmetic: readonly CelFunction[] = [
  ...onNumbers("_+_", { integers: (left, right) => left + right, doubles: (left, right) => left + right }),
  celFunction("_+_(string, string): string", joinTexts, joinCost),
  celFunction("_+_(bytes, bytes): bytes", joinBytes, joinCost),
  celFunction("_+_(list(A), list(A)): list(A)", joinLists),
  celFunction("_+_(timestamp, duration): timestamp", timestampSum),
  celFunction("_+_(duration, timestamp): timestamp", timestampSum),
  celFunction("_+_(duration, duration): duration", durationSum),
  ...onNumbers("_-_", { integers: (left, right) => left - right, doubles: (left, right) => left - right }),
  celFunction("_-_(timestamp, timestamp): duration", durationDifference),
  celFunction("_-_(timestamp, duration): timestamp", timestampDifference),
  celFunction("_-_(duration, duration): duration", durationDifference),
  ...onNumbers("_*_", { integers: (left, right) => left * right, doubles: (left, right) => left * right }),
  ...onNumbers("_/_", {
    integers: (left, right) => left / right,
    doubles: (left, right) => left / right,
    byZero: "division by zero",
  }),
  ...onNumbers("_%_", { integers: (left, right) => left % right, byZero: "modulus by zero" }),
  celFunction("-_(int): int", (value: CelInt) => boundedInt(-BigInt(value))),
  celFunction("-_(double): double", (value: CelDouble) => celDouble(-value.value)),
  celFunction("-_(duration): duration", (value: CelDuration) => durationOf(-value.nanos)),
  ...comparison("_<_", (order) => order < 0),
  ...comparison("_<=_", (order) => order <= 0),
  ...comparison("_>_", (order) => order > 0),
  ...comparison("_>=_", (order) => order >= 0),
];
