import { type FieldError, invalid, notSupported, required, tooMany } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { listType, type CelType } from "../policy/cel/types.ts";
import { applyConfigurationType, jsonPatchType } from "../policy/kubernetes/patch-types.ts";
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
import { ageColumn, countColumn, builtinKind } from "./builtin-kind.ts";
import { collectErrors, fieldErrors, requiredOneOf } from "./field-rules.ts";
import { fieldListAt, type Fields, fieldsAt, isFields, stringAt, stringsAt } from "./json-fields.ts";
import type { Resource } from "./resource.ts";

/** Mutations in CEL of a write; a binding activates them. Source: api/admissionregistration/v1 MutatingAdmissionPolicy. */
export interface MutatingAdmissionPolicy extends ApiObject {
  readonly spec?: MutatingPolicySpec;
}

/** The spec as it is stored, defaults included. */
export interface MutatingPolicySpec extends PolicyTerms {
  readonly mutations?: readonly PolicyMutation[];
  readonly reinvocationPolicy?: string;
}

/** One mutation. `patchType` determines which of the two fields it has. */
export interface PolicyMutation {
  readonly patchType?: string;
  readonly applyConfiguration?: { readonly expression?: string };
  readonly jsonPatch?: { readonly expression?: string };
}

/** A form of mutation: the field of the expression, and the type of the expression. */
export interface PatchType {
  readonly field: "applyConfiguration" | "jsonPatch";
  readonly result: CelType;
}

/** The values of `patchType`. */
export const patchTypes: Readonly<Record<string, PatchType>> = {
  ApplyConfiguration: { field: "applyConfiguration", result: applyConfigurationType },
  JSONPatch: { field: "jsonPatch", result: listType(jsonPatchType) },
};

const reinvocationPolicies: readonly string[] = ["IfNeeded", "Never"];
/** A deletion cannot be mutated. */
const operations: readonly string[] = ["*", "CONNECT", "CREATE", "UPDATE"];

export const mutatingAdmissionPolicies: Resource = builtinKind({
  ...admissionKind,
  kind: "MutatingAdmissionPolicy",
  plural: "mutatingadmissionpolicies",
  schema: "io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicy",
  columns: [
    countColumn("Mutations", "How many mutations the policy has.", "spec", "mutations"),
    paramKindColumn,
    ageColumn,
  ],
  prepareForCreate: defaultedPolicy,
  prepareForUpdate: defaultedPolicy,
  validate: (object, stored) => validatePolicy(object, stored),
});

/** Source: kubernetes pkg/apis/admissionregistration/validation validateMutatingAdmissionPolicySpec. */
function validatePolicy(object: ApiObject, stored: ApiObject | undefined): readonly FieldError[] {
  const spec = fieldsAt(object, "spec");
  const expressions = countExpressions(spec, "mutations");
  if (expressions > maxExpressions) return [tooMany("spec.mutations", expressions, maxExpressions)];
  const { scope, errors } = policyScope(spec);
  return fieldErrors(
    validatePolicyTerms(spec, {
      before: stored === undefined ? undefined : fieldsAt(stored, "spec"),
      constraints: (constraints) => validateOperations(constraints, "spec.matchConstraints"),
    }),
    errors,
    validateMutations(spec, { ...scope, patches: true }),
    requiredOneOf("spec.reinvocationPolicy", stringAt(spec, "reinvocationPolicy"), reinvocationPolicies),
  );
}

/** Errors of the operations of MatchResources of a mutating policy. */
export function validateOperations(match: Fields, path: string): readonly FieldError[] {
  return fieldListAt(match, "resourceRules").flatMap((rule) =>
    stringsAt(rule, "operations")
      .filter((operation) => !operations.includes(operation))
      .map((operation) => notSupported(`${path}.resourceRules.operations`, operation, operations)),
  );
}

function validateMutations(spec: Fields, scope: ExpressionScope): readonly FieldError[] {
  const mutations = fieldListAt(spec, "mutations");
  if (mutations.length === 0) return [required("spec.mutations", "mutations must contain at least one item")];
  return collectErrors(mutations, (mutation, index) => validateMutation(mutation, scope, `spec.mutations[${index}]`));
}

function validateMutation(mutation: Fields, scope: ExpressionScope, path: string): readonly FieldError[] {
  const name = stringAt(mutation, "patchType");
  if (name === "") return [required(`${path}.patchType`)];
  const type = Object.hasOwn(patchTypes, name) ? patchTypes[name] : undefined;
  if (type === undefined) return [notSupported(`${path}.patchType`, name, Object.keys(patchTypes))];
  const { field, result } = type;
  const other = field === "jsonPatch" ? "applyConfiguration" : "jsonPatch";
  const expression = stringAt(mutation, field, "expression").trim();
  const at = `${path}.${field}.expression`;
  return fieldErrors(
    !isFields(mutation[field])
      ? required(`${path}.${field}`, `must be specified when patchType is ${name}`)
      : expression === ""
        ? required(at)
        : validateExpression(at, expression, { scope, results: [result] }),
    isFields(mutation[other]) &&
      invalid(`${path}.${other}`, `{${other}}`, `must not be specified when patchType is ${name}`),
  );
}
