import { describe, expect, test } from "vitest";
import type { OwnerReference } from "../../apimachinery/object.ts";
import { collectionOf, pendingFinalizer, type Collection, type OwnerState } from "./garbage-collector.ts";

function owners(...states: readonly (OwnerState | "blocking")[]): Parameters<typeof collectionOf>[0] {
  return states.map((state, index) => ({
    reference: { ...owner(index), ...(state === "blocking" ? { blockOwnerDeletion: true } : {}) },
    state: state === "blocking" ? "waiting" : state,
  }));
}
function owner(index: number): OwnerReference {
  return { apiVersion: "v1", kind: "ConfigMap", name: `o${index}`, uid: `u${index}` };
}
const bare = { finalizers: [], hasDependents: false };
const background: Collection = { kind: "delete", propagation: "Background" };

describe("collectionOf", () => {
  test.each<[string, Parameters<typeof collectionOf>[0], Parameters<typeof collectionOf>[1], Collection]>([
    ["no owner", [], bare, { kind: "keep" }],
    ["a living owner", owners("alive"), bare, { kind: "keep" }],
    ["an owner nobody can look at", owners("unknown"), bare, { kind: "keep" }],
    ["its only owner gone", owners("gone"), bare, background],
    ["all owners gone", owners("gone", "gone"), bare, background],
    ["one owner of two gone", owners("gone", "alive"), bare, { kind: "release", owners: [owner(1)] }],
    ["a gone and an unknown owner", owners("gone", "unknown"), bare, { kind: "release", owners: [owner(1)] }],
    [
      "an owner that waits, and a living one",
      owners("waiting", "alive"),
      bare,
      { kind: "release", owners: [owner(1)] },
    ],
    ["an owner that waits for it", owners("blocking"), bare, background],
    [
      "an owner that waits for it, and dependents of its own",
      owners("blocking"),
      { ...bare, hasDependents: true },
      { kind: "delete", propagation: "Foreground" },
    ],
    [
      "owners gone, and to be orphaned",
      owners("gone"),
      { ...bare, finalizers: ["orphan"] },
      { kind: "delete", propagation: "Orphan" },
    ],
    [
      "owners gone, and to go in the foreground",
      owners("gone"),
      { ...bare, finalizers: ["foregroundDeletion"] },
      { kind: "delete", propagation: "Foreground" },
    ],
  ])("with %s", (_, of, object, expected) => {
    expect(collectionOf(of, object)).toEqual(expected);
  });
});

describe("pendingFinalizer", () => {
  test("orphans first, and knows only the two", () => {
    expect(pendingFinalizer(["foregroundDeletion", "orphan"])).toBe("orphan");
    expect(pendingFinalizer(["foregroundDeletion"])).toBe("foreground");
    expect(pendingFinalizer(["example.com/x"])).toBeUndefined();
  });
});
