import { jsonEqual } from "../../apimachinery/equal.ts";
import {
  invalid,
  notSupported,
  required,
  tooLong,
  tooMany,
  typeInvalid,
  type FieldError,
} from "../../apimachinery/field-error.ts";
import { isJsonArray, isJsonObject, ownValue, type JsonObject } from "../../apimachinery/json-value.ts";
import { endsStep } from "../../apimachinery/step-budget.ts";
import type { Steps } from "../../apimachinery/steps.ts";
import { formatCheck } from "./formats.ts";
import { isInt64, numberErrors, numberFormat } from "./number-errors.ts";
import type { StructuralSchema } from "./structural-schema.ts";
import { isUnchanged, memberSchema, storedElements } from "./correlation.ts";
import {
  newValueBudget,
  takeChecks,
  takePattern,
  type ValueBudget,
  emptyResult,
  maxErrors,
  merge,
  pathOf,
  wholePath,
  type ValueResult,
  type Where,
} from "./value-result.ts";

/**
 * The schema errors of a value, in Kubernetes' wording, at most 100; in steps. With `stored`, parts that equal their
 * stored counterpart are skipped: properties correspond by name, elements of lists of type map by their keys (KEP-4008).
 * Source: kube-openapi validate, apiextensions-apiserver pkg/apiserver/validation.
 */
export function* valueSchemaErrors(
  schema: StructuralSchema,
  value: unknown,
  options: { readonly stored: unknown; readonly path: string },
): Steps<readonly FieldError[]> {
  const budget = newValueBudget();
  const where: Where = { prefix: options.path, name: "" };
  const found = yield* checkPlace(schema, value, { structure: schema, stored: options.stored, where, budget });
  const errors = budget.refused === undefined ? found.errors : [...found.errors, budget.refused];
  const seen = new Set<string>();
  return errors.filter(({ path, message }) => {
    const text = `${path}\n${message}`;
    return seen.size < seen.add(text).size;
  });
}

/** A value and its path through the schema, and through the schemas below `allOf` and the like at the same place. */
interface Visit {
  /** The structural schema of the place, which defines how lists are correlated. */
  readonly structure: StructuralSchema | undefined;
  /** The previous value; undefined when there was none, or when it is unknown. */
  readonly stored: unknown;
  readonly where: Where;
  /** Shared by all places of the object. */
  readonly budget: ValueBudget;
}

function* checkPlace(schema: StructuralSchema, value: unknown, visit: Visit): Steps<ValueResult> {
  const { structure, stored, budget } = visit;
  if (stored !== undefined && (yield* isUnchanged(structure, { value, stored }, budget.pace))) return emptyResult();
  return yield* check(schema, value, visit);
}

function* check(schema: StructuralSchema, value: unknown, visit: Visit): Steps<ValueResult> {
  const { where, budget } = visit;
  const result = emptyResult();
  if (endsStep(budget.pace)) yield;
  if (!takeChecks(budget, 1, () => pathOf(where))) return result;
  if (value === null || value === undefined) return nullResult(schema, where);
  checkType(schema, value, { where, result });
  if (hasJunctors(schema)) merge(result, yield* checkJunctors(schema, value, visit));
  merge(result, yield* checkContents(schema, value, visit));
  if (typeof value !== "object" || takeChecks(budget, schema.enum.length, () => pathOf(where))) {
    add(result, enumErrors(schema, value, where));
  }
  if (isJsonObject(value)) {
    merge(result, yield* checkObject(schema, value, visit));
    result.passed += 1;
  }
  result.passed += 4;
  return result;
}

function nullResult(schema: StructuralSchema, where: Where): ValueResult {
  const errors = schema.nullable ? [] : typeErrors(schema, null, where);
  return { errors: [...errors, ...enumErrors(schema, null, where)], passed: errors.length === 0 ? 1 : 0 };
}

/** Errors inside of a text, a number or a list. */
function* checkContents(schema: StructuralSchema, value: unknown, visit: Visit): Steps<ValueResult> {
  if (typeof value === "string") return textResult(schema, value, visit);
  if (typeof value === "number") return { errors: [...numberErrors(schema, value, visit.where)], passed: 2 };
  return isJsonArray(value) ? yield* checkArray(schema, value, visit) : emptyResult();
}

