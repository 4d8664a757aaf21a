import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { validateSignerName } from "./signer-name.ts";

function said(signerName: string): readonly string[] {
  return validateSignerName("spec.signerName", signerName).map((error) => `${error.path}: ${error.message}`);
}

const label = "a".repeat(63);
const longDomain = `${label}.${label}.${label}.${"a".repeat(61)}`;
const shape = "must be a fully qualified domain and path of the form 'example.com/signer-name'";

describe("the name of a signer", () => {
  test.each([
    "kubernetes.io/kube-apiserver-client-kubelet",
    "example.com/signer",
    "example.com/namespace.name",
    "a.b/c",
    `${longDomain}/${label}.${longDomain}`,
  ])("accepts %s", (name) => {
    expect(said(name)).toStrictEqual([]);
  });

  test.each([
    ["", ["spec.signerName: Required value"]],
    ["example.com", [`spec.signerName: Invalid value: "example.com": ${shape}`]],
    ["example.com/a/b", [`spec.signerName: Invalid value: "example.com/a/b": ${shape}`]],
    [
      "example/a",
      ['spec.signerName: Invalid value: "example": should be a domain with at least two segments separated by dots'],
    ],
    [`${longDomain}.a/b`, ["spec.signerName: Too long: may not be more than 253 bytes"]],
    [`${longDomain}/${label}.${label}.${longDomain}`, ["spec.signerName: Too long: may not be more than 571 bytes"]],
  ] as const)("refuses %j", (name, errors) => {
    expect(said(name)).toStrictEqual(errors);
  });

  test.each(["Example.com/a", "example..com/a", ".com/a", "example.com/", "example.com/A", "example.com/a..b", "/"])(
    "refuses %j, naming the piece",
    (name) => {
      const errors = said(name);
      expect(errors.length).toBeGreaterThan(0);
      expect(errors[0]).toContain(": validating label ");
    },
  );

  test("reports one bad piece of a segment, not all", () => {
    expect(said("A.B.C/d")).toHaveLength(1);
  });

  test("never throws", () => {
    fc.assert(
      fc.property(fc.string(), (name) => {
        expect(Array.isArray(said(name))).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});
