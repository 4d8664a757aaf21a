import { isJsonArray } from "../../apimachinery/json-value.ts";
import type { CelFunction } from "./environment.ts";
import { isMap, mapSize } from "./equality.ts";
import { boolType, listType, optionalType, typeParameter } from "./types.ts";
import {
  celFailure,
  celOptional,
  fromJson,
  kindOf,
  type CelDouble,
  type CelDuration,
  type CelFailure,
  type CelOptional,
  type CelUint,
  type CelValue,
} from "./values.ts";

const value = typeParameter("V");
const optional = optionalType(value);

/** Whether a value is what its type has by default: zero, empty, false or null. */
function isZero(given: CelValue): boolean {
  if (given === null || given === false || given === 0 || given === "") return true;
  if (typeof given !== "object") return false;
  if (isJsonArray(given) || given instanceof Uint8Array) return given.length === 0;
  if (isMap(given)) return mapSize(given) === 0;
  switch (kindOf(given)) {
    case "double":
      return (given as CelDouble).value === 0;
    case "uint":
      return (given as CelUint).value === 0n;
    case "duration":
      return (given as CelDuration).nanos === 0n;
    case "optional":
      return (given as CelOptional).value === undefined;
    default:
      return false;
  }
}

function present(list: readonly unknown[]): CelValue | CelFailure {
  const values: CelValue[] = [];
  for (const element of list) {
    if (kindOf(element) !== "optional") return celFailure("no such overload");
    const held = (element as CelOptional).value;
    if (held !== undefined) values.push(held);
  }
  return values;
}

function listEnd(name: string, at: number): CelFunction {
  return {
    name,
    member: true,
    overloads: [
      {
        args: [listType(value)],
        result: optional,
        apply: (list: readonly unknown[]) => celOptional(list.length === 0 ? undefined : fromJson(list.at(at))),
      },
    ],
  };
}

const unwrap = {
  args: [listType(optional)],
  result: listType(value),
  cost: (list: readonly unknown[]) => list.length,
  apply: present,
};

/** Values that may be absent. `or` and `orValue` are compiled by themselves: what they fall back to is evaluated only if needed. */
export const optionalFunctions: readonly CelFunction[] = [
  {
    name: "optional.of",
    overloads: [{ args: [value], result: optional, apply: (given: CelValue) => celOptional(given) }],
  },
  { name: "optional.none", overloads: [{ args: [], result: optional, apply: () => celOptional(undefined) }] },
  {
    name: "optional.ofNonZeroValue",
    overloads: [
      { args: [value], result: optional, apply: (given: CelValue) => celOptional(isZero(given) ? undefined : given) },
    ],
  },
  {
    name: "hasValue",
    member: true,
    overloads: [{ args: [optional], result: boolType, apply: (given: CelOptional) => given.value !== undefined }],
  },
  {
    name: "value",
    member: true,
    overloads: [
      {
        args: [optional],
        result: value,
        apply: (given: CelOptional) =>
          given.value ?? (given.value === null ? null : celFailure("optional.none() dereference")),
      },
    ],
  },
  { name: "or", member: true, overloads: [{ args: [optional, optional], result: optional, apply: () => null }] },
  { name: "orValue", member: true, overloads: [{ args: [optional, value], result: value, apply: () => null }] },
  { name: "optional.unwrap", overloads: [unwrap] },
  { name: "unwrapOpt", member: true, overloads: [unwrap] },
  listEnd("first", 0),
  listEnd("last", -1),
];
