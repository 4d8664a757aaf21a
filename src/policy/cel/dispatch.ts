import { isJsonArray } from "../../apimachinery/json-value.ts";
import type { CelFunction } from "./environment.ts";
import { isMap } from "./equality.ts";
import { charge, failStep, type Frame, type Step } from "./frame.ts";
import type { CelType } from "./types.ts";
import { isCelFailure, kindOf, type CelFailure, type CelValue } from "./values.ts";

type Test = (value: CelValue) => boolean;

/** Whether a value is accepted for a kind of type; of lists and maps only the outermost type is checked. */
const tests: Readonly<Record<Exclude<CelType["kind"], "opaque">, Test>> = {
  dyn: () => true,
  parameter: () => true,
  null: (value) => value === null,
  bool: (value) => typeof value === "boolean",
  int: (value) => typeof value === "number" || typeof value === "bigint",
  string: (value) => typeof value === "string",
  bytes: (value) => value instanceof Uint8Array,
  list: isJsonArray,
  map: isMap,
  object: isMap,
  uint: (value) => kindOf(value) === "uint",
  double: (value) => kindOf(value) === "double",
  timestamp: (value) => kindOf(value) === "timestamp",
  duration: (value) => kindOf(value) === "duration",
  type: (value) => kindOf(value) === "type",
  optional: (value) => kindOf(value) === "optional",
};

function testFor(type: CelType): Test {
  if (type.kind !== "opaque") return tests[type.kind];
  return (value) => kindOf(value) === "opaque" && (value as { readonly name: string }).name === type.name;
}

interface Candidate {
  readonly tests: readonly Test[];
  readonly apply: (...args: unknown[]) => CelValue | CelFailure;
  readonly cost: ((...args: unknown[]) => number) | undefined;
}

function candidatesOf(overloads: readonly CelFunction[]): readonly Candidate[] {
  return overloads.map((overload) => ({
    tests: overload.args.map(testFor),
    apply: overload.apply as Candidate["apply"],
    cost: overload.cost as Candidate["cost"],
  }));
}

/** The call of the first overload that fits the arguments at run time. An argument that fails makes the call fail. */
export function dispatch(overloads: readonly CelFunction[], args: readonly Step[]): Step {
  const [first, second] = args;
  if (first !== undefined && args.length === 1) return unary(candidatesOf(overloads), first);
  if (first === undefined || second === undefined || args.length !== 2) return several(candidatesOf(overloads), args);
  const call = binaryCall(overloads);
  return (frame) => {
    const left = first(frame);
    if (left === undefined) return undefined;
    const right = second(frame);
    return right === undefined ? undefined : call(frame, left, right);
  };
}

function several(candidates: readonly Candidate[], args: readonly Step[]): Step {
  return (frame) => {
    const values: CelValue[] = [];
    for (const step of args) {
      const value = step(frame);
      if (value === undefined) return undefined;
      values.push(value);
    }
    const found = candidates.find((candidate) => values.every((value, at) => candidate.tests[at]?.(value)));
    if (found === undefined) return failStep(frame, "no such overload");
    charge(frame, found.cost?.(...values) ?? 1);
    return outcome(frame, found.apply(...values, frame));
  };
}

function unary(candidates: readonly Candidate[], first: Step): Step {
  return (frame) => {
    const value = first(frame);
    if (value === undefined) return undefined;
    for (const { tests, apply, cost } of candidates) {
      if (tests[0]?.(value) !== true) continue;
      charge(frame, cost === undefined ? 1 : cost(value));
      return outcome(frame, apply(value, frame));
    }
    return failStep(frame, "no such overload");
  };
}

/** A call of overloads with two known values. */
export type BinaryCall = (frame: Frame, left: CelValue, right: CelValue) => CelValue | undefined;

/** The call of whichever overload of two arguments fits. */
export function binaryCall(overloads: readonly CelFunction[]): BinaryCall {
  const candidates = candidatesOf(overloads);
  return (frame, left, right) => {
    for (const { tests, apply, cost } of candidates) {
      if (tests[0]?.(left) !== true || tests[1]?.(right) !== true) continue;
      charge(frame, cost === undefined ? 1 : cost(left, right));
      return outcome(frame, apply(left, right, frame));
    }
    return failStep(frame, "no such overload");
  };
}

function outcome(frame: Frame, result: CelValue | CelFailure): CelValue | undefined {
  return isCelFailure(result) ? failStep(frame, result.error) : result;
}
