import { expect, test } from "vitest";
import { StatusError } from "../apimachinery/status.ts";
import { statusReply } from "./error-reply.ts";

function replied(causes: readonly { readonly message: string; readonly field: string }[]): {
  readonly length: number;
  readonly causes: readonly unknown[];
} {
  const status = new StatusError("Invalid", "m".repeat(1_000_000), {
    details: { causes: causes.map((cause) => ({ reason: "FieldValueInvalid", ...cause })) },
  }).toStatus();
  const { body } = statusReply(status);
  if (typeof body !== "string") throw new TypeError("the body is no text");
  const { details } = JSON.parse(body) as { readonly details: { readonly causes: readonly unknown[] } };
  return { length: body.length, causes: details.causes };
}

test("an answer tells 64 causes, and all of it stays below 64 KiB, however many there are and however long", () => {
  const long = { message: "x".repeat(100_000), field: "f".repeat(100_000) };
  const answer = replied(Array.from({ length: 1000 }, () => long));
  expect(answer.causes.length).toBe(10);
  expect(answer.length).toBeLessThan(65_536);
  expect(replied(Array.from({ length: 1000 }, () => ({ message: "no", field: "a" }))).causes).toHaveLength(64);
  expect(replied([{ message: "no", field: "a" }]).causes).toEqual([
    { reason: "FieldValueInvalid", message: "no", field: "a" },
  ]);
});
