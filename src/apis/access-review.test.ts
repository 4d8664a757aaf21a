import { describe, expect, test } from "vitest";

import type { FieldError } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { reviewResources } from "./builtin.ts";
import {
  localSubjectAccessReviews,
  rulesReviewProblem,
  selfSubjectAccessReviews,
  subjectAccessReviews,
} from "./access-review.ts";
import { tokenReviewProblem } from "./token-review.ts";

function review(spec: object, metadata: object = {}): ApiObject {
  return { apiVersion: "authorization.k8s.io/v1", kind: "Review", metadata, spec };
}

function said(errors: readonly FieldError[] | undefined): readonly string[] {
  return (errors ?? []).map((error) => `${error.path}: ${error.message}`);
}

const resourceAttributes = { verb: "get", resource: "pods", namespace: "n" };
const nonResourceAttributes = { verb: "get", path: "/x" };
const asked = { user: "u", resourceAttributes };
const selector = "spec.resourceAttributes.fieldSelector";

describe("a review of what somebody may do", () => {
  const cases: Readonly<Record<string, { readonly object: ApiObject; readonly errors: readonly string[] }>> = {
    "may be about a resource": { object: review(asked), errors: [] },
    "may be about a path, for a group": { object: review({ groups: ["g"], nonResourceAttributes }), errors: [] },
    "is not about both": {
      object: review({ ...asked, nonResourceAttributes }),
      errors: [
        'spec.nonResourceAttributes: Invalid value: {"verb":"get","path":"/x"}: cannot be specified in combination with resourceAttributes',
      ],
    },
    "is about something": {
      object: review({ user: "u" }),
      errors: [
        "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
      ],
    },
    "is about somebody": {
      object: review({ resourceAttributes }),
      errors: ['spec.user: Invalid value: "": at least one of user or group must be specified'],
    },
    "has no metadata": {
      object: review(asked, { name: "a" }),
      errors: ['metadata: Invalid value: {"name":"a"}: must be empty'],
    },
    "may have empty metadata": { object: review(asked, { name: "", labels: {}, creationTimestamp: null }), errors: [] },
    "has one form of selector": {
      object: review({
        user: "u",
        resourceAttributes: { fieldSelector: { rawSelector: "a=b", requirements: [{ key: "a", operator: "Exists" }] } },
      }),
      errors: [`${selector}.rawSelector: Invalid value: "a=b": may not specified at the same time as requirements`],
    },
    "has no empty selector": {
      object: review({ user: "u", resourceAttributes: { fieldSelector: {} } }),
      errors: [
        `${selector}.requirements: Required value: when ${selector} is specified, requirements or rawSelector is required`,
      ],
    },
    "selects by keys": {
      object: review({ user: "u", resourceAttributes: { fieldSelector: { requirements: [{ operator: "In" }] } } }),
      errors: [
        `${selector}.requirements[0].key: Required value: must be specified`,
        `${selector}.requirements[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
      ],
    },
    "may select by operators that are not known yet": {
      object: review({
        user: "u",
        resourceAttributes: { fieldSelector: { requirements: [{ key: "a", operator: "Later" }] } },
      }),
      errors: [],
    },
    "selects labels by their rules": {
      object: review({
        user: "u",
        resourceAttributes: { labelSelector: { requirements: [{ key: "a", operator: "Exists", values: ["b"] }] } },
      }),
      errors: [
        `spec.resourceAttributes.labelSelector.requirements[0].values: Forbidden: may not be specified when \`operator\` is 'Exists' or 'DoesNotExist'`,
      ],
    },
  };
  test.each(Object.entries(cases))("%s", (_title, { object, errors }) => {
    expect(said(subjectAccessReviews.validate?.(object))).toStrictEqual(errors);
  });
});

describe("a local review", () => {
  test("carries the namespace that it asks about", () => {
    expect(localSubjectAccessReviews.validate?.(review(asked, { namespace: "n" }))).toStrictEqual([]);
  });

  test("does not ask about another namespace", () => {
    expect(said(localSubjectAccessReviews.validate?.(review(asked, { namespace: "kube-system" })))).toStrictEqual([
      'spec.resourceAttributes.namespace: Invalid value: "n": must match metadata.namespace',
    ]);
  });

  test("does not ask about a path", () => {
    const object = review({ user: "u", nonResourceAttributes }, { namespace: "n" });
    expect(said(localSubjectAccessReviews.validate?.(object))).toStrictEqual([
      'spec.nonResourceAttributes: Invalid value: {"verb":"get","path":"/x"}: disallowed on this kind of request',
    ]);
  });

  test("has no other metadata", () => {
    expect(said(localSubjectAccessReviews.validate?.(review(asked, { namespace: "n", name: "a" })))).toStrictEqual([
      'metadata: Invalid value: {"namespace":"n","name":"a"}: must be empty except for namespace',
    ]);
  });
});

describe("a review of oneself", () => {
  test("names no subject", () => {
    expect(selfSubjectAccessReviews.validate?.(review({ resourceAttributes }))).toStrictEqual([]);
  });

  test("is about something", () => {
    expect(said(selfSubjectAccessReviews.validate?.(review({})))).toHaveLength(1);
  });

  test("of rules needs a namespace", () => {
    expect(rulesReviewProblem(review({ namespace: "n" }))).toBeUndefined();
    expect(rulesReviewProblem(review({}))).toMatchObject({ code: 400, message: "no namespace on request" });
  });
});

test("a token review needs a token", () => {
  expect(tokenReviewProblem(review({ token: "t" }))).toBeUndefined();
  expect(tokenReviewProblem(review({ token: "" }))).toMatchObject({
    code: 400,
    message: "token is required for TokenReview in authentication",
  });
});

test("reviews can be created and nothing else", () => {
  expect(reviewResources.map((one) => one.plural)).toHaveLength(8);
  for (const one of reviewResources) expect(one.verbs).toStrictEqual(["create"]);
});
