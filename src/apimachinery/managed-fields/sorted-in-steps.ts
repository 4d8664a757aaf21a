import { endsStep, type Pace } from "../step-budget.ts";
import type { Steps } from "../steps.ts";

/** How many elements are sorted at once. */
const runLength = 512;

/** The elements in the order of `compare`; those that it takes for equal stay in the order they came in. */
export function* sortedInSteps<Element>(
  elements: readonly Element[],
  compare: (one: Element, other: Element) => number,
  pace: Pace,
): Steps<readonly Element[]> {
  let runs: (readonly Element[])[] = [];
  for (let start = 0; start < elements.length; start += runLength) {
    const run = elements.slice(start, start + runLength);
    if (endsStep(pace, run.length)) yield;
    runs.push(run.sort(compare));
  }
  while (runs.length > 1) {
    const merged: (readonly Element[])[] = [];
    for (let at = 0; at < runs.length; at += 2) {
      merged.push(yield* mergedRuns(runs[at] ?? [], runs[at + 1] ?? [], { compare, pace }));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function* mergedRuns<Element>(
  one: readonly Element[],
  other: readonly Element[],
  { compare, pace }: { readonly compare: (one: Element, other: Element) => number; readonly pace: Pace },
): Steps<readonly Element[]> {
  if (other.length === 0) return one;
  const merged: Element[] = [];
  let [mine, theirs] = [0, 0];
  while (mine < one.length && theirs < other.length) {
    if (endsStep(pace)) yield;
    const [left, right] = [one[mine] as Element, other[theirs] as Element];
    if (compare(left, right) <= 0) {
      merged.push(left);
      mine += 1;
    } else {
      merged.push(right);
      theirs += 1;
    }
  }
  return [...merged, ...one.slice(mine), ...other.slice(theirs)];
}
