import { isJsonArray } from "../../apimachinery/json-value.ts";
import { celFunction, type CelFunction } from "./environment.ts";
import { isMap, mapSize } from "./equality.ts";
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

const scalarZeros: ReadonlySet<unknown> = new Set([null, false, 0, ""]);

/** Whether a value is the default of its type: zero, empty, false or null. */
function isZero(given: CelValue): boolean {
  if (typeof given !== "object" || given === null) return scalarZeros.has(given);
  if (isJsonArray(given) || given instanceof Uint8Array) return given.length === 0;
  if (isMap(given)) return mapSize(given) === 0;
  const kind = kindOf(given);
  if (kind === "duration") return (given as CelDuration).nanos === 0n;
  if (kind === "optional") return (given as CelOptional).value === undefined;
  return (kind === "double" || kind === "uint") && Number((given as CelDouble | CelUint).value) === 0;
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

const lengthOf = (list: readonly unknown[]): number => list.length;

function listEnd(name: string, at: number): CelFunction {
  return celFunction(`<list(V)>.${name}(): optional(V)`, (list: readonly unknown[]) =>
    celOptional(list.length === 0 ? undefined : fromJson(list.at(at))),
  );
}

/** Functions of optional values. `or` and `orValue` are compiled separately: their fallback is evaluated only if needed. */
export const optionalFunctions: readonly CelFunction[] = [
  celFunction("optional.of(V): optional(V)", (given: CelValue) => celOptional(given)),
  celFunction("optional.none(): optional(V)", () => celOptional(undefined)),
  celFunction("optional.ofNonZeroValue(V): optional(V)", (given: CelValue) =>
    celOptional(isZero(given) ? undefined : given),
  ),
  celFunction("<optional(V)>.hasValue(): bool", ({ value }: CelOptional) => value !== undefined),
  celFunction("<optional(V)>.value(): V", ({ value }: CelOptional) =>
    value === undefined ? celFailure("optional.none() dereference") : value,
  ),
  celFunction("<optional(V)>.or(optional(V)): optional(V)", () => null),
  celFunction("<optional(V)>.orValue(V): V", () => null),
  celFunction("optional.unwrap(list(optional(V))): list(V)", present, lengthOf),
  celFunction("<list(optional(V))>.unwrapOpt(): list(V)", present, lengthOf),
  listEnd("first", 0),
  listEnd("last", -1),
];
