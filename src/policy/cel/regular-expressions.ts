import type { CelFunction, CelOverload } from "./environment.ts";
import { charge, occupy, type CelMeter } from "./frame.ts";
import { boolType, stringType } from "./types.ts";
import { isCelFailure, type CelFailure } from "./values.ts";

/** What a search costs: characters of the text times a measure of the expression's size. */
function searchCost(text: string, size: number): number {
  return Math.ceil((text.length + 1) * 0.1) * Math.ceil(size * 0.25);
}

/** Measured: a search begins at the cost of building so many characters, however short its text. Kubernetes' cost says little of it. */
const roomOfSearch = 125;

const matches: CelOverload = {
  args: [stringType, stringType],
  result: boolType,
  cost: (text: string, pattern: string) => searchCost(text, pattern.length),
  apply: (text: string, source: string, meter: CelMeter): boolean | CelFailure => {
    const pattern = meter.patterns(source, meter);
    if (isCelFailure(pattern)) return pattern;
    // Repetition makes programs far longer than their source; what they are longer is paid for, too.
    occupy(meter, roomOfSearch);
    charge(meter, searchCost(text, Math.max(0, pattern.programSize() - 2 * source.length)));
    return pattern.test(text);
  },
};

/** `matches`, on RE2: its time grows with the text, never exponentially. */
export const regularExpressions: readonly CelFunction[] = [
  { name: "matches", overloads: [matches] },
  { name: "matches", member: true, overloads: [matches] },
];
