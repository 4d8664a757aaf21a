import { duplicate, forbiddenField, invalid, required, type FieldError } from "../../apimachinery/field-error.ts";
import { endsStep, type Pace } from "../../apimachinery/step-budget.ts";
import type { Steps } from "../../apimachinery/steps.ts";
import type { CelProgram } from "../../policy/cel/compile.ts";
import { celOptional, fromJson } from "../../policy/cel/values.ts";
import { isUnchangedPlace, joinedPath, shownPath, type RulePlace } from "./correlation.ts";
import type { NodeRule, RuledNode } from "./compile-rules.ts";

/** What one expression may cost. Source: apiserver apis/cel PerCallLimit. */
const callLimit = 1_000_000;
/** Measured: evaluating what costs so much takes as long as looking at a place of a value. */
const costOfPlace = 16;
const maxMessageBytes = 5 * 1024;

/** Many errors tell no more than some, and each shows the value. */
const maxErrors = 100;
const maxErrorCharacters = 1_000_000;

/** One evaluation of all rules of a schema over one value. */
export interface RuleRun {
  readonly errors: FieldError[];
  /** How many characters the messages of the errors have. */
  length: number;
  /** What rules may still cost. */
  budget: number;
  /** Whether the costs are used up, so that no further rule is evaluated. */
  exhausted: boolean;
  readonly pace: Pace;
}

/** An evaluation in which rules may cost `budget` together. */
export function newRuleRun(budget: number): RuleRun {
  return { errors: [], length: 0, budget, exhausted: false, pace: { places: 0 } };
}

/** Evaluates the rules of a node over a value of it, in steps; their errors and costs are counted in `run`. */
export function* applyRules(run: RuleRun, node: RuledNode, place: RulePlace): Steps<void> {
  for (const { compiled, fieldPath } of node.rules) {
    if (endsStep(run.pace)) yield;
    if (run.exhausted || run.errors.length >= maxErrors || run.length >= maxErrorCharacters) return;
    applyRule(run, node, { ...place, compiled, fieldPath });
  }
}

type RuleAtPlace = RulePlace & NodeRule;

function report(run: RuleRun, error: FieldError): void {
  run.errors.push(error);
  run.length += error.message.length;
}

function applyRule(run: RuleRun, node: RuledNode, place: RuleAtPlace): void {
  const { program, problem, rule, usesOldSelf } = place.compiled;
  const shownType = node.schema.type ?? "";
  if (program === undefined) {
    report(run, invalid(shownPath(place.path), shownType, `rule compile error: ${problem}`));
    return;
  }
  const isOptional = rule.optionalOldSelf === true;
  if (usesOldSelf && isMissing(place.stored) && !isOptional) return;
  const outcome = evaluated(run, program, variablesOf(place, isOptional));
  if (outcome === "exhausted") {
    const why = "validation failed due to running out of cost budget, no further validation rules will be run";
    report(run, invalid(shownPath(place.path), shownType, why));
    run.exhausted = true;
  } else if ("error" in outcome) {
    report(run, invalid(shownPath(place.path), shownType, evaluationProblem(outcome.error, ruleText(place))));
    run.exhausted ||= isOverLimit(outcome.error);
  } else if (outcome.value !== true) fail(run, node, place);
}

function variablesOf({ value, stored }: RulePlace, isOptional: boolean): Readonly<Record<string, unknown>> {
  if (isOptional) return { self: value, oldSelf: celOptional(isMissing(stored) ? undefined : fromJson(stored)) };
  return isMissing(stored) ? { self: value } : { self: value, oldSelf: stored };
}

function isMissing(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

type Outcome = { readonly value: unknown } | { readonly error: string } | "exhausted";

function evaluated(run: RuleRun, program: CelProgram, variables: Readonly<Record<string, unknown>>): Outcome {
  if (run.budget <= 0) return "exhausted";
  const outcome = program.evaluate(variables, { budget: Math.min(callLimit, run.budget) });
  const isSpent = run.budget < callLimit && "error" in outcome && isOverLimit(outcome.error);
  run.budget -= outcome.cost;
  run.pace.places += Math.ceil(outcome.cost / costOfPlace);
  return isSpent ? "exhausted" : outcome;
}

function isOverLimit(error: string): boolean {
  return error.startsWith("operation cancelled: actual cost limit exceeded");
}

function evaluationProblem(error: string, rule: string): string {
  if (error.startsWith("no such overload")) {
    return `'${error}': call arguments did not match a supported operator, function or macro signature for rule: ${rule}`;
  }
  if (!isOverLimit(error)) return `${error} evaluating rule: ${rule}`;
  return `'${error}': no further validation rules will be run due to call cost exceeds limit for rule: ${rule}`;
}

/** Reports a rule that evaluates to false, unless the value has not changed. */
function fail(run: RuleRun, node: RuledNode, place: RuleAtPlace): void {
  const { compiled, path, fieldPath, value } = place;
  const at = shownPath(fieldPath === undefined ? path : joinedPath(path, fieldPath));
  const message = failureMessage(run, place);
  const isExcused = !compiled.usesOldSelf && isUnchangedPlace(place.ratchet);
  if (typeof message !== "string") {
    run.exhausted = true;
    if (!isExcused) report(run, invalid(at, node.schema.type ?? "", message.problem));
  } else if (!isExcused) report(run, ruleError(at, value, { message, node, reason: compiled.rule.reason }));
}

interface Failure {
  readonly message: string;
  readonly node: RuledNode;
  readonly reason: string | undefined;
}

function ruleError(path: string, value: unknown, { message, node, reason }: Failure): FieldError {
  // A whole object or list is more than an error should show.
  const isLarge = node.schema.type === "object" || node.schema.type === "array";
  switch (reason) {
    case "FieldValueForbidden":
      return forbiddenField(path, message);
    case "FieldValueRequired":
      return required(path, message);
    case "FieldValueDuplicate":
      return isLarge ? { path, type: reason, message: "Duplicate value" } : duplicate(path, value);
    default:
      return isLarge
        ? { path, type: "FieldValueInvalid", message: `Invalid value: ${message}` }
        : invalid(path, value, message);
  }
}

/** The message of a failed rule: of its message expression, or where that has no usable result its plain one; or why no further rule is evaluated. */
function failureMessage(run: RuleRun, place: RuleAtPlace): string | { readonly problem: string } {
  const { message, rule } = place.compiled;
  const plain = rule.message === undefined ? `failed rule: ${rule.rule.trim()}` : rule.message.trim();
  if (message === undefined) return plain;
  const outcome = evaluated(run, message, variablesOf(place, rule.optionalOldSelf === true));
  if (outcome === "exhausted") {
    const why =
      "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run";
    return { problem: why };
  }
  if ("error" in outcome) {
    if (!isOverLimit(outcome.error)) return plain;
    const source = JSON.stringify(rule.messageExpression);
    const why = "no further validation rules will be run due to call cost exceeds limit for messageExpression";
    return { problem: `${why}: ${source}` };
  }
  const text = typeof outcome.value === "string" ? outcome.value.trim() : "";
  const isUsable = text !== "" && !text.includes("\n") && Buffer.byteLength(text) <= maxMessageBytes;
  return isUsable ? text : plain;
}

function ruleText({ compiled: { rule } }: NodeRule): string {
  return (rule.message ?? rule.rule).trim();
}
