import { describe, expect, test } from "vitest";
import { askedReview, statusOf } from "./authorizer-review.ts";

const review = (version: string, spec: unknown): unknown => ({
  apiVersion: `authorization.k8s.io/${version}`,
  kind: "SubjectAccessReview",
  spec,
});
const resourceAttributes = { verb: "list", resource: "pods" };
const nonResourceAttributes = { verb: "get", path: "/x" };
const jane = { user: "jane", resourceAttributes };

describe("what a policy sees", () => {
  test("is the review as it came", () => {
    const asked = review("v1", { ...jane, groups: ["dev"], later: { field: 1 } });
    expect(askedReview(asked)).toMatchObject({ input: asked, asked: { ...jane, groups: ["dev"] } });
  });

  test("of v1beta1 has the groups in both places, and never those that v1beta1 does not know", () => {
    const { input, spec, asked } = askedReview(review("v1beta1", { ...jane, group: ["dev"], groups: ["admin"] }));
    expect(input["spec"]).toEqual({ ...jane, group: ["dev"], groups: ["dev"] });
    expect(spec).toEqual({ ...jane, group: ["dev"], groups: ["admin"] });
    expect(asked.groups).toEqual(["dev"]);
    expect(askedReview(review("v1beta1", { ...jane, groups: ["admin"] })).input["spec"]).toEqual(jane);
  });

  test.each([
    [null],
    [[]],
    ["text"],
    [{ ...(review("v1", jane) as object), kind: "Pod" }],
    [review("v2", jane)],
    [review("v1", undefined)],
    [review("v1", [])],
    [review("v1", { user: "jane" })],
    [review("v1", { ...jane, nonResourceAttributes })],
    [review("v1", { resourceAttributes })],
    [review("v1beta1", { groups: ["admin"], resourceAttributes })],
    [review("v1", { ...jane, user: 5 })],
    [review("v1", { ...jane, groups: "admin" })],
    [review("v1", { ...jane, groups: ["admin", 5] })],
    [review("v1", { ...jane, extra: { scopes: "all" } })],
    [review("v1", { user: "jane", resourceAttributes: { verb: ["list"] } })],
    [review("v1", { user: "jane", nonResourceAttributes: "/x" })],
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
    expect(statusOf({ json: JSON.stringify(value) })).toEqual({ status });
  });

  test.each([
    ["1"],
    ['"true"'],
    ["null"],
    ["[]"],
    ["[true]"],
    ["{}"],
    ['{"allow":"true"}'],
    ['{"allow":true,"reason":1}'],
    ['{"allow":true,"deny":1}'],
    ['{"__proto__":{"allow":true}}'],
    ["tru"],
  ])("%s is no decision, which denies", (json) => {
    expect(statusOf({ json })).toMatchObject({ status: denied, problem: expect.any(String) as string });
  });

  test("no value is no opinion, and an evaluation that failed denies without saying why to whoever asked", () => {
    expect(statusOf({ json: undefined })).toEqual({ status: { allowed: false } });
    const { status, problem } = statusOf({ error: "/etc/policy/k8s.rego:3: eval_conflict_error" });
    expect(problem).toContain("eval_conflict_error");
    expect(status).toMatchObject(denied);
    expect(JSON.stringify(status)).not.toContain("rego");
  });

  test("carries the id of the decision in its reason", () => {
    const decisionId = "4ca6";
    expect(statusOf({ json: "true", decisionId }).status.reason).toBe("OPA decision 4ca6");
    expect(statusOf({ json: '{"deny":true,"reason":"frozen"}', decisionId }).status.reason).toBe(
      "frozen (OPA decision 4ca6)",
    );
    expect(statusOf({ error: "x", decisionId }).status.reason).toContain("(OPA decision 4ca6)");
  });
});
