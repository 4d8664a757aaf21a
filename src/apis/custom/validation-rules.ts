import { invalid, type FieldError, duplicate, forbiddenField, required } from "../../apimachinery/field-error.ts";
import { isJsonArray, isJsonObject, ownValue } from "../../apimachinery/json-value.ts";
import { endsStep, type Pace } from "../../apimachinery/step-budget.ts";
import { finish, type Steps } from "../../apimachinery/steps.ts";
import type { CelProgram } from "../../policy/cel/compile.ts";
import { celOptional, fromJson } from "../../policy/cel/values.ts";
import { compileRuleTree, type CompiledRules, type RuledNode, type NodeRule } from "./compile-rules.ts";
import {
  correlate,
  correlatedElement,
  storedElements,
  joinedPath,
  ratchetBelow,
  shownPath,
  type RulePlace,
  isUnchangedPlace,
} from "./correlation.ts";
import type { DefaultRuleErrors } from "./default-errors.ts";
import { ruleType } from "./rule-type.ts";
import type { StructuralSchema } from "./structural-schema.ts";

/** Evaluates all CEL rules of a schema over a value. */
export interface RuleSet {
  /**
   * The errors of the rules for a value that its schema accepts, in steps. `stored` is the value that it replaces, undefined for a new one:
   * rules with `oldSelf` apply where there was a value, and other rules ignore unchanged values. `path` is that of the value,
   * empty for a whole object. Costs are limited; beyond the limit there is one error, and the remaining rules are not evaluated.
   */
  readonly errors: (
    value: unknown,
    options: { readonly stored?: unknown; readonly path: string; readonly budget?: RuleBudget },
  ) => Steps<readonly FieldError[]>;
}

/** The remaining cost of rules. */
export interface RuleBudget {
  left: number;
}

/** Maximum cost of all expressions over one object. Source: apiserver apis/cel RuntimeCELCostBudget. */
const objectBudget = 10_000_000;

interface RuleSetPlace {
  readonly isResource: boolean;
  /** Default: none. */
  readonly compiled?: CompiledRules;
}

/** The rules of a schema without `schemaErrors` and `ruleSchemaErrors`, or undefined where it has none. */
export function ruleSet(schema: StructuralSchema, place: RuleSetPlace): RuleSet | undefined {
  return finish(ruleSetSteps(schema, place));
}

/** The same in steps. */
export function* ruleSetSteps(
  schema: StructuralSchema,
  { isResource, compiled = new Map() }: RuleSetPlace,
): Steps<RuleSet | undefined> {
  const type = ruleType(schema, { name: "selfType", isResource });
  yield;
  const rules = yield* compileRuleTree({ rules: schema, values: schema }, type, { pace: { places: 0 }, compiled });
  if (rules === undefined) return undefined;
  return {
    *errors(value, { stored, path, budget = { left: objectBudget } }) {
      const run: RuleRun = { errors: [], length: 0, budget: budget.left, exhausted: false, pace: { places: 0 } };
      const correlation = stored === undefined ? undefined : correlate(schema, value, stored);
      yield* visit(run, rules, {
        path,
        value,
        stored: stored ?? undefined,
        ratchet: { current: correlation, above: undefined },
      });
      budget.left = run.budget;
      return run.errors;
    },
  };
}

/** Errors after which rules would only repeat them, or could not be evaluated. */
const blocking: ReadonlySet<string> = new Set([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);

/** Errors of an object: those of its schema, and those of its rules, unless the former make rules pointless. */
export function* withRuleErrors(
  errors: readonly FieldError[],
  rules: RuleSet | undefined,
  { object, stored }: { readonly object: unknown; readonly stored: unknown },
): Steps<readonly FieldError[]> {
  if (rules === undefined) return errors;
  if (!errors.some(({ type }) => blocking.has(type))) {
    return [...errors, ...(yield* rules.errors(object, { stored, path: "" }))];
  }
  const why =
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
  return [...errors, invalid(shownPath(""), null, why)];
}

/**
 * Checks the defaults of a schema against its rules; each rule is compiled once for all defaults, which together have the cost limit
 * of one object. Source: apiextensions-apiserver pkg/apiserver/schema/defaulting ValidateDefaults.
 */
export function newDefaultRules(): DefaultRuleErrors {
  const compiled: CompiledRules = new Map();
  const budget: RuleBudget = { left: objectBudget };
  return function* (schema, value, path) {
    const rules = yield* ruleSetSteps(schema, { isResource: schema.embeddedResource, compiled });
    return rules === undefined ? [] : yield* rules.errors(value, { path, budget });
  };
}

function* visit(run: RuleRun, node: RuledNode, place: RulePlace): Steps<void> {
  if (run.exhausted || place.value === null || place.value === undefined) return;
  if (endsStep(run.pace)) yield;
  yield* applyRules(run, node, place);
  for (const branch of node.allOf) {
    if (run.exhausted) continue;
    yield* visit(run, branch, { ...place, ratchet: { current: undefined, above: place.ratchet.above } });
  }
  yield* visitElements(run, node, place);
  yield* visitFields(run, node, place);
}

function* visitElements(run: RuleRun, { schema, items }: RuledNode, place: RulePlace): Steps<void> {
  const { value: list } = place;
  if (items === undefined || !isJsonArray(list)) return;
  const before = yield* storedElements(schema, place.stored, run.pace);
  const { current, above } = place.ratchet;
  for (const [index, value] of list.entries()) {
    if (run.exhausted) return;
    const ratchet =
      current === undefined ? { current, above } : { current: correlatedElement(current, value), above: current };
    yield* visit(run, items, { path: `${place.path}[${index}]`, value, stored: before(value), ratchet });
  }
}

function* visitFields(run: RuleRun, { properties, values }: RuledNode, place: RulePlace): Steps<void> {
  const { value: object } = place;
  if (!isJsonObject(object)) return;
  for (const name of Object.keys(object)) {
    const value = object[name];
    const node = properties.get(name) ?? values;
    if (run.exhausted) return;
    if (node === undefined) continue;
    const stored = isJsonObject(place.stored) ? ownValue(place.stored, name) : undefined;
    const path = properties.has(name) ? joinedPath(place.path, name) : `${place.path}[${name}]`;
    yield* visit(run, node, { path, value, stored, ratchet: ratchetBelow(place.ratchet, name) });
  }
}

/** Maximum cost of one expression. Source: apiserver apis/cel PerCallLimit. */
const callLimit = 1_000_000;
/** Measured: evaluating this cost takes as long as visiting a place of a value. */
const costOfPlace = 16;
const maxMessageBytes = 5 * 1024;

/** Maximum number of errors, each of which shows the value. */
const maxErrors = 100;
const maxErrorCharacters = 1_000_000;

/** One evaluation of all rules of a schema over one value. */
interface RuleRun {
  readonly errors: FieldError[];
  /** The number of characters of the messages of the errors. */
  length: number;
  /** The remaining cost. */
  budget: number;
  /** Whether the cost limit is exceeded, so that no further rule is evaluated. */
  exhausted: boolean;
  readonly pace: Pace;
}

/** Evaluates the rules of a node for a value of it, in steps; their errors and costs are counted in `run`. */
function* applyRules(run: RuleRun, node: RuledNode, place: RulePlace): Steps<void> {
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
  // An error should not show a whole object or list.
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

/** The message of a failed rule: of its message expression, or without a usable result the plain one; or why no further rule is evaluated. */
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
