import type { Steps } from "../apimachinery/steps.ts";
import { boolType } from "../policy/cel/types.ts";
import type { MatchCondition } from "../apis/admission-match.ts";
import {
  evaluateInSteps,
  matchConditionBudget,
  newMeter,
  storedExpression,
  type Expression,
  type ExpressionInputs,
} from "./expression-run.ts";

/** The match conditions of a webhook or policy. */
export type MatchConditions = readonly Expression[];

/** Whether all conditions hold; `failed` where that cannot be said, with the reasons. */
export type ConditionsVerdict = { readonly matches: boolean } | { readonly failed: string };

/** The conditions compiled. */
export function matchConditions(
  conditions: readonly MatchCondition[] | undefined,
  scope: { readonly params: boolean },
): MatchConditions {
  return (conditions ?? []).map(({ expression }) =>
    storedExpression(expression.trim(), { ...scope, authorizer: true }, [boolType]),
  );
}

/**
 * One condition that is false decides, whatever the others say; errors count only where none is false.
 * Source: apiserver pkg/admission/plugin/webhook/matchconditions.
 */
export function* judgeConditions(conditions: MatchConditions, inputs: ExpressionInputs): Steps<ConditionsVerdict> {
  const meter = newMeter(matchConditionBudget, inputs);
  const errors: string[] = [];
  for (const condition of conditions) {
    const result = yield* evaluateInSteps(condition, inputs, meter);
    if ("error" in result) {
      if (result.spent) return { failed: result.error };
      errors.push(result.error);
    } else if (result.value === false) {
      return { matches: false };
    }
  }
  if (errors.length === 0) return { matches: true };
  return { failed: errors.length === 1 ? (errors[0] ?? "") : `[${errors.join(", ")}]` };
}
