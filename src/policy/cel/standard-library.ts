import { arithmetic } from "./arithmetic.ts";
import { conversions } from "./conversions.ts";
import { celFunction, type CelFunction } from "./environment.ts";
import { celEquals } from "./equality.ts";
import type { CelMeter } from "./frame.ts";
import { mathFunctions } from "./math-functions.ts";
import { optionalFunctions } from "./optional-functions.ts";
import { textFunctions } from "./text-functions.ts";
import { timeFunctions } from "./time.ts";
import type { CelValue } from "./values.ts";

/** These operators are compiled separately; only the checker uses the table. */
const operators: readonly CelFunction[] = [
  "_&&_(bool, bool): bool",
  "_||_(bool, bool): bool",
  "!_(bool): bool",
  "_?_:_(bool, A, A): A",
  "_==_(A, A): bool",
  "_!=_(A, A): bool",
  "@in(A, list(A)): bool",
  "@in(A, map(A, B)): bool",
  "_[_](list(A), int): A",
  "_[_](map(A, B), A): B",
  "_[_](optional(list(A)), int): optional(A)",
  "_[_](optional(map(A, B)), A): optional(B)",
  "_[?_](list(A), int): optional(A)",
  "_[?_](map(A, B), A): optional(B)",
  "_[?_](optional(list(A)), int): optional(A)",
  "_[?_](optional(map(A, B)), A): optional(B)",
].map((signature) => celFunction(signature, () => null));

type List = readonly unknown[];

function contains(list: List, sought: List, meter: CelMeter): boolean {
  return sought.every((one) => list.some((other) => celEquals(one, other, meter)));
}

function setFunction(
  name: string,
  passes: number,
  apply: (one: List, other: List, meter: CelMeter) => boolean,
): CelFunction {
  const cost = (one: List, other: List): number => Math.max(1, one.length * other.length * passes);
  return celFunction(`sets.${name}(list(T), list(T)): bool`, apply, cost);
}

/** The extension `sets`: lists as sets. */
const setFunctions: readonly CelFunction[] = [
  setFunction("contains", 1, contains),
  setFunction("equivalent", 2, (one, other, meter) => contains(one, other, meter) && contains(other, one, meter)),
  setFunction("intersects", 1, (one, other, meter) => one.some((each) => contains(other, [each], meter))),
];

/** The functions that are available to every expression. */
export const standardFunctions: readonly CelFunction[] = [
  ...operators,
  celFunction("dyn(A): dyn", (value: CelValue) => value),
  ...arithmetic,
  ...conversions,
  ...textFunctions,
  ...timeFunctions,
  ...mathFunctions,
  ...setFunctions,
  ...optionalFunctions,
];
