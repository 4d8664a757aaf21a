import { duplicate, forbiddenField, invalid, required, type FieldError } from "../../core/field-error.ts";
import { isJsonArray, isJsonObject, ownValue, type JsonObject } from "../../core/json-value.ts";
import { endsStep, type Pace } from "../../core/pace.ts";
import { finish, type Steps } from "../../core/steps.ts";
import type { CelProgram } from "../../policy/cel/compile.ts";
import { celOptional, fromJson } from "../../policy/cel/values.ts";
import { compileRule, type CompiledRule } from "./compile-rule.ts";
import { correlate, correlatedElement, correlatedField, storedElements, type Correlation } from "./rule-correlation.ts";
import type { DefaultRuleErrors } from "./default-errors.ts";
import { ruleFieldPath } from "./rule-field-path.ts";
import { ruleType, type RuleType } from "./rule-type.ts";
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

/** What one expression may cost. Source: apiserver apis/cel PerCallLimit. */
const callLimit = 1_000_000;
/** What all expressions over one object may cost. Source: apiserver apis/cel RuntimeCELCostBudget. */
const objectBudget = 10_000_000;
/** Measured: evaluating what costs so much takes as long as looking at a place of a value. */
const costOfPlace = 16;
const longestMessage = 5 * 1024;

/** Rules that were compiled already, by the part of the schema that has them. */
type CompiledRules = Map<StructuralSchema, readonly Rule[]>;

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
  const rules = yield* ruledNode({ rules: schema, values: schema }, type, { pace: { places: 0 }, compiled });
  if (rules === undefined) return undefined;
  return {
    *errors(value, { stored, path, budget = { left: objectBudget } }) {
      const run: Run = { errors: [], length: 0, budget: budget.left, exhausted: false, pace: { places: 0 } };
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
  return [...errors, invalid(shown(""), null, why)];
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

/** A part of a schema that has rules, or below which there are some. */
interface RuledNode {
  readonly schema: StructuralSchema;
  readonly type: RuleType | undefined;
  readonly rules: readonly Rule[];
  readonly allOf: readonly RuledNode[];
  readonly properties: ReadonlyMap<string, RuledNode>;
  readonly items: RuledNode | undefined;
  readonly values: RuledNode | undefined;
}

interface Rule {
  readonly compiled: CompiledRule;
  /** The path below the value that errors name. */
  readonly fieldPath: string | undefined;
}

/** Where rules stand, and the schema of the values that they apply to: of a branch of `allOf`, the schema that holds it. */
interface Schemas {
  readonly rules: StructuralSchema;
  readonly values: StructuralSchema;
}

interface Compilation {
  readonly pace: Pace;
  readonly compiled: CompiledRules;
}

/** What compiling a rule costs besides its characters, next to looking at a place. */
const placesOfRule = 64;

function* ruledNode(
  { rules, values }: Schemas,
  type: RuleType | undefined,
  compilation: Compilation,
): Steps<RuledNode | undefined> {
  if (endsStep(compilation.pace)) yield;
  const below = function* (
    child: StructuralSchema | undefined,
    childValues: StructuralSchema | undefined,
    known?: RuleType,
  ): Steps<RuledNode | undefined> {
    if (child === undefined || childValues === undefined) return undefined;
    return yield* ruledNode({ rules: child, values: childValues }, known ?? freshType(childValues), compilation);
  };
  const properties = new Map<string, RuledNode>();
  for (const [name, child] of rules.properties) {
    const node = yield* below(child, values.properties.get(name), type?.properties.get(name));
    if (node !== undefined) properties.set(name, node);
  }
  const allOf: RuledNode[] = [];
  for (const branch of rules.allOf) {
    const node = yield* ruledNode({ rules: branch, values }, type, compilation);
    if (node !== undefined) allOf.push(node);
  }
  const node: RuledNode = {
    schema: values,
    type,
    rules: type === undefined ? [] : yield* compiledRules({ rules, values }, type, compilation),
    allOf,
    properties,
    items: yield* below(rules.items, values.items, type?.inside),
    values: yield* below(schemaOf(rules.additionalProperties), schemaOf(values.additionalProperties), type?.inside),
  };
  const isEmpty = node.rules.length === 0 && node.allOf.length === 0 && properties.size === 0;
  return isEmpty && node.items === undefined && node.values === undefined ? undefined : node;
}

function* compiledRules(
  { rules, values }: Schemas,
  { type }: RuleType,
  { pace, compiled }: Compilation,
): Steps<readonly Rule[]> {
  if (rules.validations.length === 0) return [];
  const known = compiled.get(rules);
  if (known !== undefined) return known;
  const made: Rule[] = [];
  for (const rule of rules.validations) {
    if (endsStep(pace, placesOfRule + rule.rule.length)) yield;
    const fieldPath = rule.fieldPath === undefined ? undefined : ruleFieldPath(rule.fieldPath, values);
    made.push({ compiled: compileRule(rule, type), fieldPath });
  }
  compiled.set(rules, made);
  return made;
}

function freshType(schema: StructuralSchema): RuleType | undefined {
  return ruleType(schema, { name: "selfType", isResource: schema.embeddedResource });
}

function schemaOf(additional: StructuralSchema["additionalProperties"]): StructuralSchema | undefined {
  return typeof additional === "object" ? additional : undefined;
}

interface Run {
  readonly errors: FieldError[];
  /** How many characters the messages of the errors have. */
  length: number;
  budget: number;
  exhausted: boolean;
  readonly pace: Pace;
}

/** What of the value was there before: by itself, or as a part of something that was. */
interface Ratchet {
  readonly current: Correlation | undefined;
  readonly above: Correlation | undefined;
}

interface Place {
  readonly path: string;
  readonly value: unknown;
  readonly stored: unknown;
  readonly ratchet: Ratchet;
}

/** Many errors tell no more than some, and each shows the value. */
const maximumErrors = 100;
const longestErrors = 1_000_000;

function* visit(run: Run, node: RuledNode, place: Place): Steps<void> {
  if (run.exhausted || place.value === null || place.value === undefined) return;
  if (endsStep(run.pace)) yield;
  yield* applyRules(run, node, place);
  for (const branch of node.allOf) {
    if (run.exhausted) continue;
    yield* visit(run, branch, { ...place, ratchet: { current: undefined, above: place.ratchet.above } });
  }
  if (isJsonArray(place.value)) yield* visitElements(run, node, place, place.value);
  else if (isJsonObject(place.value)) yield* visitFields(run, node, place, place.value);
}

function* visitElements(run: Run, { schema, items }: RuledNode, place: Place, list: readonly unknown[]): Steps<void> {
  if (items === undefined) return;
  const before = storedElements(schema, place.stored);
  const { current, above } = place.ratchet;
  for (const [index, value] of list.entries()) {
    if (run.exhausted) return;
    const ratchet =
      current === undefined ? { current, above } : { current: correlatedElement(current, value), above: current };
    yield* visit(run, items, { path: `${place.path}[${index}]`, value, stored: before(value), ratchet });
  }
}

function* visitFields(run: Run, { properties, values }: RuledNode, place: Place, object: JsonObject): Steps<void> {
  for (const [name, value] of Object.entries(object)) {
    const node = properties.get(name) ?? values;
    if (run.exhausted) return;
    if (node === undefined) continue;
    const stored = isJsonObject(place.stored) ? ownValue(place.stored, name) : undefined;
    const path = properties.has(name) ? joined(place.path, name) : `${place.path}[${name}]`;
    yield* visit(run, node, { path, value, stored, ratchet: ratchetBelow(place.ratchet, name) });
  }
}

function ratchetBelow({ current, above }: Ratchet, name: string): Ratchet {
  if (current === undefined) return { current, above };
  // What the object is does not change with its version, and so cannot be what excuses it.
  if (above === undefined && (name === "apiVersion" || name === "kind"))
    return { current: undefined, above: undefined };
  return { current: correlatedField(current, name), above: current };
}

function joined(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function* applyRules(run: Run, node: RuledNode, place: Place): Steps<void> {
  for (const { compiled, fieldPath } of node.rules) {
    if (endsStep(run.pace)) yield;
    if (run.exhausted || run.errors.length >= maximumErrors || run.length >= longestErrors) return;
    applyRule(run, node, { ...place, compiled, fieldPath });
  }
}

type RulePlace = Place & Rule;

function report(run: Run, error: FieldError): void {
  run.errors.push(error);
  run.length += error.message.length;
}

function applyRule(run: Run, node: RuledNode, place: RulePlace): void {
  const { program, problem, rule, usesOldSelf } = place.compiled;
  const shownType = node.schema.type ?? "";
  if (program === undefined) {
    report(run, invalid(shown(place.path), shownType, `rule compile error: ${problem}`));
    return;
  }
  const isOptional = rule.optionalOldSelf === true;
  if (usesOldSelf && (place.stored === undefined || place.stored === null) && !isOptional) return;
  const outcome = evaluated(run, program, variablesOf(place, isOptional));
  if (outcome === "exhausted") {
    const why = "validation failed due to running out of cost budget, no further validation rules will be run";
    report(run, invalid(shown(place.path), shownType, why));
    run.exhausted = true;
  } else if ("error" in outcome) {
    report(run, invalid(shown(place.path), shownType, evaluationProblem(outcome.error, ruleText(place))));
    run.exhausted ||= isOverLimit(outcome.error);
  } else if (outcome.value !== true) fail(run, node, place);
}

function variablesOf({ value, stored }: Place, isOptional: boolean): Readonly<Record<string, unknown>> {
  if (!isOptional) return { self: value, ...(stored === undefined || stored === null ? {} : { oldSelf: stored }) };
  return { self: value, oldSelf: celOptional(stored === undefined || stored === null ? undefined : fromJson(stored)) };
}

type Outcome = { readonly value: unknown } | { readonly error: string } | "exhausted";

function evaluated(run: Run, program: CelProgram, variables: Readonly<Record<string, unknown>>): Outcome {
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

/** The error of a rule that says false, unless the value has not changed. */
function fail(run: Run, node: RuledNode, place: RulePlace): void {
  const { compiled, path, fieldPath, value } = place;
  const at = shown(fieldPath === undefined ? path : joined(path, fieldPath));
  const message = failureMessage(run, place);
  const isExcused = !compiled.usesOldSelf && isUnchanged(place.ratchet);
  if (typeof message !== "string") {
    run.exhausted = true;
    if (!isExcused) report(run, invalid(at, node.schema.type ?? "", message.problem));
  } else if (!isExcused) report(run, ruleError(at, value, { message, node, reason: compiled.rule.reason }));
}

function isUnchanged({ current, above }: Ratchet): boolean {
  return (current ?? above)?.isUnchanged() === true;
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

/** The words of a failed rule, or why there is no going on. An expression that says nothing of use gives way to the plain message. */
function failureMessage(run: Run, place: RulePlace): string | { readonly problem: string } {
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
  const isUsable = text !== "" && !text.includes("\n") && Buffer.byteLength(text) <= longestMessage;
  return isUsable ? text : plain;
}

function ruleText({ compiled: { rule } }: Rule): string {
  return (rule.message ?? rule.rule).trim();
}

/** Go prints a path without steps so. */
function shown(path: string): string {
  return path === "" ? "<nil>" : path;
}
