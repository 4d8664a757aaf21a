import { afterEach, describe, expect, it } from "vitest";
import { StatusError } from "../../apimachinery/status.ts";
import { stringAt } from "../../apis/json-fields.ts";
import { acceptedStatus, servingStage, type ServingStage } from "../../../test/kits/serving-cluster.ts";
import { updateLease } from "./lease-updater.ts";

const leases = {
  group: "coordination.k8s.io",
  version: "v1",
  plural: "leases",
  kind: "Lease",
  scope: "Namespaced",
} as const;
const old = "2001-01-01T00:00:00.000000Z";
let stage: ServingStage;

afterEach(() => stage.stop());

async function staged(wish: Parameters<typeof servingStage>[0] = {}): Promise<void> {
  stage = await servingStage({ random: () => Uint8Array.of(255, 255), ...wish });
  await stage.hub.client.create(leases, {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "managed-cluster-lease", namespace: "east", labels: { "of-the": "hub" } },
    spec: { holderIdentity: "managed-cluster-lease", leaseDurationSeconds: 60, renewTime: old },
  });
  void updateLease(stage.serving);
  await stage.clock.advance(0);
}

const beats = (): number =>
  stage.hub.writes.filter(({ verb, plural }) => verb === "update" && plural === "leases").length;

describe("the heartbeat of a cluster", () => {
  it("changes the time and nothing else", async () => {
    await staged();
    const [lease] = stage.hub.all(leases);
    expect([lease?.metadata.labels, lease?.["spec"]]).toEqual([
      { "of-the": "hub" },
      {
        holderIdentity: "managed-cluster-lease",
        leaseDurationSeconds: 60,
        renewTime: expect.stringMatching(/^\d{4}-.*\.\d{6}Z$/) as unknown,
      },
    ]);
    expect(stringAt(lease, "spec", "renewTime")).not.toBe(old);
  });

  it("comes once per lease duration and up to a quarter more", async () => {
    await staged();
    await stage.clock.advance(74_000);
    expect(beats()).toBe(1);
    await stage.clock.advance(1000);
    expect(beats()).toBe(2);
  });

  it("follows another duration at once", async () => {
    await staged();
    await stage.change((cluster) => ({ ...cluster, spec: { ...cluster.spec, leaseDurationSeconds: 10 } }));
    expect(beats()).toBe(2);
    await stage.clock.advance(12_500);
    expect(beats()).toBe(3);
    expect(stage.events.filter(({ kind }) => kind === "accepted")).toEqual([
      { kind: "accepted", everyMs: 60_000 },
      { kind: "accepted", everyMs: 10_000 },
    ]);
  });

  it("rests while the hub does not accept the cluster", async () => {
    await staged({ status: { conditions: [] } });
    await stage.clock.advance(600_000);
    expect(beats()).toBe(0);
    await stage.change((cluster) => ({ ...cluster, status: acceptedStatus }));
    expect(beats()).toBe(1);
    await stage.change((cluster) => ({ ...cluster, status: { conditions: [] } }));
    await stage.clock.advance(600_000);
    expect(beats()).toBe(1);
  });

  it("is tried again sooner where it fails, and the failure is told once", async () => {
    await staged();
    for (let count = 0; count < 3; count += 1) {
      stage.hub.failNext("get", leases, new StatusError("ServiceUnavailable", "asleep"));
    }
    await stage.clock.advance(75_000 + 8000);
    expect(beats()).toBe(2);
    expect(stage.events.filter(({ kind }) => kind === "failed")).toEqual([
      { kind: "failed", message: expect.stringContaining("no heartbeat") as unknown },
    ]);
  });
});
