/** Work that can pause between its steps; a step ends at each `yield`. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** Runs all steps at once. */
export function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Runs all steps, and awaits a turn between two of them. */
export async function finishInTurns<Result>(steps: Steps<Result>, turn: () => Promise<void>): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await turn();
  }
}

/**
 * Work that runs once for all callers: each step of any caller advances it by one, and all get its result. Work that throws is
 * restarted by the next caller.
 */
export function sharedSteps<Result>(make: () => Steps<Result>): () => Steps<Result> {
  let known: { readonly result: Result } | undefined;
  let begun: Steps<Result> | undefined;
  const advance = (): void => {
    begun ??= make();
    try {
      const { done, value } = begun.next();
      if (done !== true) return;
      known = { result: value };
    } catch (error) {
      begun = undefined;
      throw error;
    }
    begun = undefined;
  };
  return function* () {
    while (known === undefined) {
      advance();
      if (known === undefined) yield;
    }
    return known.result;
  };
}
