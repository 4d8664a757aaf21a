import { describe, expect, test } from "vitest";
import { required } from "../apimachinery/field-error.ts";
import { certificateSigningRequests } from "./certificate-signing-request.ts";
import { collectErrors } from "./field-rules.ts";
import { validateObjectMeta } from "./object-validation.ts";
import { pods } from "./pod.ts";

describe("collecting errors", () => {
  test("keeps the order and passes the index", () => {
    const errors = collectErrors(["a", "b"], (item, index) => [required(`${item}${index}`)]);
    expect(errors.map((error) => error.path)).toStrictEqual(["a0", "b1"]);
  });

  test("checks no further after 32 errors", () => {
    let checked = 0;
    const errors = collectErrors(Array.from({ length: 1000 }), () => {
      checked += 1;
      return [required("x")];
    });
    expect([errors.length, checked]).toStrictEqual([32, 32]);
  });
});

describe("attack: an object made of errors", () => {
  const many = Array.from({ length: 100_000 }, (_value, index) => `-${index}`);

  test("has few errors reported for labels, annotations and finalizers", () => {
    const labels = Object.fromEntries(many.map((one) => [one, one]));
    const object = {
      apiVersion: "v1",
      kind: "X",
      metadata: { name: "a", labels, annotations: labels, finalizers: many },
    };
    const errors = validateObjectMeta(object, pods, { isCreate: false });
    expect(errors.length).toBeLessThan(200);
  });

  test("has few errors reported for usages", () => {
    const object = { apiVersion: "v1", kind: "X", metadata: {}, spec: { usages: many } };
    expect(certificateSigningRequests.validate?.(object).length).toBeLessThan(100);
  });

  test("does not compare each toleration with each", () => {
    const tolerations = many.map((key) => ({ key, operator: "Exists" }));
    const object = { apiVersion: "v1", kind: "X", metadata: {}, spec: { containers: [], tolerations } };
    const other = { ...object, spec: { containers: [], tolerations: tolerations.toReversed() } };
    expect(pods.validateUpdate?.(other, object)).toStrictEqual([]);
  });
});