interface Target {
  readonly where: Where;
  readonly result: ValueResult;
}

function add(result: ValueResult, errors: readonly FieldError[]): void {
  if (errors.length > 0) merge(result, { errors: [...errors], passed: 0 });
}

function checkType(schema: StructuralSchema, value: unknown, { where, result }: Target): void {
  if (schema.type === undefined && !schema.intOrString && !hasFormat(schema)) return;
  const errors = typeErrors(schema, value, where);
  add(result, errors);
  result.passed += errors.length === 0 ? 2 : 1;
}

/** Formats of numbers apply with their type only, those of text with type string or none; Kubernetes ignores all others. */
function hasFormat(schema: StructuralSchema): boolean {
  return checkedTextFormat(schema) !== undefined || numberFormat(schema) !== undefined;
}

function checkedTextFormat({ type, format, intOrString }: StructuralSchema): ((text: string) => boolean) | undefined {
  if (format === undefined || !(type === undefined || type === "string" || intOrString)) return undefined;
  return formatCheck(format);
}

/** Unlike Kubernetes this accepts no list as a text with a format. */
function typeErrors(schema: StructuralSchema, value: unknown, where: Where): readonly FieldError[] {
  const types = typesOf(schema);
  const actual = typeOf(value);
  if (types.includes(actual) || (actual === "integer" && types.includes("number"))) return [];
  const isFormatted = !["null", "string", "array"].includes(actual) && hasFormat(schema);
  if (isFormatted) return [wrongType(where, schema.format ?? "", goTypes[actual] ?? "")];
  return types.length === 0 ? [] : [wrongType(where, types.join(","), actual)];
}

const goTypes: Readonly<Partial<Record<string, string>>> = { integer: "int64", number: "float64" };

function typesOf({ type, intOrString }: StructuralSchema): readonly string[] {
  if (intOrString) return ["integer", "string"];
  return type === undefined ? [] : [type];
}

function wrongType(where: Where, wanted: string, shown: string): FieldError {
  return typeInvalid(pathOf(where), shown, `${where.name} in body must be of type ${wanted}: ${JSON.stringify(shown)}`);
}

function typeOf(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (isJsonArray(value)) return "array";
  if (typeof value === "number") return isInt64(value) ? "integer" : "number";
  return typeof value;
}

function enumErrors(schema: StructuralSchema, value: unknown, where: Where): readonly FieldError[] {
  if (schema.enum.length === 0) return [];
  // A null matches no enumeration, even one that contains it.
  const isAllowed =
    typeof value === "object"
      ? schema.enum.some((one) => jsonEqual(one, value))
      : schema.enumScalars?.has(value) === true;
  if (value !== null && isAllowed) return [];
  const allowed = schema.enum.map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
  return [notSupported(pathOf(where), value, allowed)];
}

function textResult(schema: StructuralSchema, value: string, { where, budget }: Visit): ValueResult {
  const { minLength, maxLength, pattern, format } = schema;
  const result: ValueResult = { errors: [], passed: 1 };
  if (minLength === undefined && maxLength === undefined && pattern === undefined && format === undefined)
    return result;
  const path = pathOf(where);
  const error = textError(schema, value, { where, budget });
  if (error !== undefined) result.errors.push(error);
  const isFormatted = checkedTextFormat(schema);
  if (isFormatted === undefined) return result;
  if (!isFormatted(value)) {
    const why = `${where.name} in body must be of type ${format ?? ""}: ${JSON.stringify(value)}`;
    result.errors.push(typeInvalid(path, value, why));
  }
  result.passed += 1;
  return result;
}

