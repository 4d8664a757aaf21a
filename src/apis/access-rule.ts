import { CelError } from "../policy/cel/cel-error.ts";
import { dynType } from "../policy/cel/types.ts";
import { compileKubernetesCel } from "../policy/kubernetes/compile-kubernetes-cel.ts";

/** What a rule of an AccessProfile may look at: the request, what the API saw of it, and the profile, as JSON. */
export interface AccessRuleFacts {
  readonly object: unknown;
  readonly evidence: unknown;
  readonly profile: unknown;
}

/** A compiled rule: whether it holds, or why that cannot be said, and what that cost of the `budget`. Never throws. */
export type AccessRuleProgram = (
  facts: AccessRuleFacts,
  budget: number,
) => ({ readonly holds: boolean } | { readonly error: string }) & { readonly cost: number };

/** What all rules of a profile together may cost for one request. Source: apiserver's PerCallLimit for admission policies. */
export const accessRulesBudget = 1_000_000;
const maxExpressionCharacters = 10_000;

/** Compiles a rule over `object`, `evidence` and `profile`, whose value must be a bool. @throws CelError */
export function compileAccessRule(expression: string): AccessRuleProgram {
  if (expression.length > maxExpressionCharacters)
    throw new CelError("size", `longer than ${maxExpressionCharacters} characters`);
  const variables = { object: dynType, evidence: dynType, profile: dynType };
  const program = compileKubernetesCel(expression, variables);
  if (program.type.kind !== "bool") throw new CelError("type", "must evaluate to bool");
  return ({ object, evidence, profile }, budget) => {
    const result = program.evaluate({ object, evidence, profile }, { budget });
    const { cost } = result;
    return "error" in result ? { error: result.error, cost } : { holds: result.value === true, cost };
  };
}
