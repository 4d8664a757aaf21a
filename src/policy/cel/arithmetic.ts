import type { CelFunction, CelOverload } from "./environment.ts";
import { durationOf } from "./duration.ts";
import { celEquals, compareBytes, compareNumbers } from "./equality.ts";
import { occupy, type CelMeter } from "./frame.ts";
import { identityOf, joinIdentified } from "./list-identity.ts";
import { passCost } from "./sizes.ts";
import { timestampOf } from "./timestamp.ts";
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
} from "./types.ts";
import {
  celDouble,
  celFailure,
  celInt,
  celUint,
  maxInt64,
  minInt64,
  maxUint64,
  type CelDouble,
  type CelDuration,
  type CelFailure,
  type CelInt,
  type CelTimestamp,
  type CelUint,
  type CelValue,
} from "./values.ts";

function intOf(value: bigint): CelInt | CelFailure {
  return value < minInt64 || value > maxInt64 ? celFailure("integer overflow") : celInt(value);
}

function uintOf(value: bigint): CelUint | CelFailure {
  return value < 0n || value > maxUint64 ? celFailure("unsigned integer overflow") : celUint(value);
}

function onInts(compute: (left: bigint, right: bigint) => bigint): CelOverload {
  return {
    args: [intType, intType],
    result: intType,
    apply: (left: CelInt, right: CelInt) => intOf(compute(BigInt(left), BigInt(right))),
  };
}

function onUints(compute: (left: bigint, right: bigint) => bigint): CelOverload {
  return {
    args: [uintType, uintType],
    result: uintType,
    apply: (left: CelUint, right: CelUint) => uintOf(compute(left.value, right.value)),
  };
}

function onDoubles(compute: (left: number, right: number) => number): CelOverload {
  return {
    args: [doubleType, doubleType],
    result: doubleType,
    apply: (left: CelDouble, right: CelDouble) => celDouble(compute(left.value, right.value)),
  };
}

/** Division by zero fails before it is computed. */
function divided(overload: CelOverload, problem: string): CelOverload {
  const apply = overload.apply as (left: CelValue, right: CelValue) => CelValue | CelFailure;
  return {
    ...overload,
    apply: (left: CelValue, right: CelInt | CelUint) => {
      const divisor = typeof right === "object" ? right.value : BigInt(right);
      return divisor === 0n ? celFailure(problem) : apply(left, right);
    },
  };
}

const element = typeParameter("A");

const addition: CelFunction = {
  name: "_+_",
  overloads: [
    onInts((left, right) => left + right),
    onUints((left, right) => left + right),
    onDoubles((left, right) => left + right),
    {
      args: [stringType, stringType],
      result: stringType,
      cost: (left: string, right: string) => passCost(left) + passCost(right),
      apply: (left: string, right: string, meter: CelMeter) => {
        occupy(meter, left.length + right.length);
        return left + right;
      },
    },
    {
      args: [bytesType, bytesType],
      result: bytesType,
      cost: (left: Uint8Array, right: Uint8Array) => passCost(left) + passCost(right),
      apply: (left: Uint8Array, right: Uint8Array, meter: CelMeter) => {
        occupy(meter, left.length + right.length);
        const joined = new Uint8Array(left.length + right.length);
        joined.set(left);
        joined.set(right, left.length);
        return joined;
      },
    },
    {
      args: [listType(element), listType(element)],
      result: listType(element),
      apply: (left: readonly unknown[], right: readonly unknown[], meter: CelMeter) => {
        occupy(meter, left.length + right.length);
        if (identityOf(left) === undefined) return [...left, ...right];
        return joinIdentified(left, right, (one, other) => celEquals(one, other, meter));
      },
    },
    {
      args: [timestampType, durationType],
      result: timestampType,
      apply: (left: CelTimestamp, right: CelDuration) => timestampOf(left.nanos + right.nanos),
    },
    {
      args: [durationType, timestampType],
      result: timestampType,
      apply: (left: CelDuration, right: CelTimestamp) => timestampOf(left.nanos + right.nanos),
    },
    {
      args: [durationType, durationType],
      result: durationType,
      apply: (left: CelDuration, right: CelDuration) => durationOf(left.nanos + right.nanos),
    },
  ],
};

