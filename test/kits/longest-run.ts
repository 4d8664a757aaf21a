import type { Steps } from "../../src/apimachinery/steps.ts";

/** A list that counts how often its elements are read. */
export function countedList<Element>(elements: readonly Element[]): {
  readonly list: readonly Element[];
  readonly reads: () => number;
} {
  let count = 0;
  const list = new Proxy(elements, {
    get: (target, key, receiver): unknown => {
      if (typeof key === "string" && /^\d+$/.test(key)) count += 1;
      return Reflect.get(target, key, receiver);
    },
  });
  return { list, reads: () => count };
}

/** Does all steps; the most that `work`, which only grows, grew by between two yields, and what came of them. */
export function longestRun<Result>(
  steps: Steps<Result>,
  work: () => number,
): { readonly longest: number; readonly result: Result } {
  let longest = 0;
  for (;;) {
    const before = work();
    const { done, value } = steps.next();
    longest = Math.max(longest, work() - before);
    if (done === true) return { longest, result: value };
  }
}
