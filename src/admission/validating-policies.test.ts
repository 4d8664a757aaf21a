import { describe, expect, it } from "vitest";
import { finish } from "../apimachinery/steps.ts";
import type { PolicySpec } from "../apis/validating-admission-policy.ts";
import type { ExpressionInputs } from "./expression-run.ts";
import { compiledPolicy } from "./policy.ts";
import { judgePolicy, type PolicyVerdict } from "./validating-policies.ts";

const inputs: ExpressionInputs = {
  object: { data: { k: "v" } },
  oldObject: null,
  request: { operation: "CREATE" },
  namespaceObject: null,
  params: null,
};

function verdict(spec: PolicySpec, changed: Partial<ExpressionInputs> = {}): PolicyVerdict {
  const policy = compiledPolicy({ apiVersion: "v1", kind: "P", metadata: { name: "p" }, spec });
  return finish(judgePolicy(policy, { ...inputs, ...changed }));
}

const messages = (spec: PolicySpec): readonly string[] => verdict(spec).failures.map(({ message }) => message);

describe("a policy", () => {
  it("tells every validation that does not hold, by its place", () => {
    const validations = [{ expression: "false" }, { expression: "true" }, { expression: "false", reason: "Forbidden" }];
    expect(verdict({ validations }).failures).toEqual([
      { index: 0, message: "failed expression: false", reason: "Invalid" },
      { index: 2, message: "failed expression: false", reason: "Forbidden" },
    ]);
  });

  it("that does not compile any more fails, and is never silent", () => {
    const validations = [{ expression: "nonsense(" }];
    expect(messages({ validations })[0]).toMatch(/^compilation error: compilation failed: ERROR/);
    expect(messages({ validations, failurePolicy: "Ignore" })).toEqual([]);
    expect(
      messages({ validations: [{ expression: "true" }], matchConditions: [{ name: "c", expression: "(" }] })[0],
    ).toMatch(/^compilation error/);
  });

  it("skips what a condition excludes, even beside one that fails", () => {
    const validations = [{ expression: "false" }];
    const failing = { name: "f", expression: "object.none.x == 1" };
    expect(messages({ validations, matchConditions: [failing, { name: "n", expression: "false" }] })).toEqual([]);
    expect(messages({ validations, matchConditions: [{ name: "y", expression: "true" }, failing] })[0]).toContain(
      "no such key: none",
    );
  });

  it("evaluates a variable only when it is used, and lets the language decide what its failure means", () => {
    const variables = [{ name: "bad", expression: "object.none.x" }];
    expect(messages({ variables, validations: [{ expression: "true" }] })).toEqual([]);
    expect(messages({ variables, validations: [{ expression: "variables.bad == 1 || true" }] })).toEqual([]);
    expect(messages({ variables, validations: [{ expression: "variables.bad == 1 && false" }] })).toEqual([
      "failed expression: variables.bad == 1 && false",
    ]);
    expect(messages({ variables, validations: [{ expression: "variables.bad == 1" }] })[0]).toContain(
      'composited variable "bad" fails',
    );
  });

  it("makes annotations of texts, and none of null and blanks", () => {
    const annotation = (key: string, valueExpression: string): { key: string; valueExpression: string } => ({
      key,
      valueExpression,
    });
    const made = verdict({
      auditAnnotations: [annotation("a", "' x '"), annotation("b", "null"), annotation("c", "' '")],
    });
    expect(made.annotations).toEqual([{ key: "a", value: "x" }]);
    const failing = [annotation("d", "string(object.none)")];
    expect(verdict({ auditAnnotations: failing }).annotationErrors).toHaveLength(1);
    expect(verdict({ auditAnnotations: failing, failurePolicy: "Ignore" }).annotationErrors).toEqual([]);
  });

  it("does not say what is longer than it should be, or of several lines", () => {
    const saying = (messageExpression: string): readonly string[] =>
      messages({ validations: [{ expression: "false", message: "m", messageExpression }] });
    expect(saying("'" + "x".repeat(5121) + "'")).toEqual(["m"]);
    expect(saying(String.raw`'a\nb'`)).toEqual(["m"]);
    expect(saying("'fine'")).toEqual(["fine"]);
  });
});