/** Errors of the length of a text, or of the text by the pattern of its schema. */
function textError(
  { minLength, maxLength, pattern }: StructuralSchema,
  value: string,
  { where, budget }: Pick<Visit, "where" | "budget">,
): FieldError | undefined {
  const path = pathOf(where);
  if (maxLength !== undefined && isLonger(value, maxLength)) return tooLong(path, maxLength);
  if (minLength !== undefined && !isLonger(value, minLength - 1)) {
    return invalid(path, value, `${where.name} in body should be at least ${minLength} chars long`);
  }
  if (pattern === undefined || !takePattern(budget, pattern, { text: value, path }) || pattern.matches(value)) {
    return undefined;
  }
  return invalid(path, value, `${where.name} in body should match '${pattern.source}'`);
}

/** Whether the text has more than `limit` code points. */
function isLonger(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  if (text.length > limit * 2) return true;
  let count = 0;
  for (let index = 0; index < text.length; count += 1) index += (text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1;
  return count > limit;
}

function* checkArray(schema: StructuralSchema, value: readonly unknown[], visit: Visit): Steps<ValueResult> {
  const { minItems, maxItems, items } = schema;
  const { name } = visit.where;
  const result = items === undefined ? emptyResult() : yield* checkItems(items, value, visit);
  const path = pathOf(visit.where);
  if (minItems !== undefined && value.length < minItems) {
    add(result, [invalid(path, value.length, `${name} in body should have at least ${minItems} items`)]);
  }
  if (maxItems !== undefined && value.length > maxItems) add(result, [tooMany(path, value.length, maxItems)]);
  if (schema.uniqueItems && (yield* hasRepeats(value, visit.budget))) {
    add(result, [invalid(path, "", `${name} in body shouldn't contain duplicates`)]);
  }
  result.passed += 2;
  return result;
}

function* checkItems(items: StructuralSchema, list: readonly unknown[], visit: Visit): Steps<ValueResult> {
  const { where, budget } = visit;
  const result = emptyResult();
  const storedElement = yield* storedElements(visit.structure, visit.stored, budget.pace);
  for (const [index, element] of list.entries()) {
    if (result.errors.length >= maxErrors) break;
    const place = { ...where, name: `${where.name}[${index}]` };
    const below = { structure: visit.structure?.items, stored: storedElement(element), where: place, budget };
    merge(result, yield* checkPlace(items, element, below));
  }
  return result;
}

/** Whether two elements of a list are equal. */
function* hasRepeats(list: readonly unknown[], { pace }: ValueBudget): Steps<boolean> {
  const seen = new Set<string>();
  for (const element of list) {
    if (endsStep(pace)) yield;
    seen.add(canonicalText(element));
  }
  return seen.size < list.length;
}

function* checkObject(schema: StructuralSchema, value: JsonObject, visit: Visit): Steps<ValueResult> {
  const { minProperties, maxProperties, additionalProperties, properties } = schema;
  const { where } = visit;
  const result = emptyResult();
  const count = Object.keys(value).length;
  if (minProperties !== undefined && count < minProperties) {
    const why = `${where.name} in body should have at least ${minProperties} properties`;
    add(result, [invalid(pathOf(where), count, why)]);
  }
  if (maxProperties !== undefined && count > maxProperties) {
    add(result, [tooMany(pathOf(where), count, maxProperties)]);
  }
  if (additionalProperties !== undefined && additionalProperties !== true) {
    merge(result, yield* checkAdditional(schema, value, visit));
  }
  for (const [key, property] of properties) {
    if (!Object.hasOwn(value, key)) continue;
    const name = where.name === "" ? key : `${where.name}.${key}`;
    merge(result, yield* checkPlace(property, value[key], member(visit, key, name)));
  }
  const missing = schema.required.filter((key) => !Object.hasOwn(value, key));
  add(
    result,
    missing.map((key) => required(pathOf({ ...where, name: `${where.name}.${key}` }))),
  );
  return result;
}

/** Errors of the members that are not declared as properties. */
function* checkAdditional(
  { additionalProperties, properties }: StructuralSchema,
  value: JsonObject,
  visit: Visit,
): Steps<ValueResult> {
  const result = emptyResult();
  for (const key of Object.keys(value)) {
    if (properties.has(key)) continue;
    if (result.errors.length >= maxErrors) break;
    const name = `${visit.where.name}.${key}`;
    if (typeof additionalProperties === "object") {
      merge(result, yield* checkPlace(additionalProperties, value[key], member(visit, key, name)));
    } else add(result, [invalid(pathOf(visit.where), key, `${name} in body is a forbidden property`)]);
  }
  return result;
}

function member(visit: Visit, key: string, name: string): Visit {
  const { structure, stored, where, budget } = visit;
  const below = memberSchema(structure, key);
  // The version that the client wrote is not visible in the stored object.
  const isVersioned = where.name === "" && (key === "apiVersion" || key === "kind");
  return {
    structure: below,
    stored: below !== undefined && !isVersioned && isJsonObject(stored) ? ownValue(stored, key) : undefined,
    where: { ...where, name },
    budget,
  };
}

function hasJunctors({ anyOf, oneOf, allOf, not }: StructuralSchema): boolean {
  return anyOf.length > 0 || oneOf.length > 0 || allOf.length > 0 || not !== undefined;
}

function* checkJunctors(schema: StructuralSchema, value: unknown, { where, budget }: Visit): Steps<ValueResult> {
  // As in Kubernetes, alternatives are decided by the whole value, whether parts of it have changed or not.
  const visit: Visit = { structure: undefined, stored: undefined, where, budget };
  const result = emptyResult();
  if (schema.anyOf.length > 0) merge(result, yield* checkAnyOf(schema.anyOf, value, visit));
  if (schema.oneOf.length > 0) merge(result, yield* checkOneOf(schema.oneOf, value, visit));
  if (schema.allOf.length > 0) merge(result, yield* checkAllOf(schema.allOf, value, visit));
  if (schema.not !== undefined && (yield* check(schema.not, value, visit)).errors.length === 0) {
    add(result, [alternativeError(visit, "must not validate the schema (not)")]);
  }
  return result;
}

function alternativeError({ where }: Visit, why: string): FieldError {
  return invalid(wholePath(where.prefix), "", `${JSON.stringify(where.name)} ${why}`);
}

function* checkAnyOf(schemas: readonly StructuralSchema[], value: unknown, visit: Visit): Steps<ValueResult> {
  let best: ValueResult | undefined;
  for (const schema of schemas) {
    const one = yield* check(schema, value, visit);
    if (one.errors.length === 0) return one;
    if (best === undefined || one.passed > best.passed) best = one;
  }
  const result = emptyResult();
  add(result, [alternativeError(visit, "must validate at least one schema (anyOf)")]);
  if (best !== undefined) merge(result, best);
  return result;
}

function* checkOneOf(schemas: readonly StructuralSchema[], value: unknown, visit: Visit): Steps<ValueResult> {
  const all: ValueResult[] = [];
  for (const schema of schemas) all.push(yield* check(schema, value, visit));
  const [first, ...more] = all.filter(({ errors }) => errors.length === 0);
  if (first !== undefined && more.length === 0) return first;
  const result = emptyResult();
  const found = first === undefined ? "Found none valid" : `Found ${more.length + 1} valid alternatives`;
  add(result, [alternativeError(visit, `must validate one and only one schema (oneOf). ${found}`)]);
  const best = all.reduce((leading, one) => (one.passed > leading.passed ? one : leading));
  if (first === undefined) merge(result, best);
  return result;
}

function* checkAllOf(schemas: readonly StructuralSchema[], value: unknown, visit: Visit): Steps<ValueResult> {
  const result = emptyResult();
  let valid = 0;
  for (const schema of schemas) {
    const one = yield* check(schema, value, visit);
    if (one.errors.length === 0) valid += 1;
    merge(result, one);
  }
  if (valid === schemas.length) return result;
  add(result, [
    alternativeError(visit, `must validate all the schemas (allOf)${valid === 0 ? ". None validated" : ""}`),
  ]);
  return result;
}

/** A text that two JSON values share if and only if they are equal, whatever the order of their keys. */
export function canonicalText(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (isJsonArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value) ?? "null";
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalText(value[key])}`).join(",")}}`;
}
