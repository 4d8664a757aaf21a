import { StatusError } from "../apimachinery/status.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import type { Resource } from "../apis/resource.ts";
import type { AdmissionRequest } from "./admission.ts";
import type { Authorize } from "./caching-authorizer.ts";
import type { NextTurn } from "./expression-inputs.ts";
import type { BindingTarget, BoundPolicy, CompiledTerms } from "./policy.ts";
import { bindingParams, type ParamLookup } from "./policy-params.ts";
import type { ConvertObject } from "./versioned-attributes.ts";
import { admissionNamespace, matchedResource, type MatchLookups } from "./request-match.ts";

/** What plugins of policies look up and ask. */
export interface PolicyPluginOptions<Policy, Binding> {
  /** The policies in force, sorted by name, each with its bindings, sorted by name. */
  readonly policies: () => readonly BoundPolicy<Policy, Binding>[];
  readonly lookups: MatchLookups;
  readonly params: ParamLookup;
  readonly convert: ConvertObject;
  readonly authorize: Authorize;
  readonly turn: NextTurn;
}

/** A policy that is to be evaluated for a request, once for each of its bindings and parameters. */
export interface PolicyInvocation<Binding> {
  readonly binding: Binding;
  /** The version by which the request matches the policy. */
  readonly resource: Resource;
  readonly params: ApiObject | undefined;
}

/** Why a policy cannot be evaluated; `binding` where that is because of one. */
export interface PolicyProblem<Binding> {
  readonly binding: Binding | undefined;
  readonly message: string;
}

/** The invocations of a policy, and what keeps it from being evaluated. Source: apiserver pkg/admission/plugin/policy/generic Dispatch. */
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
