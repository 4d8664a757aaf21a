import { type FieldError, duplicate, invalid, required, tooMany } from "../apimachinery/field-error.ts";
import { qualifiedNameProblems } from "../apimachinery/names.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { utf8Length } from "../apimachinery/utf8.ts";
import { boolType, nullType, stringType, type CelType } from "../policy/cel/types.ts";
import type { ExpressionScope } from "./admission-expression.ts";
import { maxExpressions, admissionKind } from "./admission-match.ts";
import {
  countExpressions,
  defaultedPolicy,
  paramKindColumn,
  policyScope,
  validateExpression,
  validatePolicyTerms,
  type PolicyTerms,
} from "./admission-policy.ts";
import { ageColumn, countColumn, builtinKind, statusPart } from "./builtin-kind.ts";
import { collectErrors, fieldErrors, type FieldResult, optionalOneOf, repetitions } from "./field-rules.ts";
import { arrayAt, fieldListAt, type Fields, fieldsAt, stringAt, withField } from "./json-fields.ts";
import type { Resource } from "./resource.ts";

/** Conditions in CEL on a write; a binding activates them. Source: api/admissionregistration/v1 ValidatingAdmissionPolicy. */
export interface ValidatingAdmissionPolicy extends ApiObject {
  readonly spec?: PolicySpec;
}

/** The spec as it is stored, defaults included. */
export interface PolicySpec extends PolicyTerms {
  readonly validations?: readonly PolicyValidation[];
  readonly auditAnnotations?: readonly { readonly key: string; readonly valueExpression: string }[];
}

/** One condition that must be true. */
export interface PolicyValidation {
  readonly expression: string;
  readonly message?: string;
  readonly reason?: string;
  readonly messageExpression?: string;
}

/** The types that an audit annotation's expression may have. */
export const annotationTypes: readonly CelType[] = [stringType, nullType];

const reasons: readonly string[] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
const maxAnnotations = 20;
const maxAnnotationExpressionBytes = 5 * 1024;
const nothingToDo = "validations or auditAnnotations must contain at least one item";

export const validatingAdmissionPolicies: Resource = builtinKind({
  ...admissionKind,
  kind: "ValidatingAdmissionPolicy",
  plural: "validatingadmissionpolicies",
  schema: "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicy",
  columns: [
    countColumn("Validations", "How many validations the policy has.", "spec", "validations"),
    paramKindColumn,
    ageColumn,
  ],
  subresources: { status: statusPart },
  prepareForCreate: (object) => withField(defaultedPolicy(object), "status", undefined),
  prepareForUpdate: (incoming, stored) => withField(defaultedPolicy(incoming), "status", stored["status"]),
  validate: (object, stored) => validatePolicy(object, stored),
});

/** Source: kubernetes pkg/apis/admissionregistration/validation validateValidatingAdmissionPolicySpec. */
function validatePolicy(object: ApiObject, stored: ApiObject | undefined): readonly FieldError[] {
  const spec = fieldsAt(object, "spec");
  const expressions = countExpressions(spec, "validations");
  if (expressions > maxExpressions) return [tooMany("spec.validations", expressions, maxExpressions)];
  const { scope, errors } = policyScope(spec);
  return [
    ...validatePolicyTerms(spec, { before: stored === undefined ? undefined : fieldsAt(stored, "spec") }),
    ...errors,
    ...validateValidations(spec, scope),
    ...validateAnnotations(spec, scope, object.metadata.name ?? ""),
  ];
}

function validateValidations(spec: Fields, scope: ExpressionScope): readonly FieldError[] {
  const validations = fieldListAt(spec, "validations");
  if (validations.length === 0 && arrayAt(spec, "auditAnnotations").length === 0) {
    return [required("spec.validations", nothingToDo), required("spec.auditAnnotations", nothingToDo)];
  }
  return collectErrors(validations, (validation, index) =>
    validateValidation(validation, scope, `spec.validations[${index}]`),
  );
}

function validateValidation(validation: Fields, scope: ExpressionScope, path: string): FieldResult {
  const [expression, message] = [stringAt(validation, "expression"), stringAt(validation, "message")];
  return [
    expression.trim() === ""
      ? required(`${path}.expression`, "expression is not specified")
      : validateExpression(`${path}.expression`, expression, { scope, results: [boolType] }),
    validateMessageExpression(stringAt(validation, "messageExpression"), scope, `${path}.messageExpression`),
    message !== "" && message.trim() === "" && invalid(`${path}.message`, message, "must be non-empty if specified"),
    /[\n\r]/.test(message.trim()) && invalid(`${path}.message`, message, "must not contain line breaks"),
    optionalOneOf(`${path}.reason`, validation["reason"], reasons),
  ];
}

function validateMessageExpression(expression: string, scope: ExpressionScope, path: string): FieldResult {
  if (expression === "") return false;
  return expression.trim() === ""
    ? invalid(path, expression, "must be non-empty if specified")
    : validateExpression(path, expression, { scope: { ...scope, authorizer: false }, results: [stringType] });
}

function validateAnnotations(spec: Fields, scope: ExpressionScope, policy: string): readonly FieldError[] {
  const annotations = fieldListAt(spec, "auditAnnotations");
  const isRepeated = repetitions();
  const path = "spec.auditAnnotations";
  return fieldErrors(
    annotations.length > maxAnnotations &&
      invalid(path, annotations, `must not have more than ${maxAnnotations} auditAnnotations`),
    collectErrors(annotations.slice(0, maxAnnotations), (annotation, index) => {
      const [key, expression] = [stringAt(annotation, "key"), stringAt(annotation, "valueExpression").trim()];
      const at = `${path}[${index}]`;
      return [
        ...qualifiedNameProblems(`${policy}/${key}`).map((why) => invalid(`${at}.key`, `${policy}/${key}`, why)),
        ...validateAnnotationValue(`${at}.valueExpression`, expression, scope),
        ...(isRepeated(key) ? [duplicate(`${at}.key`, key)] : []),
      ];
    }),
  );
}

function validateAnnotationValue(path: string, expression: string, scope: ExpressionScope): readonly FieldError[] {
  if (expression === "") return [required(path, "valueExpression is not specified")];
  if (utf8Length(expression) > maxAnnotationExpressionBytes) {
    return [required(path, `must not exceed ${maxAnnotationExpressionBytes} bytes in length`)];
  }
  return validateExpression(path, expression, { scope, results: annotationTypes });
}
