import { RE2JS, RE2JSException } from "re2js";
import { occupy, type CelMeter } from "./frame.ts";
import { celFailure, isCelFailure, type CelFailure } from "./values.ts";

/**
 * Compiles regular expressions in RE2's syntax, remembering the last few; a failure says what is wrong with one. Compiling takes
 * room, for it may take long.
 * @throws CelLimitError when there is none left
 */
export type Patterns = (source: string, meter: CelMeter) => RE2JS | CelFailure;

const maxLength = 2000;
const maxCost = 500_000;
const remembered = 16;

/** Patterns of one expression: kept as long as it is, at most 16 of them, since a pattern may come from data. */
export function newPatterns(): Patterns {
  const cache = new Map<string, RE2JS | CelFailure>();
  return (source, meter) => {
    const known = cache.get(source);
    if (known !== undefined) return known;
    occupy(meter, compileCost(source));
    const compiled = compilePattern(source);
    if (!isCelFailure(compiled)) occupy(meter, compiled.programSize());
    const [oldest] = cache.keys();
    if (cache.size >= remembered && oldest !== undefined) cache.delete(oldest);
    cache.set(source, compiled);
    return compiled;
  };
}

/** What makes a pattern take far longer to compile than its length tells: classes of Unicode, and letters of either case. */
const classes = /\\[pPx]|[^\p{ASCII}]/u;
const eitherCase = /\(\?[a-zA-Z]*i/;

/** Measured: case folding of a class beyond ASCII takes milliseconds, a class of Unicode a tenth of one. */
function compileCost(source: string): number {
  const dear = classes.test(source);
  return source.length * (dear ? (eitherCase.test(source) ? 2000 : 200) : 20);
}

/** A pattern compiled, or what is wrong with it; of 2000 characters at most, and fewer when it is dear to compile. */
export function compilePattern(source: string): RE2JS | CelFailure {
  if (source.length > maxLength) return celFailure(`error parsing regexp: longer than ${maxLength} characters`);
  if (compileCost(source) > maxCost) return celFailure("error parsing regexp: expression too large");
  try {
    return RE2JS.compile(source);
  } catch (error) {
    if (error instanceof RE2JSException) return celFailure(error.message);
    throw error;
  }
}
