import { utf8Length } from "../apimachinery/utf8.ts";
import type { Steps } from "../apimachinery/steps.ts";
import {
  evaluateInSteps,
  newMeter,
  validationBudget,
  withVariables,
  type ExpressionInputs,
  type Meter,
} from "./expression-run.ts";
import { judgeConditions } from "./match-conditions.ts";
import type { CompiledPolicy, CompiledValidation } from "./policy.ts";

/** One validation that does not hold, or could not be evaluated where that counts as much. */
export interface PolicyFailure {
  /** Which validation. */
  readonly index: number;
  readonly message: string;
  /** Empty for an expression that failed. */
  readonly reason: string;
}

/** What a policy says of a request with one set of parameters. */
export interface PolicyVerdict {
  readonly failures: readonly PolicyFailure[];
  readonly annotations: readonly { readonly key: string; readonly value: string }[];
  /** Why audit annotations could not be made; refuses whatever the binding's actions are. */
  readonly annotationErrors: readonly string[];
}

const nothing: PolicyVerdict = { failures: [], annotations: [], annotationErrors: [] };
/** The longest message that an expression may make, in bytes. Source: apiserver pkg/apis/cel MaxEvaluatedMessageExpressionSizeBytes. */
const maxMessage = 5 * 1024;
const maxAnnotation = 10 * 1024;

/** Evaluates a policy, in steps. Throws nothing. Source: apiserver pkg/admission/plugin/policy/validating validator. */
export function* judgePolicy(policy: CompiledPolicy, inputs: ExpressionInputs): Steps<PolicyVerdict> {
  const failed = (message: string): PolicyVerdict =>
    policy.ignoresFailure ? nothing : { ...nothing, failures: [{ index: 0, message, reason: "" }] };
  const conditions = yield* judgeConditions(policy.conditions, inputs);
  if ("failed" in conditions) return failed(conditions.failed);
  if (!conditions.matches) return nothing;

  const meter = newMeter(validationBudget, inputs);
  const all = withVariables(policy.variables, inputs, meter);
  const failures: PolicyFailure[] = [];
  for (const [index, validation] of policy.validations.entries()) {
    const result = yield* evaluateInSteps(validation.expression, all, meter);
    if ("error" in result) {
      if (result.spent) return failed(result.error);
      if (!policy.ignoresFailure) failures.push({ index, message: result.error, reason: "" });
    } else if (result.value !== true) {
      const message = yield* messageOf(validation, all, meter);
      failures.push({ index, message, reason: validation.stored.reason ?? "Invalid" });
    }
  }
  return { failures, ...(yield* annotationsOf(policy, all)) };
}

/** What to say: what the expression makes, what stands there, or the expression itself. */
function* messageOf(
  { messageExpression, stored }: CompiledValidation,
  inputs: ExpressionInputs,
  meter: Meter,
): Steps<string> {
  const made = messageExpression === undefined ? undefined : yield* evaluateInSteps(messageExpression, inputs, meter);
  if (made !== undefined && "value" in made && typeof made.value === "string") {
    const text = made.value.trim();
    if (text !== "" && utf8Length(text) <= maxMessage && !text.includes("\n")) return text;
  }
  const message = (stored.message ?? "").trim();
  return message === "" ? `failed expression: ${stored.expression.trim()}` : message;
}

function* annotationsOf(
  { annotations, ignoresFailure }: CompiledPolicy,
  inputs: ExpressionInputs,
): Steps<Pick<PolicyVerdict, "annotations" | "annotationErrors">> {
  const meter = newMeter(validationBudget, inputs);
  const made: { readonly key: string; readonly value: string }[] = [];
  const errors: string[] = [];
  for (const { key, value: expression } of annotations) {
    const result = yield* evaluateInSteps(expression, inputs, meter);
    if ("error" in result) {
      if (!ignoresFailure) errors.push(result.error);
    } else if (typeof result.value === "string" && result.value.trim() !== "") {
      made.push({ key, value: result.value.trim().slice(0, maxAnnotation) });
    }
  }
  return { annotations: made, annotationErrors: errors };
}
