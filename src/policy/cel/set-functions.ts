import type { CelFunction } from "./environment.ts";
import { celEquals } from "./equality.ts";
import type { CelMeter } from "./frame.ts";
import { boolType, listType, typeParameter } from "./types.ts";

type List = readonly unknown[];

const element = typeParameter("T");

function contains(list: List, sought: List, meter: CelMeter): boolean {
  return sought.every((one) => list.some((other) => celEquals(one, other, meter)));
}

function row(name: string, passes: number, apply: (one: List, other: List, meter: CelMeter) => boolean): CelFunction {
  const cost = (one: List, other: List): number => Math.max(1, one.length * other.length * passes);
  return {
    name: `sets.${name}`,
    overloads: [{ args: [listType(element), listType(element)], result: boolType, cost, apply }],
  };
}

/** The extension `sets`: lists taken as sets. */
export const setFunctions: readonly CelFunction[] = [
  row("contains", 1, contains),
  row("equivalent", 2, (one, other, meter) => contains(one, other, meter) && contains(other, one, meter)),
  row("intersects", 1, (one, other, meter) => one.some((each) => contains(other, [each], meter))),
];
