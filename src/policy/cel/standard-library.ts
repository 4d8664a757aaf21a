import { arithmetic } from "./arithmetic.ts";
import { conversions } from "./conversions.ts";
import { encoders } from "./encoders.ts";
import type { CelFunction, CelOverload } from "./environment.ts";
import { mathFunctions } from "./math-functions.ts";
import { optionalFunctions } from "./optional-functions.ts";
import { regularExpressions } from "./regular-expressions.ts";
import { functionTable } from "./scope.ts";
import { setFunctions } from "./set-functions.ts";
import { strings } from "./strings.ts";
import { textFunctions } from "./text-functions.ts";
import { timeFunctions } from "./time-functions.ts";
import { boolType, dynType, intType, listType, mapType, optionalType, typeParameter } from "./types.ts";
import type { CelValue } from "./values.ts";

/** These operators are compiled by themselves; the table serves the checker alone. */
const compiled = (): CelValue => null;
const a = typeParameter("A");
const b = typeParameter("B");

const operators: readonly CelFunction[] = [
  { name: "_&&_", overloads: [{ args: [boolType, boolType], result: boolType, apply: compiled }] },
  { name: "_||_", overloads: [{ args: [boolType, boolType], result: boolType, apply: compiled }] },
  { name: "!_", overloads: [{ args: [boolType], result: boolType, apply: compiled }] },
  { name: "_?_:_", overloads: [{ args: [boolType, a, a], result: a, apply: compiled }] },
  { name: "_==_", overloads: [{ args: [a, a], result: boolType, apply: compiled }] },
  { name: "_!=_", overloads: [{ args: [a, a], result: boolType, apply: compiled }] },
  {
    name: "@in",
    overloads: [
      { args: [a, listType(a)], result: boolType, apply: compiled },
      { args: [a, mapType(a, b)], result: boolType, apply: compiled },
    ],
  },
  {
    name: "_[_]",
    overloads: [
      { args: [listType(a), intType], result: a, apply: compiled },
      { args: [mapType(a, b), a], result: b, apply: compiled },
      { args: [optionalType(listType(a)), intType], result: optionalType(a), apply: compiled },
      { args: [optionalType(mapType(a, b)), a], result: optionalType(b), apply: compiled },
    ],
  },
  {
    name: "_[?_]",
    overloads: [
      { args: [listType(a), intType], result: optionalType(a), apply: compiled },
      { args: [mapType(a, b), a], result: optionalType(b), apply: compiled },
      { args: [optionalType(listType(a)), intType], result: optionalType(a), apply: compiled },
      { args: [optionalType(mapType(a, b)), a], result: optionalType(b), apply: compiled },
    ],
  },
  { name: "dyn", overloads: [{ args: [a], result: dynType, apply: (value: CelValue) => value }] },
];

const table: ReadonlyMap<string, readonly CelOverload[]> = functionTable([
  operators,
  arithmetic,
  conversions,
  strings,
  regularExpressions,
  textFunctions,
  timeFunctions,
  mathFunctions,
  setFunctions,
  encoders,
  optionalFunctions,
]);

/** The functions that every expression may call. */
export function standardLibrary(): ReadonlyMap<string, readonly CelOverload[]> {
  return table;
}
