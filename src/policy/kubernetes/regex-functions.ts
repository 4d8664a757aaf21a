import { celFunction, type CelFunction } from "../cel/environment.ts";
import { charge, type CelMeter } from "../cel/frame.ts";
import { searchCost } from "../cel/sizes.ts";
import { celFailure, isCelFailure, type CelFailure, type CelInt } from "../cel/values.ts";
import { countedText } from "../counted-text.ts";

const cost = (text: string, pattern: string): number => searchCost(text.length, pattern.length);

/** `find` and `findAll` of patterns in the syntax RE2, in time linear in the text. Source: apiserver cel/library regex. */
export const regexFunctions: readonly CelFunction[] = [
  celFunction(
    "<string>.find(string): string",
    (text: string, pattern: string, meter: CelMeter) => {
      const matches = findMatches({ text, pattern, limit: 1 }, meter);
      return isCelFailure(matches) ? matches : (matches[0] ?? "");
    },
    cost,
  ),
  celFunction(
    "<string>.findAll(string): list(string)",
    (text: string, pattern: string, meter: CelMeter) => findMatches({ text, pattern, limit: Infinity }, meter),
    cost,
  ),
  celFunction(
    "<string>.findAll(string, int): list(string)",
    (...[text, pattern, limit, meter]: readonly [string, string, CelInt, CelMeter]) =>
      findMatches({ text, pattern, limit: limit < 0 ? Infinity : Number(limit) }, meter),
    cost,
  ),
];

/** Measured: finding all words, letter by letter, reads a text ten times. */
const readingsPaid = 16;

interface Search {
  readonly text: string;
  readonly pattern: string;
  readonly limit: number;
}

function findMatches({ text, pattern, limit }: Search, meter: CelMeter): readonly string[] | CelFailure {
  const compiled = meter.patterns(pattern, meter);
  if (isCelFailure(compiled)) return celFailure(`Illegal regex: ${compiled.error}`);
  // Repetition makes programs far longer than their source; the excess is charged, too.
  charge(meter, searchCost(text.length, Math.max(0, compiled.programSize() - 2 * pattern.length)));
  const counted = countedText(text);
  const matcher = compiled.matcher(counted.input);
  // The cost of the call covers a pattern that reads no further than its match.
  let paid = (text.length + 1) * readingsPaid;
  const matches: string[] = [];
  let end = -1;
  while (matches.length < limit && matcher.find()) {
    if (counted.read() > paid) {
      charge(meter, counted.read() - paid);
      paid = counted.read();
    }
    // Go skips an empty match right after another match.
    if (matcher.start() === matcher.end() && matcher.start() === end) continue;
    end = matcher.end();
    matches.push(matcher.group() ?? "");
  }
  return matches;
}
