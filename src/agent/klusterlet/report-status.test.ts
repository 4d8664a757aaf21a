import { afterEach, describe, expect, it } from "vitest";
import { ConnectionError } from "../../client/client.ts";
import { findCondition } from "../../apimachinery/conditions.ts";
import { conflict } from "../../apimachinery/status.ts";
import { managedClusters } from "../../apis/managed-cluster.ts";
import { acceptedStatus, remoteOver, servingStage, type ServingStage } from "../../../test/kits/serving-cluster.ts";
import { events } from "../../apis/event.ts";
import { reportStatus } from "./report-status.ts";

const available = "ManagedClusterConditionAvailable";
let stage: ServingStage;

afterEach(() => stage.stop());

async function staged(wish: Parameters<typeof servingStage>[0] = {}): Promise<void> {
  stage = await servingStage(wish);
  stage.spokePaths.set("/livez", {});
  stage.spokePaths.set("/version", { body: Buffer.from('{"gitVersion":"v1.36.1"}') });
  void reportStatus(stage.serving);
  await stage.clock.advance(0);
}

const conditionOf = (type: string): string | undefined => {
  const found = findCondition(stage.cluster().status?.conditions, type);
  return found && `${found.status} ${found.reason}`;
};
const patches = (): number => stage.hub.writes.filter(({ verb }) => verb === "patch").length;
const seen = (): Promise<void> => stage.change((cluster) => cluster);

describe("the status of a cluster", () => {
  it("reports Joined and Available, and its version once the hub has seen that", async () => {
    await staged();
    expect([conditionOf("ManagedClusterJoined"), conditionOf(available)]).toEqual([
      "True ManagedClusterJoined",
      "True ManagedClusterAvailable",
    ]);
    expect(stage.cluster().status?.version).toBeUndefined();
    await seen();
    expect(stage.cluster().status?.version).toEqual({ kubernetes: "v1.36.1" });
    expect(conditionOf("HubAcceptedManagedCluster")).toBe("True HubClusterAdminAccepted");
  });

  it("reports the version at once when the hub's answer arrives after the change that it causes", async () => {
    stage = await servingStage();
    const { session, changes } = stage.serving;
    stage.spokePaths.set("/livez", {});
    stage.spokePaths.set("/version", { body: Buffer.from('{"gitVersion":"v1.36.1"}') });
    const patch: typeof session.client.patch = async (...args) => {
      const written = await session.client.patch(...args);
      changes.wake();
      return written as never;
    };
    void reportStatus({ ...stage.serving, session: { ...session, client: { ...session.client, patch } } });
    await stage.clock.advance(0);
    expect(stage.cluster().status?.version).toEqual({ kubernetes: "v1.36.1" });
  });

  it("is written when something has changed only", async () => {
    await staged();
    await seen();
    const before = patches();
    await stage.clock.advance(600_000);
    expect(patches()).toBe(before);
  });

  it("is not written before the hub accepts the cluster", async () => {
    await staged({ status: { conditions: [] } });
    await stage.clock.advance(600_000);
    expect(patches()).toBe(0);
  });

  it("turns unavailable when the API has failed for 20 seconds, and not before", async () => {
    await staged();
    stage.spokePaths.set("/livez", { status: 500 });
    await stage.clock.advance(60_000 + 15_000);
    expect(conditionOf(available)).toBe("True ManagedClusterAvailable");
    await stage.clock.advance(5000);
    expect(conditionOf(available)).toBe("False ManagedClusterKubeAPIServerUnavailable");
    expect(stage.events.at(-1)).toMatchObject({ kind: "unavailable" });
    stage.spokePaths.set("/livez", {});
    await stage.clock.advance(60_000);
    expect(conditionOf(available)).toBe("True ManagedClusterAvailable");
  });

  it("asks /healthz where /livez is not there or not allowed", async () => {
    await staged();
    stage.spokePaths.set("/livez", { status: 403 });
    await stage.clock.advance(120_000);
    expect(conditionOf(available)).toBe("False ManagedClusterKubeAPIServerUnavailable");
    stage.spokePaths.set("/healthz", {});
    await stage.clock.advance(60_000);
    expect(conditionOf(available)).toBe("True ManagedClusterAvailable");
  });

  it("knows an API that cannot be reached from one that is away for a moment", async () => {
    stage = await servingStage();
    const raw = (): never => {
      throw new ConnectionError("ECONNREFUSED", "no");
    };
    const spoke = { ...remoteOver(stage.spoke.client), raw };
    void reportStatus({ ...stage.serving, options: { ...stage.serving.options, spoke } });
    await stage.clock.advance(19_000);
    expect(conditionOf(available)).toBeUndefined();
    await stage.clock.advance(1000);
    expect(conditionOf(available)).toBe("False ManagedClusterKubeAPIServerUnavailable");
  });

  it("is withheld while the clocks differ too much, and says so once", async () => {
    const clock = {
      type: "ManagedClusterConditionClockSynced",
      status: "False",
      reason: "ManagedClusterClockOutOfSync",
      message: "off by 6m",
      lastTransitionTime: "2026-11-21T00:00:00Z",
    } as const;
    await staged({ status: { conditions: [...acceptedStatus.conditions, clock] } });
    await stage.clock.advance(600_000);
    expect(patches()).toBe(0);
    expect(stage.events).toEqual([{ kind: "withheld", message: expect.stringContaining("off by 6m") as unknown }]);
  });

  it("is written again on the version that the hub has written meanwhile", async () => {
    await staged();
    stage.hub.failNext("patch", managedClusters, conflict(managedClusters, "east", "the object has been modified"));
    await seen();
    expect(stage.cluster().status?.version).toBeUndefined();
    await stage.clock.advance(2000);
    expect(stage.cluster().status?.version).toEqual({ kubernetes: "v1.36.1" });
    expect(stage.events.filter(({ kind }) => kind === "failed")).toEqual([]);
  });

  it("says how large the machine is where the cluster has no API", async () => {
    await staged({ spoke: undefined, machine: { cpus: 4, memoryBytes: 2 ** 31 } });
    await seen();
    expect(stage.cluster().status).toMatchObject({ capacity: { cpu: "4", memory: "2097152Ki" } });
    expect(conditionOf(available)).toBe("True ManagedClusterAvailable");
  });

  it("tells of renewals that failed", async () => {
    await staged();
    stage.serving.notes.rotated = {
      type: "ClusterCertificateRotated",
      status: "False",
      reason: "ClientCertificateUpdateFailed",
      message: "ten requests",
    };
    await seen();
    expect(conditionOf("ClusterCertificateRotated")).toBe("False ClientCertificateUpdateFailed");
  });

  it("is told of again once the hub accepts the cluster again", async () => {
    await staged();
    await stage.change((cluster) => ({ ...cluster, status: { conditions: [] } }));
    stage.events.splice(0);
    await stage.change((cluster) => ({ ...cluster, status: acceptedStatus }));
    expect(stage.events).toEqual([{ kind: "available" }]);
  });

  it("comes with an event when it turns", async () => {
    await staged();
    expect(stage.hub.all(events)).toMatchObject([
      { reason: "Available", reportingComponent: "klusterlet-agent", metadata: { namespace: "east" } },
    ]);
  });
});
