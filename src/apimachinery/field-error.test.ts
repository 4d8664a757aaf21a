import { describe, expect, it } from "vitest";
import { invalid, invalidObject } from "./field-error.ts";

const subject = { group: "", kind: "Pod" };

describe("an object that breaks field rules", () => {
  it("is told one rule alone and several in brackets, each as a cause", () => {
    const one = invalid("spec.a", "x", "no");
    expect(invalidObject(subject, "p", [one]).message).toBe('Pod "p" is invalid: spec.a: Invalid value: "x": no');
    const { message, details } = invalidObject(subject, "p", [one, invalid("", 1, "no")]);
    expect(message).toBe('Pod "p" is invalid: [spec.a: Invalid value: "x": no, Invalid value: 1: no]');
    expect(details?.causes).toEqual([
      { reason: "FieldValueInvalid", message: 'Invalid value: "x": no', field: "spec.a" },
      { reason: "FieldValueInvalid", message: "Invalid value: 1: no", field: "" },
    ]);
  });

  it("is told the first 64 of many rules, and how many more there are", () => {
    const many = Array.from({ length: 100_000 }, (_, index) => invalid(`a[${index}]`, "x", "no"));
    const { message, details } = invalidObject(subject, "p", many);
    expect(message).toContain('a[63]: Invalid value: "x": no, and 99936 more errors]');
    expect(message).not.toContain("a[64]");
    expect(details?.causes).toHaveLength(64);
  });

  it("is told no more than 2048 characters of a rule, whatever value and path it quotes", () => {
    const long = "x".repeat(1_000_000);
    const { message, details } = invalidObject(subject, "p", [invalid(long, long, "no"), invalid("a", long, "no")]);
    expect(message.length).toBeLessThan(5000);
    expect(details?.causes?.map((cause) => cause.message.length + (cause.field ?? "").length)).toEqual([4098, 2050]);
  });
});
