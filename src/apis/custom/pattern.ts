import { RE2JS, RE2JSException } from "re2js";

/** A pattern of the syntax RE2, as Kubernetes reads it. Matching takes time linear in the text, whatever the pattern. */
export interface Pattern {
  readonly source: string;
  /** How many steps it takes at most to look for the pattern in a text of so many characters. */
  readonly stepsFor: (length: number) => number;
  /** Whether the pattern is found anywhere in the text. */
  readonly matches: (text: string) => boolean;
}

/** What a match costs before its first character, in characters. */
const startLength = 2;
/** What a character costs where only one way through the pattern can be open. */
const onePassSteps = 2;

/** A pattern that `patternProblem` found nothing wrong with; it is compiled when it is used first. */
export function lazyPattern(source: string): Pattern {
  let made: { readonly expression: RE2JS; readonly stepsPerCharacter: number } | undefined;
  const compiled = (): typeof made & object => {
    if (made === undefined) {
      const expression = RE2JS.compile(source);
      const stepsPerCharacter = isOnePass(expression) ? onePassSteps : expression.programSize();
      made = { expression, stepsPerCharacter };
    }
    return made;
  };
  return {
    source,
    stepsFor: (length) => (length + startLength) * compiled().stepsPerCharacter,
    // The matcher and not `test`, whose automaton is faster for most patterns, but five times slower for the worst.
    matches: (text) => compiled().expression.matcher(text).find(),
  };
}

/** Whether re2js has found that at most one way through the pattern is ever open; it tells nobody, so that this looks inside. */
function isOnePass(expression: RE2JS): boolean {
  const inner: unknown = Reflect.get(expression, "re2Input");
  const onePass: unknown = typeof inner === "object" && inner !== null ? Reflect.get(inner, "onepass") : undefined;
  return onePass !== undefined && onePass !== null;
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
