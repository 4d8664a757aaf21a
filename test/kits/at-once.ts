import type { Pace } from "../../src/apimachinery/step-budget.ts";
import { finish, type Steps } from "../../src/apimachinery/steps.ts";

/** A function that works in steps as one that does them all at once. */
export function atOnce<Given extends readonly unknown[], Result>(
  inSteps: (...given: Given) => Steps<Result>,
): (...given: Given) => Result {
  return (...given) => finish(inSteps(...given));
}

/** The same for a function that is told last how far the work has come. */
export function pacedAtOnce<Given extends readonly unknown[], Result>(
  inSteps: (...given: [...Given, Pace]) => Steps<Result>,
): (...given: Given) => Result {
  return (...given) => finish(inSteps(...given, { places: 0 }));
}
