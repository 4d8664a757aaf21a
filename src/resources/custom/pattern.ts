import { RE2JS, RE2JSException } from "re2js";

/** A pattern of the syntax RE2, as Kubernetes reads it. Matching takes time linear in the text, whatever the pattern. */
export interface Pattern {
  readonly source: string;
  /** Whether the pattern is found anywhere in the text. */
  readonly matches: (text: string) => boolean;
}

/** A pattern that `patternProblem` found nothing wrong with; it is compiled when it is used first. */
export function lazyPattern(source: string): Pattern {
  let compiled: RE2JS | undefined;
  return {
    source,
    matches: (text) => {
      compiled ??= RE2JS.compile(source);
      return compiled.matcher(text).find();
    },
  };
}

/** Why `source` is no pattern of the syntax RE2, in Go's words, or undefined when it is one. */
export function patternProblem(source: string): string | undefined {
  try {
    RE2JS.compile(source);
    return undefined;
  } catch (error) {
    if (error instanceof RE2JSException) return error.message;
    throw error;
  }
}
