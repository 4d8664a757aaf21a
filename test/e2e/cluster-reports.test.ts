import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clustersPath, says, startClusterStage, type ClusterStage } from "../kits/cluster-stage.ts";
import { putChanged } from "../kits/api-client.ts";
import { reported, type Report } from "../kits/reports.ts";

const role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:controller:managed-cluster-controller";
let stage: ClusterStage;

beforeAll(async () => {
  stage = await startClusterStage();
});

afterAll(() => stage.close());

const told = (reason: Parameters<typeof reported>[1], of: Parameters<typeof reported>[2]): Promise<Report> =>
  reported({ log: stage.hub.log, read: stage.admin }, reason, of);

interface Rule {
  readonly resources?: readonly string[];
  readonly verbs: readonly string[];
}

describe("an accepted cluster for which nothing can be set up", () => {
  it("says the cause in its condition, log and Event, once, and is set up when the cause is gone", async () => {
    const { rules } = (await stage.admin(role)).object() as unknown as { readonly rules: readonly Rule[] };
    const without = rules.map((rule) =>
      rule.resources?.includes("namespaces") === true
        ? { ...rule, verbs: rule.verbs.filter((verb) => verb !== "create") }
        : rule,
    );
    expect(without).not.toEqual(rules);
    await putChanged(stage.admin, role, { change: (object) => ({ ...object, rules: without }) });
    await stage.create("barred");
    await stage.accept("barred");
    const cluster = await stage.cluster("barred", says("HubAcceptedManagedCluster", "False", "Error"));
    const { conditions } = cluster["status"] as { readonly conditions: readonly { readonly message: string }[] };
    const of = { controller: "managed-cluster", kind: "ManagedCluster", name: "barred" };
    const { lines, event } = await told("ClusterSetupFailed", of);
    expect(lines).toHaveLength(1);
    expect(event).toMatchObject({ type: "Warning", count: 1, message: conditions[0]?.message });
    expect(event.message).toContain('cannot create resource "namespaces"');
    await putChanged(stage.admin, role, { change: (object) => ({ ...object, rules }) });
    await stage.cluster("barred");
    expect((await told("ClusterAccepted", of)).event.count).toBe(1);
    expect((await stage.admin(`${clustersPath}/barred`)).status).toBe(200);
  });
});

describe("a request that carries the label of a cluster and is not what its agent asks for", () => {
  it("is marked with the rule that it breaks", async () => {
    await stage.create("labelled");
    const { name } = await stage.request("labelled", { commonName: "system:open-cluster-management:other:a" });
    const of = { controller: "managed-cluster-approving", kind: "CertificateSigningRequest", name };
    const { lines, event } = await told("ClusterNotApproved", of);
    expect(lines).toHaveLength(1);
    expect(event.message).toContain("its common name is that of another cluster than its label");
  });
});
