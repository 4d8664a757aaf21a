import { expect, test } from "vitest";
import { findCondition, isConditionTrue, setCondition } from "./conditions.ts";
import type { Condition } from "./object.ts";

const ready: Condition = { type: "Ready", status: "True", reason: "Up", lastTransitionTime: "2026-01-01T00:00:00Z" };
const other: Condition = { type: "Other", status: "False" };
const now = "2026-11-21T00:00:00Z";

test("finds a condition by its type", () => {
  expect(findCondition([other, ready], "Ready")).toBe(ready);
  expect(findCondition(undefined, "Ready")).toBeUndefined();
  expect(isConditionTrue([other, ready], "Ready")).toBe(true);
  expect(isConditionTrue([other, ready], "Other")).toBe(false);
  expect(isConditionTrue([], "Ready")).toBe(false);
});

test("a new condition comes last, with the time of now", () => {
  expect(setCondition([other], { type: "Ready", status: "True" }, now)).toEqual([
    other,
    { type: "Ready", status: "True", lastTransitionTime: now },
  ]);
});

test("a changed status sets the transition time, a changed message alone does not", () => {
  const down = setCondition([ready, other], { type: "Ready", status: "False", message: "gone" }, now);
  expect(down).toEqual([{ ...ready, status: "False", message: "gone", lastTransitionTime: now }, other]);
  expect(setCondition([ready], { type: "Ready", status: "True", message: "fine" }, now)).toEqual([
    { ...ready, message: "fine" },
  ]);
});

test("a transition time of its own is kept", () => {
  const then = "2026-06-01T00:00:00Z";
  expect(setCondition([ready], { type: "Ready", status: "False", lastTransitionTime: then }, now)[0]).toEqual({
    ...ready,
    status: "False",
    lastTransitionTime: then,
  });
});

test("what says nothing new returns the list itself", () => {
  const list = [ready, other];
  expect(setCondition(list, { type: "Ready", status: "True", reason: "Up" }, now)).toBe(list);
  expect(setCondition(list, { type: "Other", status: "False" }, now)).toBe(list);
});
