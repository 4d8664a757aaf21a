import { StatusError } from "../apimachinery/status.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import type { Resource } from "../apis/resource.ts";
import type { AdmissionRequest } from "./admission.ts";
import type { Authorize, NextTurn } from "./expression-inputs.ts";
import type { BindingTarget, BoundPolicy, CompiledTerms } from "./policy.ts";
import { type ConvertObject, admissionNamespace, matchedResource, type MatchLookups } from "./request-match.ts";
import { labelSelectorFrom, matchesLabels } from "../apimachinery/label-selector.ts";
import { SelectorError } from "../apimachinery/selector-error.ts";

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

/** Where parameters are looked up; both see every acknowledged write. */
export interface ParamLookup {
  readonly resourceOf: (apiVersion: string, kind: string) => Resource | undefined;
  /** The objects of a resource, in one namespace, or all of a cluster-scoped one. @throws StatusError */
  readonly objectsOf: (resource: Resource, namespace: string) => Promise<readonly ApiObject[]>;
  readonly objectOf: (resource: Resource, namespace: string, name: string) => Promise<ApiObject | undefined>;
}

/** The parameters of a binding, each of which is evaluated; `undefined` among them stands for none. Or why there are none. */
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

type ParamRef = NonNullable<BindingTarget["paramRef"]>;

/** The namespace in which parameters are looked up, empty for cluster-scoped ones; or why there is none. */
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