const subtraction: CelFunction = {
  name: "_-_",
  overloads: [
    onInts((left, right) => left - right),
    onUints((left, right) => left - right),
    onDoubles((left, right) => left - right),
    {
      args: [timestampType, timestampType],
      result: durationType,
      apply: (left: CelTimestamp, right: CelTimestamp) => durationOf(left.nanos - right.nanos),
    },
    {
      args: [timestampType, durationType],
      result: timestampType,
      apply: (left: CelTimestamp, right: CelDuration) => timestampOf(left.nanos - right.nanos),
    },
    {
      args: [durationType, durationType],
      result: durationType,
      apply: (left: CelDuration, right: CelDuration) => durationOf(left.nanos - right.nanos),
    },
  ],
};

const others: readonly CelFunction[] = [
  {
    name: "_*_",
    overloads: [
      onInts((left, right) => left * right),
      onUints((left, right) => left * right),
      onDoubles((left, right) => left * right),
    ],
  },
  {
    name: "_/_",
    overloads: [
      divided(
        onInts((left, right) => left / right),
        "division by zero",
      ),
      divided(
        onUints((left, right) => left / right),
        "division by zero",
      ),
      onDoubles((left, right) => left / right),
    ],
  },
  {
    name: "_%_",
    overloads: [
      divided(
        onInts((left, right) => left % right),
        "modulus by zero",
      ),
      divided(
        onUints((left, right) => left % right),
        "modulus by zero",
      ),
    ],
  },
  {
    name: "-_",
    overloads: [
      { args: [intType], result: intType, apply: (value: CelInt) => intOf(-BigInt(value)) },
      { args: [doubleType], result: doubleType, apply: (value: CelDouble) => celDouble(-value.value) },
      { args: [durationType], result: durationType, apply: (value: CelDuration) => durationOf(-value.nanos) },
    ],
  },
];

/** How two values of one type are ordered: below, at or above zero, NaN for neither. */
type Order = (left: CelValue, right: CelValue) => number;

const numbers: Order = (left, right) => compareNumbers(left, right) ?? Number.NaN;

/** Orders text by code points; UTF-16 units would put astral characters below the private ones. */
const texts: Order = (left, right) => {
  const [one, other] = [left as string, right as string];
  const length = Math.min(one.length, other.length);
  let at = 0;
  while (at < length && one.charCodeAt(at) === other.charCodeAt(at)) at++;
  if (at === length) return one.length - other.length;
  const rank = (unit: number): number => (unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit);
  return rank(one.charCodeAt(at)) - rank(other.charCodeAt(at));
};

const moments: Order = (left, right) => {
  const [one, other] = [(left as CelTimestamp).nanos, (right as CelTimestamp).nanos];
  return one < other ? -1 : one > other ? 1 : 0;
};

const ordered: readonly (readonly [CelType, CelType, Order])[] = [
  ...[intType, uintType, doubleType].flatMap((left) =>
    [intType, uintType, doubleType].map((right): readonly [CelType, CelType, Order] => [left, right, numbers]),
  ),
  [boolType, boolType, (left, right) => Number(left) - Number(right)],
  [stringType, stringType, texts],
  [bytesType, bytesType, (left, right) => compareBytes(left as Uint8Array, right as Uint8Array)],
  [timestampType, timestampType, moments],
  [durationType, durationType, moments],
];

function comparison(name: string, holds: (order: number) => boolean): CelFunction {
  return {
    name,
    overloads: ordered.map(([left, right, order]) => ({
      args: [left, right],
      result: boolType,
      cost: (one: CelValue, other: CelValue) => Math.min(passCost(one), passCost(other)),
      apply: (one: CelValue, other: CelValue) => holds(order(one, other)),
    })),
  };
}

/** `+ - * / %` and `< <= > >=`. */
export const arithmetic: readonly CelFunction[] = [
  addition,
  subtraction,
  ...others,
  comparison("_<_", (order) => order < 0),
  comparison("_<=_", (order) => order <= 0),
  comparison("_>_", (order) => order > 0),
  comparison("_>=_", (order) => order >= 0),
];
