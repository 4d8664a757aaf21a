import { boolType, dynType, stringType, type CelType } from "../policy/cel/types.ts";
import type { ExpressionScope } from "../resources/admission-expression.ts";
import {
  annotationTypes,
  type PolicyValidation,
  type ValidatingAdmissionPolicy,
} from "../resources/validating-admission-policy.ts";
import type { ParamRef, ValidatingAdmissionPolicyBinding } from "../resources/validating-admission-policy-binding.ts";
import { storedExpression, type Expression, type NamedExpression } from "./expression-run.ts";
import { matchConditions, type MatchConditions } from "./match-conditions.ts";
import { requestMatch, type RequestMatch } from "./request-match.ts";

/** A stored policy, made ready for being evaluated again and again. */
export interface CompiledPolicy {
  readonly name: string;
  readonly match: RequestMatch;
  readonly ignoresFailure: boolean;
  readonly paramKind: { readonly apiVersion: string; readonly kind: string } | undefined;
  readonly conditions: MatchConditions;
  readonly variables: readonly NamedExpression[];
  readonly validations: readonly CompiledValidation[];
  readonly annotations: readonly { readonly key: string; readonly value: Expression }[];
}

export interface CompiledValidation {
  readonly expression: Expression;
  readonly messageExpression: Expression | undefined;
  readonly stored: PolicyValidation;
}

/** A stored binding. */
export interface CompiledBinding {
  readonly name: string;
  readonly policyName: string;
  readonly paramRef: ParamRef | undefined;
  /** Undefined matches whatever the policy does. */
  readonly match: RequestMatch | undefined;
  readonly actions: readonly string[];
}

/** The policy with its expressions compiled. */
export function compiledPolicy({ metadata, spec = {} }: ValidatingAdmissionPolicy): CompiledPolicy {
  const { paramKind, matchConstraints = {} } = spec;
  const params = paramKind !== undefined;
  const { variables, scope } = compiledVariables(spec.variables ?? [], params);
  return {
    name: metadata.name ?? "",
    match: requestMatch(matchConstraints, matchConstraints.resourceRules ?? []),
    ignoresFailure: spec.failurePolicy === "Ignore",
    paramKind: params ? { apiVersion: paramKind.apiVersion ?? "", kind: paramKind.kind ?? "" } : undefined,
    conditions: matchConditions(spec.matchConditions, { params }),
    variables,
    validations: (spec.validations ?? []).map((stored) => ({
      stored,
      expression: storedExpression(stored.expression, scope, [boolType]),
      messageExpression:
        (stored.messageExpression ?? "") === ""
          ? undefined
          : storedExpression(stored.messageExpression ?? "", { ...scope, authorizer: false }, [stringType]),
    })),
    annotations: (spec.auditAnnotations ?? []).map(({ key, valueExpression }) => ({
      key,
      value: storedExpression(valueExpression.trim(), scope, annotationTypes),
    })),
  };
}

/** Each variable knows those before it. */
function compiledVariables(
  declared: readonly { readonly name: string; readonly expression: string }[],
  params: boolean,
): { readonly variables: readonly NamedExpression[]; readonly scope: ExpressionScope } {
  const scope = { params, authorizer: true };
  const types = new Map<string, CelType>();
  const variables = declared.map(({ name, expression: source }): NamedExpression => {
    const expression = storedExpression(source, { ...scope, variables: Object.fromEntries(types) }, []);
    types.set(name, "problem" in expression.program ? dynType : expression.program.type);
    return { name, expression };
  });
  return { variables, scope: declared.length === 0 ? scope : { ...scope, variables: Object.fromEntries(types) } };
}

/** The binding, read once. */
export function compiledBinding({ metadata, spec = {} }: ValidatingAdmissionPolicyBinding): CompiledBinding {
  const { matchResources } = spec;
  const rules = matchResources?.resourceRules ?? [];
  return {
    name: metadata.name ?? "",
    policyName: spec.policyName ?? "",
    paramRef: spec.paramRef,
    match:
      matchResources === undefined ? undefined : requestMatch(matchResources, rules.length === 0 ? undefined : rules),
    actions: spec.validationActions ?? [],
  };
}
