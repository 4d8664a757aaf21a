import { RE2JS, RE2JSException } from "re2js";
import { celFailure, type CelFailure } from "./values.ts";

/** Compiles regular expressions in RE2's syntax, remembering the last few; a failure says what is wrong with one. */
export type Patterns = (source: string) => RE2JS | CelFailure;

const maximumLength = 10_000;
const remembered = 16;

/** Patterns of one expression: kept as long as it is, at most 16 of them, since a pattern may come from data. */
export function newPatterns(): Patterns {
  const cache = new Map<string, RE2JS | CelFailure>();
  return (source) => {
    const known = cache.get(source);
    if (known !== undefined) return known;
    const compiled = compilePattern(source);
    const [oldest] = cache.keys();
    if (cache.size >= remembered && oldest !== undefined) cache.delete(oldest);
    cache.set(source, compiled);
    return compiled;
  };
}

function compilePattern(source: string): RE2JS | CelFailure {
  if (source.length > maximumLength) return celFailure(`error parsing regexp: longer than ${maximumLength} characters`);
  try {
    return RE2JS.compile(source);
  } catch (error) {
    if (error instanceof RE2JSException) return celFailure(error.message);
    throw error;
  }
}
