import type { CelFunction } from "../cel/environment.ts";
import { charge, type CelMeter } from "../cel/frame.ts";
import { intType, listType, stringType } from "../cel/types.ts";
import { celFailure, isCelFailure, type CelFailure, type CelInt, type CelValue } from "../cel/values.ts";
import { countedText } from "../counted-text.ts";
import { patternCost } from "./text-cost.ts";

/** `find` and `findAll` of patterns in the syntax RE2, in time linear in the text. Source: apiserver cel/library regex. */
export const regexFunctions: readonly CelFunction[] = [
  {
    name: "find",
    member: true,
    overloads: [
      {
        args: [stringType, stringType],
        result: stringType,
        cost,
        apply: (text: string, pattern: string, meter: CelMeter): CelValue | CelFailure => {
          const matches = found({ text, pattern, limit: 1 }, meter);
          return isCelFailure(matches) ? matches : (matches[0] ?? "");
        },
      },
    ],
  },
  {
    name: "findAll",
    member: true,
    overloads: [
      {
        args: [stringType, stringType],
        result: listType(stringType),
        cost,
        apply: (text: string, pattern: string, meter: CelMeter) => found({ text, pattern, limit: Infinity }, meter),
      },
      {
        args: [stringType, stringType, intType],
        result: listType(stringType),
        cost,
        apply: (text: string, pattern: string, limit: CelInt, meter: CelMeter) =>
          found({ text, pattern, limit: limit < 0 ? Infinity : Number(limit) }, meter),
      },
    ],
  },
];

function cost(text: string, pattern: string): number {
  return patternCost(text.length, pattern.length);
}

/** Measured: finding all words, letter by letter, reads a text ten times. */
const readingsPaid = 16;

interface Search {
  readonly text: string;
  readonly pattern: string;
  readonly limit: number;
}

function found({ text, pattern, limit }: Search, meter: CelMeter): readonly string[] | CelFailure {
  const compiled = meter.patterns(pattern, meter);
  if (isCelFailure(compiled)) return celFailure(`Illegal regex: ${compiled.error}`);
  // Repetition makes programs far longer than their source; what they are longer is paid for, too.
  charge(meter, patternCost(text.length, Math.max(0, compiled.programSize() - 2 * pattern.length)));
  const counted = countedText(text);
  const matcher = compiled.matcher(counted.input);
  // What a pattern reads that looks no further than its match is in the cost of the call.
  let paid = (text.length + 1) * readingsPaid;
  const matches: string[] = [];
  let end = -1;
  while (matches.length < limit && matcher.find()) {
    if (counted.read() > paid) {
      charge(meter, counted.read() - paid);
      paid = counted.read();
    }
    // An empty match right after another match is none in Go.
    if (matcher.start() === matcher.end() && matcher.start() === end) continue;
    end = matcher.end();
    matches.push(matcher.group() ?? "");
  }
  return matches;
}
