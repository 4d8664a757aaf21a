import { type FieldError, invalid, notSupported, required, forbiddenField } from "../apimachinery/field-error.ts";
import { labelValueProblems, qualifiedNameProblems } from "../apimachinery/names.ts";
import { arrayAt, fieldListAt, fieldsAt, stringAt, stringsAt } from "./json-fields.ts";

/** The result of rules: nothing, an error, or the results of several rules. */
export type FieldResult = FieldError | false | undefined | readonly FieldResult[];

/** The errors among `results`, in order. */
export function fieldErrors(...results: readonly FieldResult[]): readonly FieldError[] {
  const errors: FieldError[] = [];
  addErrors(errors, results);
  return errors;
}

function addErrors(errors: FieldError[], results: readonly FieldResult[]): void {
  for (const result of results) {
    if (result === false || result === undefined) continue;
    if ("path" in result) errors.push(result);
    else addErrors(errors, result);
  }
}

/** Maximum number of errors of one list; a person fixes the first few and tries again. */
const maxErrors = 32;

/**
 * The errors of the items in order. Checking stops soon after 32 errors, so that a hostile object cannot make the reply, and
 * the work for it, a hundred times as large as itself.
 */
export function collectErrors<T>(
  items: Iterable<T>,
  check: (item: T, index: number) => FieldResult,
): readonly FieldError[] {
  const errors: FieldError[] = [];
  let index = 0;
  for (const item of items) {
    addErrors(errors, [check(item, index)]);
    if (errors.length >= maxErrors) break;
    index += 1;
  }
  return errors;
}

type NameRule = (text: string) => readonly string[];

/** Errors of a text at `path` by a rule for names. */
export function nameErrors(path: string, text: string, problems: NameRule): readonly FieldError[] {
  return problems(text).map((why) => invalid(path, text, why));
}

/** The same for a text that must not be empty either. */
export function requiredName(path: string, text: string, problems: NameRule): readonly FieldError[] {
  return text === "" ? [required(path)] : nameErrors(path, text, problems);
}

/** The error of a value outside an enumeration. */
export function unsupported(path: string, value: string, allowed: readonly string[]): FieldError | undefined {
  return allowed.includes(value) ? undefined : notSupported(path, value, allowed);
}

/** The error of a value outside an enumeration, or of an empty one. */
export function requiredOneOf(path: string, value: string, allowed: readonly string[]): FieldError | undefined {
  return value === "" ? required(path) : unsupported(path, value, allowed);
}

/** The error of a value outside an enumeration where it is present. */
export function optionalOneOf(path: string, value: unknown, allowed: readonly string[]): FieldError | undefined {
  return typeof value === "string" ? unsupported(path, value, allowed) : undefined;
}

/** Returns a function that reports whether it was called with a text before. */
export function repetitions(): (text: string) => boolean {
  const seen = new Set<string>();
  return (text) => seen.size === seen.add(text).size;
}

/** Errors of a label selector in an object. Source: apimachinery meta/v1/validation ValidateLabelSelector. */
export function validateLabelSelector(selector: unknown, path: string): readonly FieldError[] {
  const labels = `${path}.matchLabels`;
  return [
    ...collectErrors(Object.entries(fieldsAt(selector, "matchLabels")), ([key, value]) => [
      ...nameErrors(labels, key, qualifiedNameProblems),
      ...labelValueProblems(String(value)).map((why) => invalid(labels, value, why)),
    ]),
    ...collectErrors(fieldListAt(selector, "matchExpressions"), (requirement, index) =>
      validateLabelRequirement(requirement, `${path}.matchExpressions[${index}]`),
    ),
  ];
}

/** Errors of one requirement over labels; an unknown operator is an error where it is `refused`. */
export function validateLabelRequirement(
  requirement: unknown,
  path: string,
  unknownOperator: "refused" | "allowed" = "refused",
): readonly FieldError[] {
  const key = stringAt(requirement, "key");
  return [
    ...validateSelectorOperator(requirement, path, unknownOperator),
    ...nameErrors(`${path}.key`, key, qualifiedNameProblems),
    ...collectErrors(stringsAt(requirement, "values"), (value, index) =>
      nameErrors(`${path}.values[${index}]`, value, labelValueProblems),
    ),
  ];
}

/** Errors of operator and values of one requirement. Source: apimachinery meta/v1/validation. */
export function validateSelectorOperator(
  requirement: unknown,
  path: string,
  unknownOperator: "refused" | "allowed",
): readonly FieldError[] {
  const operator = stringAt(requirement, "operator");
  const hasValues = arrayAt(requirement, "values").length > 0;
  const values = `${path}.values`;
  switch (operator) {
    case "In":
    case "NotIn":
      return hasValues ? [] : [required(values, "must be specified when `operator` is 'In' or 'NotIn'")];
    case "Exists":
    case "DoesNotExist":
      return hasValues
        ? [forbiddenField(values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")]
        : [];
    default:
      return unknownOperator === "allowed"
        ? []
        : [invalid(`${path}.operator`, operator, "not a valid selector operator")];
  }
}
