import { type FieldError, invalid, required } from "../apimachinery/field-error.ts";
import { dnsSubdomainProblems } from "../apimachinery/names.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { dynType, type CelType } from "../policy/cel/types.ts";
import {
  checkMatchCondition,
  compileExpression,
  expressionErrors,
  type ExpressionScope,
} from "./admission-expression.ts";
import {
  defaultedMatch,
  validateMatchConditions,
  validateMatchResources,
  type MatchCondition,
  type MatchResources,
  failurePolicyError,
} from "./admission-match.ts";
import { collectErrors, fieldErrors, type FieldResult } from "./field-rules.ts";
import {
  arrayAt,
  fieldListAt,
  type Fields,
  fieldsAt,
  isFields,
  isSameJson,
  stringAt,
  valueAt,
  withField,
} from "./json-fields.ts";
import { column } from "./builtin-kind.ts";
import type { Column } from "./resource.ts";

/** Fields that validating and mutating policies share. */
export interface PolicyTerms {
  readonly paramKind?: { readonly apiVersion?: string; readonly kind?: string };
  readonly matchConstraints?: MatchResources;
  readonly failurePolicy?: string;
  readonly matchConditions?: readonly MatchCondition[];
  readonly variables?: readonly PolicyVariable[];
}

/** An expression that other expressions use by its name. */
export interface PolicyVariable {
  readonly name: string;
  readonly expression: string;
}

const identifier = /^[_a-zA-Z][_a-zA-Z0-9]*$/;
const reservedWords: ReadonlySet<string> = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while __proto__".split(
    " ",
  ),
);

/** The column of `spec.paramKind`. */
export const paramKindColumn: Column = column("ParamKind", "The kind of the policy's parameters.", (object) => {
  const kind = valueAt(object, "spec", "paramKind");
  return isFields(kind) ? `${stringAt(kind, "apiVersion")}/${stringAt(kind, "kind")}` : "<unset>";
});

/** The policy with the defaults of Kubernetes. */
export function defaultedPolicy(object: ApiObject): ApiObject {
  const spec = fieldsAt(object, "spec");
  return withField(object, "spec", { failurePolicy: "Fail", ...spec, ...defaultedMatch(spec, "matchConstraints") });
}

/** The number of expressions of a policy under `field` and as variables. */
export function countExpressions(spec: Fields, field: "validations" | "mutations"): number {
  return arrayAt(spec, field).length + arrayAt(spec, "variables").length;
}

/** Options for checking the fields of a policy. */
interface PolicyChecks {
  /** The stored spec; undefined for a new policy. */
  readonly before: Fields | undefined;
  /** Further errors of `matchConstraints`. */
  readonly constraints?: (constraints: Fields) => readonly FieldError[];
}

/**
 * Errors of the fields of a policy, except its variables; match conditions that are unchanged are not checked again.
 * Source: kubernetes pkg/apis/admissionregistration/validation.
 */
export function validatePolicyTerms(spec: Fields, { before, constraints }: PolicyChecks): readonly FieldError[] {
  const params = isFields(spec["paramKind"]);
  const sameConditions =
    before !== undefined &&
    isSameJson(spec["matchConditions"], before["matchConditions"]) &&
    isSameJson(spec["paramKind"], before["paramKind"]);
  return fieldErrors(
    failurePolicyError(spec, "spec"),
    params && validateParamKind(fieldsAt(spec, "paramKind"), "spec.paramKind"),
    validateConstraints(spec),
    constraints?.(fieldsAt(spec, "matchConstraints")),
    !sameConditions && validateMatchConditions(spec, "spec", checkMatchCondition({ params })),
  );
}

function validateConstraints(spec: Fields): readonly FieldError[] {
  const path = "spec.matchConstraints";
  const constraints = valueAt(spec, "matchConstraints");
  if (!isFields(constraints)) return [required(path)];
  return fieldErrors(
    validateMatchResources(constraints, path),
    arrayAt(constraints, "resourceRules").length === 0 && required(`${path}.resourceRules`),
  );
}

function validateParamKind(kind: Fields, path: string): readonly FieldError[] {
  return fieldErrors(
    apiVersionErrors(stringAt(kind, "apiVersion"), `${path}.apiVersion`),
    stringAt(kind, "kind") === "" && required(`${path}.kind`),
  );
}

function apiVersionErrors(apiVersion: string, path: string): FieldResult {
  if (apiVersion === "") return required(path);
  const slash = apiVersion.indexOf("/");
  const [group, version] = slash < 0 ? ["", apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)];
  if (version.includes("/")) return invalid(path, apiVersion, `unexpected GroupVersion string: ${apiVersion}`);
  const problems = group === "" ? [] : dnsSubdomainProblems(group);
  return [
    problems.length > 0 && invalid(path, group, problems.join(",")),
    version === "" && invalid(path, apiVersion, "version must be specified"),
  ];
}

/** The scope of a policy's expressions, and the errors of its variables: each may use those before it. */
export function policyScope(spec: Fields): { readonly scope: ExpressionScope; readonly errors: readonly FieldError[] } {
  const params = isFields(spec["paramKind"]);
  const types: Record<string, CelType> = {};
  const declared = fieldListAt(spec, "variables");
  const errors = collectErrors(declared, (variable, index) => {
    const path = `spec.variables[${index}]`;
    const [name, expression] = [stringAt(variable, "name"), stringAt(variable, "expression")];
    const found: FieldError[] = [];
    if (name.trim() === "") found.push(required(`${path}.name`, "name is not specified"));
    else if (!identifier.test(name) || reservedWords.has(name)) {
      found.push(invalid(`${path}.name`, name, "must be a valid CEL identifier"));
    }
    if (expression.trim() === "") found.push(required(`${path}.expression`, "expression is not specified"));
    if (found.length > 0) return found;
    // A variable that does not compile is reported once, and not again by its users.
    types[name] = dynType;
    return expressionErrors(`${path}.expression`, expression, () => {
      const { [name]: _itself, ...earlier } = types;
      types[name] = compileExpression(expression, { params, authorizer: true, variables: earlier }, []).type;
    });
  });
  const scope = { params, authorizer: true };
  return { scope: declared.length === 0 ? scope : { ...scope, variables: types }, errors };
}

/** Errors of an expression at `path`, whose value must be of one of the types `results`. */
export function validateExpression(
  path: string,
  expression: string,
  { scope, results }: { readonly scope: ExpressionScope; readonly results: readonly CelType[] },
): readonly FieldError[] {
  return expressionErrors(path, expression, () => compileExpression(expression, scope, results));
}
