import { describe, expect, it } from "vitest";
import type { ApiObject } from "../../apimachinery/object.ts";
import { approvalErrors, approvalOf } from "./crd-object.ts";

const crd = (group: string, annotation?: string): ApiObject => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: annotation === undefined ? {} : { annotations: { "api-approved.kubernetes.io": annotation } },
  spec: { group },
});

describe("approval", () => {
  it.each(["example.com", "k8s.io.example.com", "notk8s.io"])("is not asked of %s", (group) => {
    expect(approvalOf(crd(group))).toBeUndefined();
  });

  it.each([
    ["k8s.io", undefined, "missing"],
    ["x.k8s.io", "https://github.com/kubernetes/enhancements/pull/1", "approved"],
    ["x.kubernetes.io", "unapproved, experimental", "bypassed"],
    ["x.kubernetes.io", "somebody said so", "invalid"],
  ])("of %s with %s is %s", (group, annotation, state) => {
    expect(approvalOf(crd(group, annotation))?.state).toBe(state);
  });

  it("that is missing or invalid is an error, unless it was so before", () => {
    expect(approvalErrors(crd("x.k8s.io"), undefined)).toMatchObject([{ type: "FieldValueRequired" }]);
    expect(approvalErrors(crd("x.k8s.io", "yes"), undefined)).toMatchObject([{ type: "FieldValueInvalid" }]);
    expect(approvalErrors(crd("x.k8s.io"), crd("x.k8s.io"))).toEqual([]);
    expect(approvalErrors(crd("x.k8s.io", "yes"), crd("x.k8s.io"))).toHaveLength(1);
    expect(approvalErrors(crd("x.k8s.io", "unapproved"), undefined)).toEqual([]);
  });
});
