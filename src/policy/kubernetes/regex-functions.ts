import { RE2JS, RE2JSException } from "re2js";
import type { CelFunction } from "../cel/environment.ts";
import { intType, listType, stringType } from "../cel/types.ts";
import { celFailure, type CelFailure, type CelInt, type CelValue } from "../cel/values.ts";
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
        apply: (text: string, pattern: string) => found(text, pattern, (matches) => matches(1)[0] ?? ""),
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
        apply: (text: string, pattern: string) => found(text, pattern, (matches) => matches(Infinity)),
      },
      {
        args: [stringType, stringType, intType],
        result: listType(stringType),
        cost,
        apply: (text: string, pattern: string, limit: CelInt) =>
          found(text, pattern, (matches) => matches(limit < 0 ? Infinity : Number(limit))),
      },
    ],
  },
];

function cost(text: string, pattern: string): number {
  return patternCost(text.length, pattern.length);
}

function found(
  text: string,
  pattern: string,
  answer: (matches: (limit: number) => readonly string[]) => CelValue,
): CelValue | CelFailure {
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(pattern);
  } catch (error) {
    if (error instanceof RE2JSException) return celFailure(`Illegal regex: ${error.message}`);
    throw error;
  }
  return answer((limit) => {
    const matcher = compiled.matcher(text);
    const matches: string[] = [];
    let end = -1;
    while (matches.length < limit && matcher.find()) {
      // An empty match right after another match is none in Go.
      if (matcher.start() === matcher.end() && matcher.start() === end) continue;
      end = matcher.end();
      matches.push(matcher.group() ?? "");
    }
    return matches;
  });
}
