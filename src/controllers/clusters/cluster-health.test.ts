import { describe, expect, it } from "vitest";
import { controllerBench, type ControllerBench } from "../../../test/kits/controller-bench.ts";
import { settled } from "../../../test/kits/fake-clock.ts";
import type { ApiObject, Condition } from "../../apimachinery/object.ts";
import { managedClusters, type ManagedCluster } from "../../apis/managed-cluster.ts";
import { clusterHealth } from "./cluster-health.ts";
import { events, leases } from "../kinds.ts";
import { clusterLease } from "./managed-cluster-grant.ts";

interface Scene extends ControllerBench {
  readonly condition: (type: string) => Condition | undefined;
  readonly taints: () => readonly string[];
  /** A heartbeat of an agent whose clock is off by so many milliseconds. */
  readonly beat: (skewMs?: number) => Promise<void>;
  readonly stored: () => ManagedCluster;
}

const available = "ManagedClusterConditionAvailable";
const clockSynced = "ManagedClusterConditionClockSynced";
const minute = 60_000;
const lastTransitionTime = "2026-11-21T00:00:00Z";

async function scene(metadata: object = {}): Promise<Scene> {
  const bench = controllerBench();
  const { api, client, clock, informers } = bench;
  const accepted = {
    type: "HubAcceptedManagedCluster",
    status: "True",
    reason: "HubClusterAdminAccepted",
    message: "",
    lastTransitionTime,
  };
  await api.given(managedClusters, {
    apiVersion: "",
    kind: "",
    metadata: { name: "east", ...metadata },
    spec: { hubAcceptsClient: true, leaseDurationSeconds: 60 },
    status: {
      conditions: [
        accepted,
        { type: available, status: "True", reason: "ManagedClusterAvailable", message: "", lastTransitionTime },
      ],
    },
  });
  await client.create(leases, clusterLease({ apiVersion: "", kind: "", metadata: { name: "east" } }, clock.now()));
  await bench.start(clusterHealth({ informers, clock }));
  const stored = (): ManagedCluster => api.all(managedClusters)[0] as ManagedCluster;
  return {
    ...bench,
    stored,
    condition: (type) => stored().status?.conditions?.find((one) => one.type === type),
    taints: () => (stored().spec?.taints ?? []).map(({ key }) => key),
    beat: async (skewMs = 0) => {
      const lease = api.all(leases)[0] as ApiObject;
      const renewTime = new Date(clock.now() + skewMs).toISOString().replace("Z", "000Z");
      await client.update(leases, { ...lease, spec: { ...(lease["spec"] as object), renewTime } });
      await settled();
    },
  };
}

describe("a cluster that falls silent", () => {
  it("is Unknown after five lease durations, in its condition and by a taint", async () => {
    const { clock, condition, taints, api, counted, log, stop } = await scene();
    await clock.advance(5 * minute - 1);
    expect([condition(available)?.status, taints()]).toEqual(["True", []]);
    await clock.advance(1);
    expect(condition(available)).toMatchObject({ status: "Unknown", reason: "ManagedClusterLeaseUpdateStopped" });
    expect(taints()).toEqual(["cluster.open-cluster-management.io/unreachable"]);
    const about = { kind: "ManagedCluster", namespace: "east", name: "east" };
    expect(api.all(events)).toMatchObject([
      { metadata: { namespace: "east" }, reason: "AvailableUnknown", involvedObject: about },
    ]);
    expect(log).toContainEqual(expect.objectContaining({ level: "warn", reason: "AvailableUnknown" }));
    expect(counted).toEqual(["AvailableUnknown"]);
    await stop();
  });

  it("keeps what the agent has written", async () => {
    const bench = await scene();
    const { client, clock, stored, condition } = bench;
    const joined = {
      type: "ManagedClusterJoined",
      status: "True",
      reason: "ManagedClusterJoined",
      message: "said",
      lastTransitionTime,
    } as const;
    const status = {
      ...stored().status,
      capacity: { cpu: "4" },
      conditions: [...(stored().status?.conditions ?? []), joined],
    };
    await client.update(managedClusters, { ...stored(), status }, { subresource: "status" });
    await clock.advance(5 * minute);
    expect(condition("ManagedClusterJoined")).toEqual(joined);
    expect(stored().status).toMatchObject({ capacity: { cpu: "4" } });
    await bench.stop();
  });

  it("stays available while it beats, and is not made so by a beat alone", async () => {
    const { clock, condition, beat, stop } = await scene();
    for (let count = 0; count < 10; count += 1) {
      await clock.advance(minute);
      await beat();
    }
    expect(condition(available)?.status).toBe("True");
    await clock.advance(5 * minute);
    await beat();
    expect(condition(available)?.status).toBe("Unknown");
    await stop();
  });

  it("is judged by when the hub received its lease, whatever its clock says", async () => {
    const { clock, condition, beat, stop } = await scene();
    await clock.advance(minute);
    await beat(-60 * minute);
    await clock.advance(4 * minute);
    expect(condition(available)?.status).toBe("True");
    await stop();
  });
});

describe("a clock that is off", () => {
  it.each([
    [299_999, "True"],
    [300_000, "False"],
    [-300_000, "False"],
    [-299_999, "True"],
  ])("by %d ms is %s in sync", async (skewMs, status) => {
    const { clock, condition, beat, stop } = await scene();
    await clock.advance(1000);
    await beat(skewMs);
    expect(condition(clockSynced)?.status).toBe(status);
    await stop();
  });

  it("is in sync again with the next beat that is, or where nobody asks", async () => {
    const { clock, condition, beat, stop } = await scene();
    await clock.advance(1000);
    await beat(400_000);
    await clock.advance(1000);
    await beat();
    expect(condition(clockSynced)?.status).toBe("True");
    await stop();
    const annotations = { "registration.open-cluster-management.io/skip-clock-sync-check": "true" };
    const other = await scene({ annotations });
    await other.clock.advance(1000);
    await other.beat(400_000);
    expect(other.condition(clockSynced)?.status).toBe("True");
    await other.stop();
  });

  it("is not blamed for the time that the hub was down", async () => {
    const bench = await scene();
    expect(bench.condition(clockSynced)).toBeUndefined();
    await bench.stop();
  });
});
