import { describe, expect, it } from "vitest";
import { finish } from "../apimachinery/steps.ts";
import type { PolicySpec } from "../apis/validating-admission-policy.ts";
import { type ExpressionInputs, judgeConditions, matchConditions } from "./expression-run.ts";
import { compiledPolicy } from "./policy.ts";
import { judgePolicy } from "./validating-policies.ts";

const count = 400;
const object = { list: Array.from({ length: count }, (_, index) => index) };
const inputs: ExpressionInputs = { object, oldObject: null, request: {}, namespaceObject: null, params: null };

/** Costs about so many hundred thousand units, and is true. */
const costing = (hundredThousands: number): string =>
  `object.list.all(x, object.list.all(y, ${Array.from({ length: hundredThousands }, () => "x != -1").join(" && ")}))`;
/** Costs more than one expression may. */
const endless = "object.list.all(x, object.list.all(y, object.list.all(z, x + y + z > -1)))";
const limitExceeded = "operation cancelled: actual cost limit exceeded";

function judged(spec: PolicySpec): { readonly steps: number; readonly messages: readonly string[] } {
  const policy = compiledPolicy({ apiVersion: "v1", kind: "P", metadata: { name: "p" }, spec });
  const judging = judgePolicy(policy, inputs);
  for (let steps = 1; ; steps += 1) {
    const { done, value } = judging.next();
    if (done === true) return { steps, messages: value.failures.map(({ message }) => message) };
  }
}

describe("an expression of a policy", () => {
  it("may cost a million, and others are evaluated beside one that costs more", () => {
    const validations = [{ expression: endless }, { expression: "false" }];
    expect(judged({ validations }).messages).toEqual([
      `expression '${endless}' resulted in error: ${limitExceeded}`,
      "failed expression: false",
    ]);
  });

  it("is evaluated in a step of its own where the one before was expensive", () => {
    const validations = Array.from({ length: 5 }, () => ({ expression: costing(1) }));
    expect(judged({ validations })).toEqual({ steps: 5, messages: [] });
    expect(judged({ validations: [{ expression: "true" }, { expression: "true" }] }).steps).toBe(1);
  });

  it("is left while the variables that it uses are evaluated in steps of their own", () => {
    const variables = Array.from({ length: 8 }, (_, index) => ({ name: `v${index}`, expression: costing(1) }));
    const expression = variables.map(({ name }) => `variables.${name}`).join(" && ");
    const { steps, messages } = judged({ variables, validations: [{ expression }] });
    expect(messages).toEqual([]);
    expect(steps).toBeGreaterThan(4);
  });

  it("fails as all do once they have cost ten million together", () => {
    const validations = Array.from({ length: 12 }, () => ({ expression: endless }));
    expect(judged({ validations }).messages).toEqual([
      "validation failed due to running out of cost budget, no further validation rules will be run",
    ]);
  });
});

describe("a match condition", () => {
  it("may cost a million, and all together two and a half", () => {
    const judge = (times: number): unknown =>
      finish(
        judgeConditions(
          matchConditions(
            Array.from({ length: times }, (_, index) => ({ name: `c${index}`, expression: endless })),
            { params: false },
          ),
          inputs,
        ),
      );
    expect(judge(1)).toEqual({ failed: `expression '${endless}' resulted in error: ${limitExceeded}` });
    expect(judge(3)).toEqual({
      failed: "validation failed due to running out of cost budget, no further validation rules will be run",
    });
  });
});
