import { describe, expect, it } from "vitest";
import type { ManagedCluster } from "../../apis/managed-cluster.ts";
import { cleanupPriority, clusterStep, isForcedOff, nextToDelete } from "./managed-cluster-policy.ts";

const held = { finalizers: ["cluster.open-cluster-management.io/api-resource-cleanup"] };
const going = { deletionTimestamp: "2026-11-21T00:00:00Z" };
const now = Date.UTC(2026, 10, 21);

function cluster(metadata: object, accepts?: boolean): ManagedCluster {
  const spec = accepts === undefined ? {} : { hubAcceptsClient: accepts };
  return { apiVersion: "", kind: "", metadata: { name: "east", ...metadata }, spec };
}

const leaving = { annotations: { "agent.open-cluster-management.io/leave": "true" } };

describe("the next step of a cluster", () => {
  it.each([
    ["wait", "one that nobody let in", cluster({}, false)],
    ["wait", "one that says nothing", cluster({})],
    ["wait", "one that wants to leave and never was in", cluster(leaving, false)],
    ["wait", "one that is going and holds nothing", cluster(going, true)],
    ["admit", "one that is let in", cluster({}, true)],
    ["admit", "one that is let in, whatever its agent wrote before", cluster({ ...held, ...leaving }, true)],
    ["deny", "one that was let in and is not any more", cluster(held, false)],
    ["leave", "one whose agent says that it leaves", cluster({ ...held, ...leaving }, false)],
    ["detach", "one that is going", cluster({ ...held, ...going }, true)],
    ["detach", "one that was denied and is going", cluster({ ...held, ...going }, false)],
  ])("is to %s for %s", (kind, _what, one) => {
    expect(clusterStep(one)).toEqual({ kind });
  });
});

describe("the deletion of a cluster", () => {
  it("waits for the spoke for five minutes, and not at all when an administrator says so", () => {
    const forced = { annotations: { "registration.pratique.dev/force-detach": "true" } };
    expect(isForcedOff(cluster(going), now + 299_999)).toBe(false);
    expect(isForcedOff(cluster(going), now + 300_000)).toBe(true);
    expect(isForcedOff(cluster({ ...going, ...forced }), now)).toBe(true);
  });

  it("goes through the lowest priority first, each object once", () => {
    const one = (name: string, priority: number, isDeleting = false): Parameters<typeof nextToDelete>[0][number] => ({
      namespace: "east",
      name,
      priority,
      isDeleting,
    });
    const next = nextToDelete([one("c", 5), one("a", 1), one("b", 1, true)]);
    expect(next.map(({ name }) => name)).toEqual(["a"]);
    expect(nextToDelete([])).toEqual([]);
  });

  it.each([
    ["7", 7],
    ["100", 100],
    ["101", 0],
    ["-1", 0],
    ["1.5", 0],
    ["x", 0],
    ["", 0],
  ])("reads priority %j as %d", (text, priority) => {
    expect(cleanupPriority({ "open-cluster-management.io/cleanup-priority": text })).toBe(priority);
  });
});
