import { boolType, dynType, stringType, type CelType } from "../policy/cel/types.ts";
import type { ExpressionScope } from "../apis/admission-expression.ts";
import type { PolicyTerms, PolicyVariable } from "../apis/admission-policy.ts";
import type {
  ParamRef,
  MutatingAdmissionPolicyBinding,
  ValidatingAdmissionPolicyBinding,
} from "../apis/admission-policy-binding.ts";
import { patchTypes, type MutatingAdmissionPolicy, type PatchType } from "../apis/mutating-admission-policy.ts";
import {
  annotationTypes,
  type PolicyValidation,
  type ValidatingAdmissionPolicy,
} from "../apis/validating-admission-policy.ts";
import {
  storedExpression,
  type Expression,
  type NamedExpression,
  matchConditions,
  type MatchConditions,
} from "./expression-run.ts";
import { requestMatch, type RequestMatch } from "./request-match.ts";

/** What every stored policy has, made ready for being evaluated again and again. */
export interface CompiledTerms {
  readonly name: string;
  readonly match: RequestMatch;
  readonly ignoresFailure: boolean;
  readonly paramKind: { readonly apiVersion: string; readonly kind: string } | undefined;
  readonly conditions: MatchConditions;
  readonly variables: readonly NamedExpression[];
}

/** A stored policy that validates. */
export interface CompiledPolicy extends CompiledTerms {
  readonly validations: readonly CompiledValidation[];
  readonly annotations: readonly { readonly key: string; readonly value: Expression }[];
}

/** A stored policy that mutates. */
export interface CompiledMutatingPolicy extends CompiledTerms {
  readonly mutations: readonly CompiledMutation[];
  /** The policy is called a second time where the object changed after it. */
  readonly reinvoked: boolean;
}

/** One change of a policy. */
export interface CompiledMutation {
  readonly field: PatchType["field"];
  readonly expression: Expression;
}

export interface CompiledValidation {
  readonly expression: Expression;
  readonly messageExpression: Expression | undefined;
  readonly stored: PolicyValidation;
}

/** What a stored binding puts into force, and for what. */
export interface BindingTarget {
  readonly name: string;
  readonly policyName: string;
  readonly paramRef: ParamRef | undefined;
  /** Undefined matches whatever the policy does. */
  readonly match: RequestMatch | undefined;
}

/** A stored binding of a policy that validates. */
export interface CompiledBinding extends BindingTarget {
  readonly actions: readonly string[];
}

/** A policy that at least one binding puts into force. */
export interface BoundPolicy<Policy = CompiledPolicy, Binding = CompiledBinding> {
  readonly policy: Policy;
  readonly bindings: readonly Binding[];
}

/** The policy with its expressions compiled. */
export function compiledPolicy({ metadata, spec = {} }: ValidatingAdmissionPolicy): CompiledPolicy {
  const { terms, scope } = compiledTerms(metadata.name ?? "", spec);
  return {
    ...terms,
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

/** The policy with its expressions compiled. Source: apiserver pkg/admission/plugin/policy/mutating compilePolicy. */
export function compiledMutatingPolicy({ metadata, spec = {} }: MutatingAdmissionPolicy): CompiledMutatingPolicy {
  const { terms, scope } = compiledTerms(metadata.name ?? "", spec);
  return {
    ...terms,
    mutations: (spec.mutations ?? []).flatMap((mutation) => {
      const type = patchTypes[mutation.patchType ?? ""];
      if (type === undefined) return [];
      const source = mutation[type.field]?.expression ?? "";
      return { field: type.field, expression: storedExpression(source, { ...scope, patches: true }, [type.result]) };
    }),
    reinvoked: spec.reinvocationPolicy === "IfNeeded",
  };
}

function compiledTerms(
  name: string,
  spec: PolicyTerms,
): { readonly terms: CompiledTerms; readonly scope: ExpressionScope } {
  const { paramKind, matchConstraints = {} } = spec;
  const params = paramKind !== undefined;
  const { variables, scope } = compiledVariables(spec.variables ?? [], params);
  const terms = {
    name,
    match: requestMatch(matchConstraints, matchConstraints.resourceRules ?? []),
    ignoresFailure: spec.failurePolicy === "Ignore",
    paramKind: params ? { apiVersion: paramKind.apiVersion ?? "", kind: paramKind.kind ?? "" } : undefined,
    conditions: matchConditions(spec.matchConditions, { params }),
    variables,
  };
  return { terms, scope };
}

/** Each variable knows those before it. */
function compiledVariables(
  declared: readonly PolicyVariable[],
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
export function compiledBinding(binding: ValidatingAdmissionPolicyBinding): CompiledBinding {
  return { ...compiledTarget(binding), actions: binding.spec?.validationActions ?? [] };
}

/** The binding of a policy that mutates, read once. */
export function compiledTarget({ metadata, spec = {} }: MutatingAdmissionPolicyBinding): BindingTarget {
  const { matchResources } = spec;
  const rules = matchResources?.resourceRules ?? [];
  return {
    name: metadata.name ?? "",
    policyName: spec.policyName ?? "",
    paramRef: spec.paramRef,
    match:
      matchResources === undefined ? undefined : requestMatch(matchResources, rules.length === 0 ? undefined : rules),
  };
}
