import { CelError } from "../policy/cel/cel-error.ts";
import type { CelProgram } from "../policy/cel/compile.ts";
import { boolType, listType, mapType, objectType, stringType, type CelType } from "../policy/cel/types.ts";
import { compileKubernetesCel } from "../policy/kubernetes/compile-kubernetes-cel.ts";
import type { AskedSpec } from "./access-review-spec.ts";
import { aggregateErrors } from "./authorizer.ts";

/** Whether a webhook is called for a request. */
export type Match = { readonly matches: boolean } | { readonly error: string };

/** Decides from the spec of the review that would be sent. */
export type MatchConditions = (spec: AskedSpec) => Match;

/**
 * The cost that evaluating all conditions of a request may reach. Kubernetes has it for each condition: apiserver pkg/apis/cel,
 * PerCallLimit. Here all are evaluated together, before any other check of the request.
 */
const budget = 1_000_000;

const texts = (...names: readonly string[]): Readonly<Record<string, CelType>> =>
  Object.fromEntries(names.map((name) => [name, stringType]));

const requirement = objectType("kubernetes.SelectorRequirement", {
  ...texts("key", "operator"),
  values: listType(stringType),
});
const selector = (name: string): CelType =>
  objectType(name, { rawSelector: stringType, requirements: listType(requirement) });

const request = objectType("kubernetes.SubjectAccessReviewSpec", {
  resourceAttributes: objectType("kubernetes.ResourceAttributes", {
    ...texts("namespace", "verb", "group", "version", "resource", "subresource", "name"),
    fieldSelector: selector("kubernetes.FieldSelectorAttributes"),
    labelSelector: selector("kubernetes.LabelSelectorAttributes"),
  }),
  nonResourceAttributes: objectType("kubernetes.NonResourceAttributes", texts("path", "verb")),
  ...texts("user", "uid"),
  groups: listType(stringType),
  extra: mapType(stringType, listType(stringType)),
});

/** Compiles a condition over `request`. @throws CelError for one that cannot be used. */
export function compileMatchCondition(expression: string): CelProgram {
  const program = compileKubernetesCel(expression, { request });
  if (program.type.kind !== boolType.kind) throw new CelError("type", "must evaluate to bool");
  return program;
}

/**
 * All conditions of a webhook as one. One that is false excludes the request, whatever the others return; otherwise one that cannot be
 * evaluated is an error. Source: apiserver pkg/authorization/cel CELMatcher.
 * @throws CelError for an expression that cannot be used
 */
export function matchConditions(expressions: readonly string[]): MatchConditions {
  const conditions = expressions.map((expression) => ({ expression, program: compileMatchCondition(expression) }));
  return function match(spec) {
    if (conditions.length === 0) return { matches: true };
    const variables = { request: shownRequest(spec) };
    const errors: string[] = [];
    let left = budget;
    for (const { expression, program } of conditions) {
      const outcome = program.evaluate(variables, { budget: Math.max(0, left) });
      left -= outcome.cost;
      if ("error" in outcome) {
        errors.push(`cel evaluation error: expression '${expression}' resulted in error: ${outcome.error}`);
      } else if (outcome.value !== true) return { matches: false };
    }
    return errors.length === 0 ? { matches: true } : { error: aggregateErrors(errors) };
  };
}

const emptyAttributes = { namespace: "", verb: "", group: "", version: "", resource: "", subresource: "", name: "" };

/** The review as expressions see it under `request`: with every text field, also those that are empty. */
export function shownRequest(spec: AskedSpec): object {
  const { user, uid = "", groups = [], extra = {}, resourceAttributes, nonResourceAttributes } = spec;
  return {
    user,
    uid,
    groups,
    extra,
    ...(resourceAttributes === undefined ? {} : { resourceAttributes: { ...emptyAttributes, ...resourceAttributes } }),
    ...(nonResourceAttributes === undefined ? {} : { nonResourceAttributes }),
  };
}
