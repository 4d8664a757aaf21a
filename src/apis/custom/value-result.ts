import type { FieldError } from "../../apimachinery/field-error.ts";
import type { Pace } from "../../apimachinery/step-budget.ts";
import type { Pattern } from "./pattern.ts";

/** The errors of one value, and the number of checks it passed: of several failing alternatives, the one with most passed is reported. */
export interface ValueResult {
  readonly errors: FieldError[];
  passed: number;
}

/** Maximum number of errors: a hostile object must not multiply the size of the reply, and the work for it. */
export const maxErrors = 100;

/** A result to add to. */
export function emptyResult(): ValueResult {
  return { errors: [], passed: 0 };
}

/** Adds `other` to `result`; errors beyond 100 are left out. */
export function merge(result: ValueResult, other: ValueResult): void {
  result.passed += other.passed;
  for (const error of other.errors) {
    if (result.errors.length >= maxErrors) return;
    result.errors.push(error);
  }
}

/** The position of a value: the path before it, which errors begin with, and its name below that, which messages contain. */
export interface Where {
  readonly prefix: string;
  readonly name: string;
}

/** The path of the value itself. An empty path is shown as Go prints a nil path. */
export function pathOf({ prefix, name }: Where): string {
  if (name === "") return wholePath(prefix);
  const relative = name.startsWith(".") ? name.slice(1) : name;
  return prefix === "" ? relative : `${prefix}.${relative}`;
}

/** The path of errors that Kubernetes attaches to no field. */
export function wholePath(prefix: string): string {
  return prefix === "" ? "<nil>" : prefix;
}

/** The remaining cost of checking one object. Beyond it the object is rejected: alternatives and `not` must not count a skipped check as failed. */
export interface ValueBudget {
  /** Pairs of a schema and a value. */
  checks: number;
  /** Steps of patterns over all texts of the object. */
  patternSteps: number;
  /** Why the object is rejected, once a limit is exceeded. */
  refused: FieldError | undefined;
  /** Work since the last step. */
  readonly pace: Pace;
}

/** Measured: a thousand take about a millisecond. An object has at most 20,000 values, each of which several schemas may check. */
const maxChecks = 200_000;
/** Measured: 65,000 take about a millisecond, whatever the pattern. Enough for 100 KB of text and a pattern as long as that of DNS names. */
const maxPatternSteps = 2_500_000;

/** Measured: this many steps of a pattern take as long as one place. */
const patternStepsOfPlace = 64;

/** The limits for one object. */
export function newValueBudget(): ValueBudget {
  return { checks: maxChecks, patternSteps: maxPatternSteps, refused: undefined, pace: { places: 0 } };
}

/** Charges this many checks for the value at `path`; false where the rest is too small. */
export function takeChecks(budget: ValueBudget, count: number, path: () => string): boolean {
  if (budget.refused !== undefined) return false;
  budget.checks -= count;
  if (budget.checks >= 0) return true;
  refuse(
    budget,
    path(),
    `the schema cannot be checked: it takes more than ${maxChecks} checks of values; shorten the lists and maps`,
  );
  return false;
}

/** Charges the search for the pattern in the text at `path` before it starts; false where the rest is too small. */
export function takePattern(
  budget: ValueBudget,
  pattern: Pattern,
  { text, path }: { readonly text: string; readonly path: string },
): boolean {
  if (budget.refused !== undefined) return false;
  const steps = pattern.stepsFor(text.length);
  if (steps <= budget.patternSteps) {
    budget.patternSteps -= steps;
    budget.pace.places += Math.ceil(steps / patternStepsOfPlace);
    return true;
  }
  const left = Math.floor((budget.patternSteps / Math.max(1, steps)) * text.length);
  const why = `the value has ${text.length} characters, and about ${left} of them may be matched in this object`;
  refuse(
    budget,
    path,
    `pattern '${pattern.source}' cannot be checked: ${why}; shorten the value or set maxLength in the schema`,
  );
  return false;
}

/** Without the value itself, which may be megabytes long. */
function refuse(budget: ValueBudget, path: string, why: string): void {
  budget.refused = { path, type: "FieldValueInvalid", message: `Invalid value: ${why}` };
}
