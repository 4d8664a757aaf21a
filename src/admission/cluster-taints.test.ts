import { describe, expect, it } from "vitest";
import { stampedTaints } from "./managed-clusters.ts";

const now = "2026-11-21T00:00:00Z";
const before = "2026-01-01T00:00:00Z";
const taint = { key: "a", effect: "NoSelect" } as const;

describe("the times of taints", () => {
  it("are those of the hub for a new cluster, whatever was sent", () => {
    expect(stampedTaints([{ ...taint, timeAdded: before }], undefined, now)).toEqual({
      taints: [{ ...taint, timeAdded: now }],
    });
  });

  it.each([
    ["key", { ...taint, key: "b" }],
    ["value", { ...taint, value: "x" }],
    ["effect", { ...taint, effect: "PreferNoSelect" } as const],
  ])("begin anew with another %s, and cannot be chosen for it", (_what, changed) => {
    const stored = [{ ...taint, timeAdded: before }];
    expect(stampedTaints([changed], stored, now)).toEqual({ taints: [{ ...changed, timeAdded: now }] });
    expect(stampedTaints([{ ...changed, timeAdded: before }], stored, now)).toEqual({
      errors: [expect.objectContaining({ path: "spec.taints[0].timeAdded" })],
    });
  });

  it("stay with a taint that stays, also where it is sent without its time", () => {
    const stored = [{ ...taint, timeAdded: before }];
    for (const sent of [taint, { ...taint, timeAdded: before }, { ...taint, timeAdded: null }]) {
      expect(stampedTaints([sent], stored, now)).toEqual({ taints: stored });
    }
    expect(stampedTaints([{ ...taint, timeAdded: now }], stored, now)).toHaveProperty("errors");
  });
});
