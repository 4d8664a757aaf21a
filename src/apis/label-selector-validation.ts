import { type FieldError, forbiddenField, invalid, required } from "../apimachinery/field-error.ts";
import { labelValueProblems, qualifiedNameProblems } from "../apimachinery/names.ts";
import { collectErrors, nameErrors } from "./field-rules.ts";
import { arrayAt, fieldListAt, fieldsAt, stringAt, stringsAt } from "./json-fields.ts";

/** What is wrong with a label selector in an object. Source: apimachinery meta/v1/validation ValidateLabelSelector. */
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

/** What is wrong with one requirement over labels; an operator that nobody knows is wrong where it is `refused`. */
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

/** What is wrong with operator and values of one requirement. Source: apimachinery meta/v1/validation. */
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
