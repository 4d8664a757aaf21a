/** Lets work that takes long run in parts, with everything else that waits for the event loop in between. */
export interface Turns {
  /**
   * Resolves when the next part of a large piece of work may run. One part runs per pass of the event loop, flows take turns, and
   * after each part the loop is left to other work for as long as the part took. What the caller does until its next `await` is one part.
   */
  readonly next: (flow: string) => Promise<void>;
  /** How many parts wait now. */
  readonly waiting: () => number;
}

export interface TurnsOptions {
  /** Milliseconds from any moment on. */
  readonly now: () => number;
  /** Calls back in the next pass of the event loop. */
  readonly soon: (run: () => void) => void;
  /** Calls back after so many milliseconds. */
  readonly after: (ms: number, run: () => void) => void;
}

/** A part that took less than this, in milliseconds, needs no rest behind it. */
const shortPartMs = 2;

/** Turns over one event loop; all that share a loop must share these. */
export function turns({ now, soon, after }: TurnsOptions): Turns {
  // In the order in which flows get their turn: a flow that has had one goes to the end.
  const flows = new Map<string, (() => void)[]>();
  let count = 0;
  let isRunning = false;

  const runNext = (): void => {
    const [first] = flows;
    if (first === undefined) {
      isRunning = false;
      return;
    }
    const [flow, parts] = first;
    const run = parts.shift();
    flows.delete(flow);
    if (parts.length > 0) flows.set(flow, parts);
    count -= 1;
    const begun = now();
    run?.();
    // The part runs as the callbacks of the promise, before the loop gets here.
    soon(() => {
      const took = now() - begun;
      if (took < shortPartMs) runNext();
      else after(took, runNext);
    });
  };

  return {
    next: (flow) =>
      new Promise((resolve) => {
        const parts = flows.get(flow);
        if (parts === undefined) flows.set(flow, [resolve]);
        else parts.push(resolve);
        count += 1;
        if (isRunning) return;
        isRunning = true;
        soon(runNext);
      }),
    waiting: () => count,
  };
}
