import type { CelFunction, CelOverload } from "./environment.ts";
import type { CelMeter } from "./frame.ts";
import { countedLength, passCost, sizeOf } from "./sizes.ts";
import { boolType, bytesType, intType, listType, mapType, stringType, typeParameter, type CelType } from "./types.ts";
import type { CelValue } from "./values.ts";

function size(value: CelValue, meter: CelMeter): number {
  return typeof value === "string" ? countedLength(meter, value) : sizeOf(meter, value);
}

const sized: readonly CelType[] = [
  stringType,
  bytesType,
  listType(typeParameter("A")),
  mapType(typeParameter("A"), typeParameter("B")),
];
const sizes: readonly CelOverload[] = sized.map((type) => ({ args: [type], result: intType, apply: size }));

function test(
  name: string,
  apply: (text: string, part: string) => boolean,
  cost: (text: string, part: string) => number,
): CelFunction {
  return { name, member: true, overloads: [{ args: [stringType, stringType], result: boolType, apply, cost }] };
}

/** What the language itself knows of text: its size and what it contains. */
export const strings: readonly CelFunction[] = [
  { name: "size", overloads: sizes },
  { name: "size", member: true, overloads: sizes },
  test(
    "startsWith",
    (text, part) => text.startsWith(part),
    (_, part) => passCost(part),
  ),
  test(
    "endsWith",
    (text, part) => text.endsWith(part),
    (_, part) => passCost(part),
  ),
  test(
    "contains",
    (text, part) => text.includes(part),
    (text, part) => passCost(text) * passCost(part),
  ),
];
