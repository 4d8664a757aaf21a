import { forbiddenField, invalid, notSupported, required, type FieldError } from "../../apimachinery/field-error.ts";
import { endsStep, type Pace } from "../../apimachinery/step-budget.ts";
import type { Steps } from "../../apimachinery/steps.ts";
import { estimateCost } from "../../policy/cel-cost/estimate-cost.ts";
import { compileRule, type CompiledRule, ruleFieldPath } from "./compile-rules.ts";
import { maxRequest, ruleType, type RuleType } from "./rule-type.ts";
import type { StructuralSchema, ValidationRule } from "./structural-schema.ts";
import { fieldErrors } from "../field-rules.ts";

/** Maximum cost of one expression, times the number of values that it applies to. Source: apiextensions-apiserver validation. */
const expressionLimit = 10_000_000;
/** Maximum cost of all rules of a schema together. */
const schemaLimit = 100_000_000;
/** The cost of compiling a rule, besides its characters, relative to visiting a place. */
const placesOfRule = 64;
/** Maximum number of errors. */
const maxErrors = 100;

/**
 * All errors of the CEL rules of a schema that is otherwise valid: expressions that do not compile
 * or could cost too much, invalid messages, reasons and paths, `oldSelf` where old and new values cannot be
 * correlated. `path` is that of the schema. Source: apiextensions-apiserver validation, ValidateCustomResourceDefinitionOpenAPISchema.
 */
export function* ruleSchemaErrors(
  schema: StructuralSchema,
  path: string,
  { used, versions }: RulesPlace = { used: newRulesSize(), versions: 1 },
): Steps<readonly FieldError[]> {
  const own = newRulesSize();
  measureRules(schema, own);
  if (own.rules === 0) return [];
  used.rules += own.rules * versions;
  used.characters += own.characters * versions;
  if (used.rules > maxRules || used.characters > maxCharacters) return [tooManyRules(used, path)];
  yield;
  const shapes: FieldError[] = [];
  collectShapes(schema, path, shapes);
  if (shapes.length > 0) return shapes.slice(0, maxErrors);
  yield;
  const walk: Walk = { errors: [], costs: [], pace: { places: 0 } };
  const type = ruleType(schema, { name: "selfType", isResource: true });
  yield;
  yield* check(walk, schema, { path, type, count: 1, uncorrelatable: undefined });
  return [...walk.errors, ...totalErrors(walk.costs, path)];
}

/** The context of a schema with rules. */
export interface RulesPlace {
  /** The rules of the definition that were checked so far; those of this schema are added. */
  readonly used: RulesSize;
  /** The number of versions with this schema; each compiles its own rules. */
  readonly versions: number;
}

/** No rules. */
export function newRulesSize(): RulesSize {
  return { rules: 0, characters: 0 };
}

/**
 * Maximum number of rules of all versions of a definition, and of their characters together: compiling a rule takes up to a millisecond,
 * and it stays compiled as long as its kind is served. Kubernetes limits the cost of rules at run time, not this.
 */
const maxRules = 2_000;
const maxCharacters = 262_144;

/** The number of rules, and of their characters. */
export interface RulesSize {
  rules: number;
  characters: number;
}

function measureRules(schema: StructuralSchema, size: RulesSize): void {
  for (const { rule, messageExpression = "" } of schema.validations) {
    size.rules += 1;
    size.characters += rule.length + messageExpression.length;
  }
  for (const child of schema.properties.values()) measureRules(child, size);
  if (schema.items !== undefined) measureRules(schema.items, size);
  if (typeof schema.additionalProperties === "object") measureRules(schema.additionalProperties, size);
}

function tooManyRules({ rules, characters }: RulesSize, path: string): FieldError {
  const why = `the definition has ${rules} rules of x-kubernetes-validations with ${characters} characters in all, and may have ${maxRules} with ${maxCharacters}; combine rules, or move them into an admission policy`;
  return forbiddenField(path, why);
}

interface Child {
  readonly schema: StructuralSchema;
  readonly step: string;
}

function children({ properties, items, additionalProperties }: StructuralSchema): readonly Child[] {
  return [
    ...(typeof additionalProperties === "object"
      ? [{ schema: additionalProperties, step: "additionalProperties" }]
      : []),
    ...Array.from(properties, ([name, schema]) => ({ schema, step: `properties[${name}]` })),
    ...(items === undefined ? [] : [{ schema: items, step: "items" }]),
  ];
}

