/** Work that can be left between its steps and taken up again; a step ends at each `yield`. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** Does all steps at once. */
export function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Does all steps, and awaits a turn between two of them. */
export async function finishInTurns<Result>(steps: Steps<Result>, turn: () => Promise<void>): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await turn();
  }
}

/**
 * Work that is done once for all who ask: each step of any of them brings it on by one, and all get its result. Work that throws is
 * begun anew by the next who asks.
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
