import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clustersPath, csrsPath, startClusterStage, type ClusterStage } from "../kits/cluster-stage.ts";

let stage: ClusterStage;

beforeAll(async () => {
  stage = await startClusterStage();
});
afterAll(() => stage.close());

const lease = (cluster: string): string =>
  `/apis/coordination.k8s.io/v1/namespaces/${cluster}/leases/managed-cluster-lease`;

describe("a cluster that joins", () => {
  it("is let in by two decisions, with the calls that a klusterlet makes", async () => {
    const { booter, admin } = stage;
    expect((await booter(`${clustersPath}?fieldSelector=metadata.name%3Deast`)).status).toBe(200);
    expect((await booter(`${clustersPath}/east`)).status).toBe(404);
    const made = await stage.create("east");
    expect([made.status, made.object()["spec"], made.object().metadata.labels]).toEqual([
      201,
      { hubAcceptsClient: false, leaseDurationSeconds: 60 },
      { "cluster.open-cluster-management.io/clusterset": "default" },
    ]);
    const selector = "labelSelector=open-cluster-management.io%2Fcluster-name%3Deast";
    expect((await booter(`${csrsPath}?${selector}`)).items()).toEqual([]);
    const request = await stage.request("east");
    expect(request.reply.status).toBe(201);
    expect(request.name).toMatch(/^east-/);
    await stage.approve(request.name);
    const agent = await stage.issued(request);
    expect((await agent(`${clustersPath}/east`)).status).toBe(403);
    expect((await admin("/api/v1/namespaces/east")).status).toBe(404);

    expect((await stage.accept("east")).status).toBe(200);
    const cluster = await stage.cluster("east");
    expect(cluster.metadata.finalizers).toContain("cluster.open-cluster-management.io/api-resource-cleanup");
    expect((await agent(`${clustersPath}/east`)).status).toBe(200);
    expect((await agent(`${clustersPath}?fieldSelector=metadata.name%3Deast`)).status).toBe(200);
    expect((await agent(clustersPath)).status).toBe(403);
    const beat = (await agent(lease("east"))).object();
    expect(beat.metadata.labels).toEqual({ "open-cluster-management.io/cluster-name": "east" });
    const renewed = await agent(lease("east"), {
      method: "PUT",
      body: { ...beat, spec: { ...(beat["spec"] as object), renewTime: "2026-11-21T00:00:00.000000Z" } },
    });
    expect(renewed.status).toBe(200);
  });
});