function collectShapes(schema: StructuralSchema, path: string, errors: FieldError[]): void {
  for (const { schema: child, step } of children(schema)) collectShapes(child, `${path}.${step}`, errors);
  for (const [index, rule] of schema.validations.entries()) {
    errors.push(...shapeErrors(rule, schema, `${path}.x-kubernetes-validations[${index}]`));
  }
}

const reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

function shapeErrors(rule: ValidationRule, schema: StructuralSchema, path: string): readonly FieldError[] {
  const { messageExpression, reason } = rule;
  const isBlank = messageExpression !== undefined && messageExpression.trim() === "";
  const isUnknown = reason !== undefined && !reasons.includes(reason);
  return fieldErrors(
    messageErrors(rule, path),
    isBlank && required(`${path}.messageExpression`, "messageExpression must be non-empty if specified"),
    isUnknown && notSupported(`${path}.reason`, reason, reasons),
    fieldPathErrors(rule, schema, `${path}.fieldPath`),
  );
}

function messageErrors({ rule, message }: ValidationRule, path: string): readonly FieldError[] {
  const text = message?.trim() ?? "";
  if (rule.trim() === "") return [required(`${path}.rule`, "rule is not specified")];
  if (message !== undefined && text === "") {
    return [invalid(`${path}.message`, message, "must be non-empty if specified")];
  }
  if (hasLineBreaks(text)) return [invalid(`${path}.message`, message, "must not contain line breaks")];
  if (!hasLineBreaks(rule.trim()) || text !== "") return [];
  return [required(`${path}.message`, "message must be specified if rule contains line breaks")];
}

function fieldPathErrors({ fieldPath }: ValidationRule, schema: StructuralSchema, path: string): readonly FieldError[] {
  if (fieldPath === undefined) return [];
  return fieldErrors(
    fieldPath.trim() === "" && invalid(path, fieldPath, "must be non-empty if specified"),
    hasLineBreaks(fieldPath) && invalid(path, fieldPath, "must not contain line breaks"),
    ruleFieldPath(fieldPath, schema) === undefined && invalid(path, fieldPath, "must be a valid path"),
  );
}

function hasLineBreaks(text: string): boolean {
  return /[\n\r]/.test(text);
}

interface Walk {
  readonly errors: FieldError[];
  readonly pace: Pace;
  readonly costs: { readonly path: string; readonly cost: number }[];
}

interface Place {
  readonly path: string;
  readonly type: RuleType | undefined;
  /** Maximum number of values of the schema in one object; undefined where nothing declares it. */
  readonly count: number | undefined;
  /** The path of the list or map whose parts cannot be correlated with the old ones, if the place is in one. */
  readonly uncorrelatable: string | undefined;
}

function* check(walk: Walk, schema: StructuralSchema, place: Place): Steps<void> {
  if (endsStep(walk.pace)) yield;
  const count = place.count === undefined ? undefined : multiplied(place.count, growth(schema));
  for (const child of children(schema)) {
    const isLoose = child.step === "items" && schema.listType !== "map";
    yield* check(walk, child.schema, {
      path: `${place.path}.${child.step}`,
      type: typeBelow(child, place),
      count,
      uncorrelatable: isLoose ? (place.uncorrelatable ?? place.path) : place.uncorrelatable,
    });
  }
  if (schema.validations.length > 0) yield* checkRules(walk, schema, place);
}

/** The type of a value below, also where the names above cannot be written in rules. */
function typeBelow({ schema, step }: Child, { type }: Place): RuleType | undefined {
  const name = /^properties\[(.*)\]$/s.exec(step)?.[1];
  const known = name === undefined ? type?.inside : type?.properties.get(name);
  return known ?? ruleType(schema, { name: "selfType", isResource: schema.embeddedResource });
}

function growth({ type, additionalProperties, maxProperties, maxItems }: StructuralSchema): number | undefined {
  if (type === "array") return maxItems === undefined ? undefined : Math.max(0, maxItems);
  if (type !== "object" || additionalProperties === undefined) return 1;
  return maxProperties === undefined ? undefined : Math.max(0, maxProperties);
}

