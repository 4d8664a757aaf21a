import { isJsonArray } from "../../apimachinery/json-value.ts";
import type { BinaryCall } from "./dispatch.ts";
import { celEquals, isMap, mapGet, mapKey } from "./equality.ts";
import { charge, failStep, occupy, type Step, type Frame } from "./frame.ts";
import { sizeOf } from "./sizes.ts";
import { celKind, kindOf, type CelOptional, type CelValue } from "./values.ts";

/** How many characters of text one unit of cost covers. */
const textFactor = 0.1;

/** `a && b`, or with `decisive` true `a || b`: the decisive value as soon as one side has it, even if the other side fails. */
export function junctionStep(first: Step, second: Step, decisive: boolean): Step {
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

/** A binary operator: a fast path for safe integers, overloads for all else. */
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

/** The fast path of an operator for integers. */
export type IntegerOperator = "_<_" | "_<=_" | "_>_" | "_>=_" | "_+_" | "_-_" | "_*_";

/** The operators that have a fast path. */
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

/** An element of a list; optional ones are left out when they are absent. */
interface ElementStep {
  readonly step: Step;
  readonly optional: boolean;
}

/** An entry of a map. */
interface EntryStep extends ElementStep {
  readonly key: Step;
}

/** `[a, ?b]`. */
export function listStep(elements: readonly ElementStep[]): Step {
  return (frame) => {
    charge(frame, 10);
    occupy(frame, elements.length);
    const list: CelValue[] = [];
    for (const element of elements) {
      const value = element.step(frame);
      if (value === undefined) return undefined;
      const held = element.optional ? unwrap(frame, value) : { value };
      if (held === undefined) return undefined;
      if (held.value !== undefined) list.push(held.value);
    }
    return list;
  };
}

/** `{a: b, ?c: d}`. */
export function mapStep(entries: readonly EntryStep[]): Step {
  return (frame) => {
    charge(frame, 30);
    occupy(frame, entries.length);
    const map = new Map<unknown, readonly [CelValue, CelValue]>();
    for (const entry of entries) {
      const key = entry.key(frame);
      if (key === undefined) return undefined;
      const value = entry.step(frame);
      if (value === undefined) return undefined;
      const found = mapKey(key);
      if (found === undefined || kindOf(key) === "double") return failStep(frame, "unsupported key type");
      const held = entry.optional ? unwrap(frame, value) : { value };
      if (held === undefined) return undefined;
      if (held.value === undefined) continue;
      if (map.has(found)) return failStep(frame, "Failed with repeated key");
      map.set(found, [key, held.value]);
    }
    return { [celKind]: "map", entries: map };
  };
}

/** A field of a message. */
interface FieldStep extends ElementStep {
  readonly name: string;
}

/** `a.b{c: d, ?e: f}`. */
export function messageStep(message: string, fields: readonly FieldStep[]): Step {
  return (frame) => {
    charge(frame, 40);
    occupy(frame, fields.length);
    const entries = new Map<unknown, readonly [CelValue, CelValue]>();
    for (const { name, step, optional } of fields) {
      const value = step(frame);
      if (value === undefined) return undefined;
      const held = optional ? unwrap(frame, value) : { value };
      if (held === undefined) return undefined;
      if (held.value !== undefined) entries.set(name, [name, held.value]);
    }
    return { [celKind]: "map", entries, message };
  };
}

function unwrap(frame: Frame, value: CelValue): { readonly value: CelValue | undefined } | undefined {
  return kindOf(value) === "optional" ? (value as CelOptional) : failStep(frame, "no such overload");
}
