import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ReviewError, reviewAnswer } from "./admission-review.ts";

const asked = { version: "v1", uid: "u" } as const;
const review = (response: unknown, more: object = {}): object => ({
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  response,
  ...more,
});

describe("an answer", () => {
  it("is read with its patch, warnings and annotations", () => {
    const response = {
      uid: "u",
      allowed: true,
      patchType: "JSONPatch",
      patch: "W10=",
      warnings: ["w", 7],
      auditAnnotations: { a: "1", b: 2 },
      status: { message: "m" },
    };
    expect(reviewAnswer(review(response), asked, "mutating")).toEqual({
      allowed: true,
      status: { message: "m" },
      patch: { type: "JSONPatch", base64: "W10=" },
      warnings: ["w"],
      auditAnnotations: { a: "1" },
    });
  });

  it.each<[string, unknown, string]>([
    ["nothing", undefined, "webhook response was absent"],
    ["no response", review(undefined), "webhook response was absent"],
    ["another uid", review({ uid: "v", allowed: true }), 'expected response.uid="u", got "v"'],
    [
      "another kind",
      review({ uid: "u" }, { kind: "X" }),
      "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got admission.k8s.io/v1, Kind=X",
    ],
    [
      "another version",
      review({ uid: "u" }, { apiVersion: "admission.k8s.io/v1beta1" }),
      "got admission.k8s.io/v1beta1, Kind=AdmissionReview",
    ],
    [
      "a patch without type",
      review({ uid: "u", patch: "W10=" }),
      "webhook returned response.patch but not response.patchType",
    ],
    [
      "a type without patch",
      review({ uid: "u", patchType: "JSONPatch" }),
      "webhook returned response.patchType but not response.patch",
    ],
    ["an allowed that is no boolean", review({ uid: "u", allowed: 1 }), "response.allowed is not a boolean"],
  ])("that is %s is an error", (_what, value, message) => {
    expect(() => reviewAnswer(value, asked, "mutating")).toThrow(message);
  });

  it("of whatever JSON allows nothing by accident, and throws nothing but its own error", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(isAllowed(value)).toBe(false);
      }),
      { numRuns: 200 },
    );
  });
});

function isAllowed(response: unknown): boolean {
  try {
    return reviewAnswer(review(response), asked, "validating").allowed;
  } catch (error) {
    if (error instanceof ReviewError) return false;
    throw error;
  }
}
