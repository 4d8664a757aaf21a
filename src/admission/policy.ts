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
import {
  requestMatch,
  type RequestMatch,
  type ConvertObject,
  admissionNamespace,
  matchedResource,
  type MatchLookups,
} from "./request-match.ts";
import { StatusError } from "../apimachinery/status.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import type { Resource } from "../apis/resource.ts";
import type { AdmissionRequest } from "./admission.ts";
import type { Authorize, NextTurn } from "./expression-inputs.ts";
import { labelSelectorFrom, matchesLabels } from "../apimachinery/label-selector.ts";
import { SelectorError } from "../apimachinery/selector-error.ts";

/** The common part of every stored policy, compiled for repeated evaluation. */
export interface CompiledTerms {
  readonly name: string;
  readonly match: RequestMatch;
  readonly ignoresFailure: boolean;
  readonly paramKind: { readonly apiVersion: string; readonly kind: string } | undefined;
  readonly conditions: MatchConditions;
  readonly variables: readonly NamedExpression[];
}

/** A stored validating policy. */
export interface CompiledPolicy extends CompiledTerms {
  readonly validations: readonly CompiledValidation[];
  readonly annotations: readonly { readonly key: string; readonly value: Expression }[];
}

/** A stored mutating policy. */
export interface CompiledMutatingPolicy extends CompiledTerms {
  readonly mutations: readonly CompiledMutation[];
  /** Whether the policy is called again where the object changed after it. */
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

/** The effect and the scope of a stored binding. */
export interface BindingTarget {
  readonly name: string;
  readonly policyName: string;
  readonly paramRef: ParamRef | undefined;
  /** Undefined matches everything that the policy does. */
  readonly match: RequestMatch | undefined;
}

/** A stored binding of a validating policy. */
export interface CompiledBinding extends BindingTarget {
  readonly actions: readonly string[];
}

/** A policy with at least one binding. */
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

/** Each variable can use those before it. */
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

/** The parsed binding. */
export function compiledBinding(binding: ValidatingAdmissionPolicyBinding): CompiledBinding {
  return { ...compiledTarget(binding), actions: binding.spec?.validationActions ?? [] };
}

/** The parsed binding of a mutating policy. */
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

/** The lookups and calls of policy plugins. */
export interface PolicyPluginOptions<Policy, Binding> {
  /** The policies in force, sorted by name, each with its bindings, sorted by name. */
  readonly policies: () => readonly BoundPolicy<Policy, Binding>[];
  readonly lookups: MatchLookups;
  readonly params: ParamLookup;
  readonly convert: ConvertObject;
  readonly authorize: Authorize;
  readonly turn: NextTurn;
}

/** A policy to evaluate for a request, once for each of its bindings and parameters. */
export interface PolicyInvocation<Binding> {
  readonly binding: Binding;
  /** The version by which the request matches the policy. */
  readonly resource: Resource;
  readonly params: ApiObject | undefined;
}

/** Why a policy cannot be evaluated; `binding` is set where one binding is the cause. */
interface PolicyProblem<Binding> {
  readonly binding: Binding | undefined;
  readonly message: string;
}

/** The invocations of a policy, and its evaluation errors. Source: apiserver pkg/admission/plugin/policy/generic Dispatch. */
export async function policyInvocations<Binding extends BindingTarget>(
  { policy, bindings }: BoundPolicy<CompiledTerms, Binding>,
  request: AdmissionRequest,
  options: Pick<PolicyPluginOptions<unknown, unknown>, "lookups" | "params">,
): Promise<{
  readonly invocations: readonly PolicyInvocation<Binding>[];
  readonly problems: readonly PolicyProblem<Binding>[];
}> {
  const invocations: PolicyInvocation<Binding>[] = [];
  const problems: PolicyProblem<Binding>[] = [];
  try {
    const resource = matchedResource(policy.match, request, options.lookups);
    if (resource === undefined) return { invocations, problems };
    for (const binding of bindings) {
      if (binding.match !== undefined && matchedResource(binding.match, request, options.lookups) === undefined)
        continue;
      const found = await bindingParams(policy, binding, {
        namespace: admissionNamespace(request),
        lookup: options.params,
      });
      if ("problem" in found) problems.push({ binding, message: `failed to configure binding: ${found.problem}` });
      else invocations.push(...found.params.map((params) => ({ binding, resource, params })));
    }
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    problems.push({ binding: undefined, message: `failed to configure policy: ${error.message}` });
  }
  return { invocations, problems };
}

/** The lookup of parameters; both functions see every acknowledged write. */
export interface ParamLookup {
  readonly resourceOf: (apiVersion: string, kind: string) => Resource | undefined;
  /** The objects of a resource, in one namespace, or all of a cluster-scoped resource. @throws StatusError */
  readonly objectsOf: (resource: Resource, namespace: string) => Promise<readonly ApiObject[]>;
  readonly objectOf: (resource: Resource, namespace: string, name: string) => Promise<ApiObject | undefined>;
}

/** The parameters of a binding, each of which is evaluated; `undefined` is evaluation without a parameter. Or why there are none. */
type Params = { readonly params: readonly (ApiObject | undefined)[] } | { readonly problem: string };

/** Source: apiserver pkg/admission/plugin/policy/generic CollectParams. */
async function bindingParams(
  { paramKind }: Pick<CompiledTerms, "paramKind">,
  { paramRef }: Pick<BindingTarget, "paramRef">,
  { namespace, lookup }: { readonly namespace: string; readonly lookup: ParamLookup },
): Promise<Params> {
  if (paramKind === undefined || paramRef === undefined) return { params: [undefined] };
  const resource = lookup.resourceOf(paramKind.apiVersion, paramKind.kind);
  if (resource === undefined) {
    return { problem: `paramKind kind \`${paramKind.apiVersion}, Kind=${paramKind.kind}\` not known` };
  }
  const place = paramNamespace(resource, paramRef, namespace);
  if (typeof place === "object") return place;
  const found = await lookedUp(resource, place, { paramRef, lookup });
  if ("params" in found && found.params.length === 0 && paramRef.parameterNotFoundAction !== "Allow") {
    return { problem: "no params found for policy binding with `Deny` parameterNotFoundAction" };
  }
  return found;
}

/** The namespace of parameters, empty for cluster-scoped ones; or why there is none. */
function paramNamespace(
  { scope }: Resource,
  { namespace: own = "" }: ParamRef,
  requested: string,
): string | { readonly problem: string } {
  if (scope === "Cluster") {
    return own === "" ? "" : { problem: "paramRef.namespace must not be provided for a cluster-scoped `paramKind`" };
  }
  const problem = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources";
  return own || requested || { problem };
}

async function lookedUp(
  resource: Resource,
  namespace: string,
  { paramRef, lookup }: { readonly paramRef: ParamRef; readonly lookup: ParamLookup },
): Promise<Params> {
  const { name = "", selector } = paramRef;
  if (name !== "") {
    const object = await lookup.objectOf(resource, namespace, name);
    return { params: object === undefined ? [] : [object] };
  }
  if (selector === undefined) return { problem: "one of name or selector must be provided" };
  try {
    const labels = labelSelectorFrom(selector);
    const objects = await lookup.objectsOf(resource, namespace);
    return { params: objects.filter((object) => matchesLabels(labels, object.metadata.labels)) };
  } catch (error) {
    if (error instanceof SelectorError) return { problem: error.message };
    throw error;
  }
}