function* checkRules(walk: Walk, schema: StructuralSchema, place: Place): Steps<void> {
  const at = `${place.path}.x-kubernetes-validations`;
  const { type } = place;
  if (type === undefined) {
    walk.errors.push(invalid(at, "", "rules are not supported where the type of values is not known"));
    return;
  }
  const count = place.count ?? Math.floor(maxRequest / (type.minSize + 1));
  for (const [index, rule] of schema.validations.entries()) {
    if (walk.errors.length >= maxErrors) return;
    if (endsStep(walk.pace, placesOfRule + rule.rule.length)) yield;
    const compiled = compileRule(rule, type.type);
    costErrors(walk, compiled, { path: `${at}[${index}]`, count });
    walk.errors.push(
      ...compilationErrors(compiled, `${at}[${index}]`),
      ...oldSelfErrors(compiled, `${at}[${index}]`, place),
    );
  }
}

function costErrors(
  walk: Walk,
  { program, message }: CompiledRule,
  { path, count }: { readonly path: string; readonly count: number },
): void {
  const cost = program === undefined ? 0 : (multiplied(estimateCost(program.ast), count) ?? 0);
  note(walk, { path: `${path}.rule`, cost, name: "estimated rule cost" });
  if (message === undefined) return;
  note(walk, {
    path: `${path}.messageExpression`,
    cost: estimateCost(message.ast),
    name: "estimated messageExpression cost",
  });
}

function note(
  walk: Walk,
  { path, cost, name }: { readonly path: string; readonly cost: number; readonly name: string },
): void {
  // NaN exceeds every limit.
  if (!(cost <= expressionLimit)) walk.errors.push(forbiddenField(path, tooCostly(name, cost, expressionLimit)));
  walk.costs.push({ path, cost });
}

function compilationErrors({ rule, problem, messageProblem }: CompiledRule, path: string): readonly FieldError[] {
  return fieldErrors(
    problem !== undefined && shownWithRule(`${path}.rule`, rule, problem),
    messageProblem !== undefined && shownWithRule(`${path}.messageExpression`, rule, messageProblem),
  );
}

function oldSelfErrors(compiled: CompiledRule, path: string, { uncorrelatable }: Place): readonly FieldError[] {
  const { rule, usesOldSelf } = compiled;
  if (usesOldSelf && uncorrelatable !== undefined) {
    const why = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelatable}`;
    return [invalid(`${path}.rule`, rule.rule, why)];
  }
  if (usesOldSelf || rule.optionalOldSelf === undefined) return [];
  return [invalid(`${path}.optionalOldSelf`, rule.optionalOldSelf, "may not be set if oldSelf is not used in rule")];
}

/** The error shows all of the rule, under the names that it has inside of Kubernetes. */
function shownWithRule(path: string, rule: ValidationRule, why: string): FieldError {
  const value = {
    Rule: rule.rule,
    Message: rule.message ?? "",
    MessageExpression: rule.messageExpression ?? "",
    Reason: rule.reason ?? null,
    FieldPath: rule.fieldPath ?? "",
    OptionalOldSelf: rule.optionalOldSelf ?? null,
  };
  return invalid(path, value, why);
}

function totalErrors(costs: Walk["costs"], path: string): readonly FieldError[] {
  const total = costs.reduce((sum, { cost }) => sum + cost, 0);
  if (total <= schemaLimit) return [];
  const why = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
  const expensive = costs
    .filter(({ cost }) => cost >= schemaLimit / 100)
    .toSorted((one, other) => (one.cost === other.cost ? 0 : other.cost - one.cost))
    .slice(0, 4);
  const name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
  return [
    ...expensive.map((one) => forbiddenField(one.path, why)),
    forbiddenField(path, tooCostly(name, total, schemaLimit)),
  ];
}

function tooCostly(name: string, cost: number, limit: number): string {
  const times = cost / limit;
  const factor = times > 100 ? "more than 100x" : times < 1.5 ? `${times.toFixed(6)}x` : `${times.toFixed(1)}x`;
  return `${name} exceeds budget by factor of ${factor} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;
}

/** Zero times infinity is zero. */
function multiplied(one: number, other: number | undefined): number | undefined {
  if (other === undefined) return undefined;
  return one === 0 || other === 0 ? 0 : one * other;
}
