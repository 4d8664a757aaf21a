import { RE2JS, RE2JSException } from "re2js";

/** A pattern of the syntax RE2, as Kubernetes reads it. Matching takes time linear in the text, whatever the pattern. */
export interface Pattern {
  readonly source: string;
  /** Maximum number of steps of a search for the pattern in a text of this many characters. */
  readonly stepsFor: (length: number) => number;
  /** Whether the text contains a match. */
  readonly matches: (text: string) => boolean;
}

/** The cost of a match before its first character, in characters. */
const startLength = 2;
/** The cost of a character where at most one path through the pattern is active. */
const onePassSteps = 2;

/** A pattern that `patternProblem` accepts; compiled at first use. */
export function lazyPattern(source: string): Pattern {
  let cached: { readonly expression: RE2JS; readonly stepsPerCharacter: number } | undefined;
  const compiled = (): typeof cached & object => {
    if (cached === undefined) {
      const expression = RE2JS.compile(source);
      const stepsPerCharacter = isOnePass(expression) ? onePassSteps : expression.programSize();
      cached = { expression, stepsPerCharacter };
    }
    return cached;
  };
  return {
    source,
    stepsFor: (length) => (length + startLength) * compiled().stepsPerCharacter,
    // The matcher and not `test`, whose automaton is faster for most patterns, but five times slower for the worst.
    matches: (text) => compiled().expression.matcher(text).find(),
  };
}

/** Whether re2js has found the pattern to have at most one active path; it has no public accessor for that. */
function isOnePass(expression: RE2JS): boolean {
  const inner: unknown = Reflect.get(expression, "re2Input");
  const onePass: unknown = typeof inner === "object" && inner !== null ? Reflect.get(inner, "onepass") : undefined;
  return onePass !== undefined && onePass !== null;
}

/** Why `source` is no pattern of the syntax RE2, in Go's wording, or undefined when it is one. */
export function patternProblem(source: string): string | undefined {
  try {
    RE2JS.compile(source);
    return undefined;
  } catch (error) {
    if (error instanceof RE2JSException) return error.message;
    throw error;
  }
}
