import { MatcherInput, type MatcherInputBase } from "re2js";

/** A text to search in, and how much was read of it so far. */
export interface CountedText {
  readonly input: MatcherInputBase;
  /** Characters read, those read again included. */
  readonly read: () => number;
}

/** The runtime looks for a text far faster than an expression is run over characters. */
const readTogether = 16;

/**
 * A text that counts what searches read of it. A search is linear in the text, but all of them together are not: each may read to the
 * end to find a match at its beginning.
 */
export function countedText(text: string): CountedText {
  let read = 0;
  // The searches take nothing but a string, or an object of one.
  const charSequence: unknown = Object.assign(Object(text), {
    charCodeAt: (at: number): number => {
      read += 1;
      return text.charCodeAt(at);
    },
    indexOf: (part: string, from: number): number => {
      const found = text.indexOf(part, from);
      read += Math.ceil(((found === -1 ? text.length : found) - from) / readTogether);
      return found;
    },
  });
  return { input: MatcherInput.utf16(charSequence), read: () => read };
}
