import { describe, expect, test } from "vitest";
import { fromJson } from "../policy/rego/json.ts";
import { RegoError } from "../policy/rego/rego-error.ts";
import { askedReview, statusOf } from "./authorizer-review.ts";

const review = (version: string, spec: unknown): unknown => ({
  apiVersion: `authorization.k8s.io/${version}`,
  kind: "SubjectAccessReview",
  spec,
});

describe("what a policy sees", () => {
  test("is the review as it came", () => {
    const asked = review("v1", { user: "jane", groups: ["dev"] });
    expect(askedReview(asked).input).toEqual(asked);
  });

  test("of v1beta1 has the groups in both places, and never those that v1beta1 does not know", () => {
    const { input, spec } = askedReview(review("v1beta1", { group: ["dev"], groups: ["admin"] }));
    expect(input["spec"]).toEqual({ group: ["dev"], groups: ["dev"] });
    expect(spec).toEqual({ group: ["dev"], groups: ["admin"] });
    expect(askedReview(review("v1beta1", { groups: ["admin"] })).input["spec"]).toEqual({});
  });

  test.each([
    [null],
    [[]],
    ["text"],
    [{ ...(review("v1", {}) as object), kind: "Pod" }],
    [review("v2", {})],
    [review("v1", undefined)],
    [review("v1", [])],
  ])("is no %j", (asked) => {
    expect(() => askedReview(asked)).toThrow(/SubjectAccessReview|apiVersion|spec/);
  });
});

describe("what a value decides", () => {
  const denied = { allowed: false, denied: true };
  test.each([
    [true, { allowed: true }],
    [false, { allowed: false }],
    [{ allow: true }, { allowed: true }],
    [
      { allowed: true, reason: "on call" },
      { allowed: true, reason: "on call" },
    ],
    [
      { allow: false, reason: "ask ops" },
      { allowed: false, reason: "ask ops" },
    ],
    [
      { deny: true, reason: "frozen" },
      { ...denied, reason: "frozen" },
    ],
    [{ allow: true, deny: true }, denied],
    [{ deny: false }, { allowed: false }],
  ])("%j", (value, status) => {
    expect(statusOf({ value: fromJson(value) })).toEqual(status);
  });

  test.each([
    [1],
    ["true"],
    [null],
    [[]],
    [[true]],
    [{}],
    [{ allow: "true" }],
    [{ allow: true, reason: 1 }],
    [{ allow: true, deny: 1 }],
  ])("%j is no decision, which denies", (value) => {
    expect(statusOf({ value: fromJson(value) })).toMatchObject({
      ...denied,
      evaluationError: expect.any(String) as string,
    });
  });

  test("no value is no opinion, and an evaluation that failed denies", () => {
    expect(statusOf({ value: undefined })).toEqual({ allowed: false });
    expect(statusOf({ error: new RegoError("eval_conflict_error", "x") })).toEqual({
      ...denied,
      reason: "the policy could not be evaluated",
      evaluationError: "eval_conflict_error: x",
    });
  });
});
