import { CelError } from "../policy/cel/cel-error.ts";
import type { CelProgram } from "../policy/cel/compile.ts";
import { type CelType, boolType } from "../policy/cel/types.ts";
import type { CelValue } from "../policy/cel/values.ts";
import type { JsonObject } from "../apimachinery/json-value.ts";
import { endsStep, type Pace } from "../apimachinery/step-budget.ts";
import type { Steps } from "../apimachinery/steps.ts";
import { compileExpression, type ExpressionScope } from "../apis/admission-expression.ts";
import type { MatchCondition } from "../apis/admission-match.ts";

/** An expression of a stored webhook or policy. */
export interface Expression {
  readonly source: string;
  readonly program: CelProgram | { readonly problem: string };
}

/** A variable of a policy. */
export interface NamedExpression {
  readonly name: string;
  readonly expression: Expression;
}

/** The variables of expressions; null for absent ones. */
export interface ExpressionInputs {
  /** The work since the last step, shared by the meters of all expressions with these inputs. */
  readonly pace?: Pace;
  readonly object: JsonObject | null;
  readonly oldObject: JsonObject | null;
  readonly request: JsonObject;
  readonly namespaceObject: JsonObject | null;
  readonly params: JsonObject | null;
  readonly authorizer?: CelValue;
  readonly "authorizer.requestResource"?: CelValue;
  readonly variables?: JsonObject;
  /** Errors of variables, by the error text of CEL; filled as they are evaluated. */
  readonly failures?: ReadonlyMap<string, string>;
}

/** The remaining budget for the expressions of one policy or webhook, in the units of Kubernetes. */
export interface Meter {
  left: number;
  /** The cost since the last step, as places. */
  readonly pace: Pace;
}

/** A full meter, for expressions with these inputs. */
export function newMeter(left: number, { pace = { places: 0 } }: Pick<ExpressionInputs, "pace">): Meter {
  return { left, pace };
}

/** The cost limit of one expression. Source: apiserver pkg/apis/cel PerCallLimit, pkg/cel/environment. */
const callLimit = 1_000_000;
/** Measured: the evaluation of this cost takes at most as long as visiting one place of a value. */
const costOfPlace = 64;

/** The cost limit of the expressions of one policy together, for each binding and parameter. Source: apiserver pkg/apis/cel. */
export const validationBudget = 10_000_000;
/** The cost limit of match conditions together. Source: the same. */
const matchConditionBudget = 2_500_000;

const outOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run";

/** The compiled expression; a stored expression passed validation, and if it no longer compiles, its evaluation fails. */
export function storedExpression(source: string, scope: ExpressionScope, results: readonly CelType[]): Expression {
  try {
    return { source, program: compileExpression(source, scope, results) };
  } catch (error) {
    if (error instanceof CelError) return { source, program: { problem: `compilation error: ${error.message}` } };
    throw error;
  }
}

/** The value of an expression, or its error. `spent`: the meter is empty and no other expression need be tried. */
export type Evaluated = { readonly value: CelValue } | { readonly error: string; readonly spent: boolean };

function evaluate(expression: Expression, inputs: ExpressionInputs, meter: Meter): Evaluated {
  const { source, program } = expression;
  if ("problem" in program) return { error: program.problem, spent: false };
  if (meter.left <= 0) return { error: outOfBudget, spent: true };
  const outcome = program.evaluate({ ...inputs }, { budget: Math.min(callLimit, meter.left) });
  meter.left -= outcome.cost;
  meter.pace.places += Math.ceil(outcome.cost / costOfPlace);
  // At the limit the evaluation was aborted; its result is meaningless.
  if (meter.left <= 0) return { error: outOfBudget, spent: true };
  if ("value" in outcome) return outcome;
  const why = inputs.failures?.get(outcome.error) ?? outcome.error;
  return { error: `expression '${source.trim()}' resulted in error: ${why}`, spent: false };
}

/** Thrown when variables have cost so much since the last step that the current expression is suspended. */
class StepEnded extends Error {
  override readonly name = "StepEnded";
}

/** The number of places after which no other variable is evaluated in the same step. */
const placesOfVariables = 4096;

/** Evaluates an expression, charged to the meter, in steps. Throws nothing. */
export function* evaluateInSteps(expression: Expression, inputs: ExpressionInputs, meter: Meter): Steps<Evaluated> {
  for (;;) {
    if (endsStep(meter.pace)) yield;
    try {
      return evaluate(expression, inputs, meter);
    } catch (error) {
      if (!(error instanceof StepEnded)) throw error;
    }
  }
}

/** Inputs with `variables`: each is evaluated on first use, at most once, and its error fails the expressions that use it. */
export function withVariables(
  variables: readonly NamedExpression[],
  inputs: ExpressionInputs,
  meter: Meter,
): ExpressionInputs {
  const values: Record<string, unknown> = {};
  const failures = new Map<string, string>();
  const all: ExpressionInputs = { ...inputs, variables: values, failures };
  for (const { name, expression } of variables) {
    let evaluated: Evaluated | undefined;
    Object.defineProperty(values, name, {
      enumerable: true,
      get: () => {
        if (evaluated === undefined) {
          // The expression that uses it is evaluated again in the next step, with this and others cached.
          if (meter.pace.places >= placesOfVariables) throw new StepEnded();
          evaluated = evaluate(expression, all, meter);
        }
        if ("value" in evaluated) return evaluated.value;
        // For its users, a failed variable is absent: an error like any other.
        failures.set(
          `no such key: ${name}`,
          `composited variable ${JSON.stringify(name)} fails to evaluate: ${evaluated.error}`,
        );
        return undefined;
      },
    });
  }
  return all;
}

/** The match conditions of a webhook or policy. */
export type MatchConditions = readonly Expression[];

/** Whether all conditions are true; `failed`, with the errors, where this is undecided. */
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

/** One false condition decides, whatever the others are; errors count only where none is false. Source: apiserver pkg/admission/plugin/webhook/matchconditions. */
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
