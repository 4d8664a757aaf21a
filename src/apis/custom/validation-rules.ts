import { invalid, type FieldError } from "../../apimachinery/field-error.ts";
import { isJsonArray, isJsonObject, ownValue } from "../../apimachinery/json-value.ts";
import { endsStep } from "../../apimachinery/step-budget.ts";
import { finish, type Steps } from "../../apimachinery/steps.ts";
import { applyRules, newRuleRun, type RuleRun } from "./apply-rules.ts";
import type { DefaultRuleErrors } from "./default-errors.ts";
import {
  correlate,
  correlatedElement,
  storedElements,
  joinedPath,
  ratchetBelow,
  shownPath,
  type RulePlace,
} from "./correlation.ts";
import { compileRuleTree, type CompiledRules, type RuledNode } from "./compile-rules.ts";
import { ruleType } from "./rule-type.ts";
import type { StructuralSchema } from "./structural-schema.ts";

/** Evaluates all CEL rules of a schema over a value. */
export interface RuleSet {
  /**
   * What the rules say of a value that its schema takes, in steps. `stored` is the value that it replaces, undefined for a new one: rules that
   * name `oldSelf` apply where there was something, and other rules let pass what has not changed. `path` is that of the value,
   * empty for a whole object. Costs are bounded; when they are used up, that is an error, and rules that are left are not evaluated.
   */
  readonly errors: (
    value: unknown,
    options: { readonly stored?: unknown; readonly path: string; readonly budget?: RuleBudget },
  ) => Steps<readonly FieldError[]>;
}

/** What rules may still cost together. */
export interface RuleBudget {
  left: number;
}

/** What all expressions over one object may cost. Source: apiserver apis/cel RuntimeCELCostBudget. */
const objectBudget = 10_000_000;

interface RuleSetPlace {
  readonly isResource: boolean;
  /** Default: none. */
  readonly compiled?: CompiledRules;
}

/** The rules of a schema in which `schemaErrors` and `ruleSchemaErrors` found nothing wrong, or undefined where it has none. */
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
      const run = newRuleRun(budget.left);
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

/** Faults after which rules would only say the same again, or could not be evaluated. */
const blocking: ReadonlySet<string> = new Set([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);

/** What is wrong with an object: what its schema has found, and what its rules say, unless the former makes that pointless. */
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
 * Says what the rules of a schema say of its default; each rule is compiled once for all defaults, which together may cost what one object
 * may. Source: apiextensions-apiserver pkg/apiserver/schema/defaulting ValidateDefaults.
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
