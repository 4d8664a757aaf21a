import { isJsonArray } from "../../apimachinery/json-value.ts";
import { celEquals, isMap, mapGet } from "./equality.ts";
import type { BinaryCall } from "./dispatch.ts";
import { charge, failStep, type Step } from "./frame.ts";
import { sizeOf } from "./sizes.ts";

/** How many characters of text are looked at for one unit of cost. */
const textFactor = 0.1;

/** `a && b`: false as soon as one side is false, whatever becomes of the other. */
export function andStep(first: Step, second: Step): Step {
  return junction(first, second, false);
}

/** `a || b`: true as soon as one side is true, whatever becomes of the other. */
export function orStep(first: Step, second: Step): Step {
  return junction(first, second, true);
}

function junction(first: Step, second: Step, decisive: boolean): Step {
  return (frame) => {
    charge(frame, 1);
    const left = first(frame);
    if (left === decisive) return decisive;
    const problem = left === undefined ? frame.error : typeof left === "boolean" ? undefined : "no such overload";
    const right = second(frame);
    if (right === decisive) return decisive;
    if (problem !== undefined) return failStep(frame, problem);
    return right === undefined || typeof right === "boolean" ? right : failStep(frame, "no such overload");
  };
}

/** `a ? b : c`: only the side that is chosen is evaluated. */
export function conditionalStep(condition: Step, then: Step, otherwise: Step): Step {
  return (frame) => {
    charge(frame, 1);
    const chosen = condition(frame);
    if (chosen === true) return then(frame);
    if (chosen === false) return otherwise(frame);
    return chosen === undefined ? undefined : failStep(frame, "no such overload");
  };
}

/** `!a`. */
export function notStep(operand: Step): Step {
  return (frame) => {
    charge(frame, 1);
    const value = operand(frame);
    if (typeof value === "boolean") return !value;
    return value === undefined ? undefined : failStep(frame, "no such overload");
  };
}

/** `a == b`, or with `wanted` false `a != b`. */
export function equalityStep(first: Step, second: Step, wanted: boolean): Step {
  return (frame) => {
    const left = first(frame);
    if (left === undefined) return undefined;
    const right = second(frame);
    if (right === undefined) return undefined;
    if (typeof left === "number" && typeof right === "number") {
      charge(frame, 1);
      return (left === right) === wanted;
    }
    charge(frame, Math.ceil(Math.min(sizeOf(frame, left), sizeOf(frame, right)) * textFactor));
    return celEquals(left, right, frame) === wanted;
  };
}

/** A binary operator: at once for integers that stay safe, by its overloads for all else. */
export function integerStep(name: IntegerOperator, args: readonly [Step, Step], otherwise: BinaryCall): Step {
  const [first, second] = args;
  const compute = integers[name];
  return (frame) => {
    const left = first(frame);
    if (left === undefined) return undefined;
    const right = second(frame);
    if (right === undefined) return undefined;
    if (typeof left !== "number" || typeof right !== "number") return otherwise(frame, left, right);
    const result = compute(left, right);
    if (typeof result === "number" && !Number.isSafeInteger(result)) return otherwise(frame, left, right);
    charge(frame, 1);
    return result;
  };
}

/** An operator that is at once for integers. */
export type IntegerOperator = "_<_" | "_<=_" | "_>_" | "_>=_" | "_+_" | "_-_" | "_*_";

/** Their names. */
export const integerOperators: readonly IntegerOperator[] = ["_<_", "_<=_", "_>_", "_>=_", "_+_", "_-_", "_*_"];

/** Adding zero turns negative zero into zero. */
const integers: Readonly<Record<IntegerOperator, (left: number, right: number) => number | boolean>> = {
  "_<_": (left: number, right: number): boolean => left < right,
  "_<=_": (left: number, right: number): boolean => left <= right,
  "_>_": (left: number, right: number): boolean => left > right,
  "_>=_": (left: number, right: number): boolean => left >= right,
  "_+_": (left: number, right: number): number => left + right,
  "_-_": (left: number, right: number): number => left - right,
  "_*_": (left: number, right: number): number => left * right + 0,
};

/** `a in b`: an element of a list, or a key of a map. */
export function inStep(first: Step, second: Step): Step {
  return (frame) => {
    const needle = first(frame);
    if (needle === undefined) return undefined;
    const within = second(frame);
    if (within === undefined) return undefined;
    if (isJsonArray(within)) {
      charge(frame, within.length);
      return within.some((element) => celEquals(needle, element, frame));
    }
    charge(frame, 1);
    return isMap(within) ? mapGet(within, needle) !== undefined : failStep(frame, "no such overload");
  };
}
