import { MatcherInput, type MatcherInputBase } from "re2js";

/** A text to search, and the number of characters read so far. */
export interface CountedText {
  readonly input: MatcherInputBase;
  /** Characters read, repeated reads included. */
  readonly read: () => number;
}

/** The runtime searches a text far faster than it matches an expression character by character. */
const readTogether = 16;

/**
 * A text that counts the characters that searches read. A search is linear in the text, but all of them together are not: each may
 * read to the end to find a match at its beginning.
 */
export function countedText(text: string): CountedText {
  let read = 0;
  // The searches accept only a string, or an object of one.
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
