import { expect, it } from "vitest";
import { controllerBench } from "../../../test/kits/controller-bench.ts";
import { csrObject } from "../../../test/kits/csr-object.ts";
import { settled } from "../../../test/kits/fake-clock.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { parseCsr } from "../../pki/csr.ts";
import { generatePrivateKey } from "../../pki/keys.ts";
import { clusterNameLabel, managedClusters } from "../../apis/managed-cluster.ts";
import { csrView, hasCondition } from "../certificates/csr-view.ts";
import { certificateSigningRequests as csrs } from "../kinds.ts";
import { clusterApproving } from "./cluster-approving.ts";

const user = "system:bootstrap:ocmhub";

/** A request of an agent for its first certificate, with a key of its own. */
function first(agent: string, name: string): ApiObject {
  const object = csrObject({
    name,
    key: generatePrivateKey(),
    commonName: `system:open-cluster-management:edge-1:${agent}`,
    organizations: ["system:open-cluster-management:edge-1"],
    signerName: "kubernetes.io/kube-apiserver-client",
    usages: ["digital signature", "client auth"],
    username: user,
  });
  return { ...object, metadata: { ...object.metadata, labels: { [clusterNameLabel]: "edge-1" } } };
}

const cluster: ApiObject = {
  apiVersion: `${managedClusters.group}/${managedClusters.version}`,
  kind: "ManagedCluster",
  metadata: { name: "edge-1" },
  spec: {},
};

async function approvedOf(agents: readonly string[], rejoin: boolean): Promise<number> {
  const bench = controllerBench();
  await bench.client.create(managedClusters, cluster);
  for (const [at, agent] of agents.entries()) await bench.api.given(csrs, first(agent, `r-${at}`));
  const rules = [{ user, clusters: ["edge-*"], rejoin }];
  const { informers, clock } = bench;
  await bench.start(clusterApproving({ informers, clock, parse: parseCsr, rules, isRevoked: () => false }));
  for (let turn = 0; turn < 10; turn += 1) await settled();
  await bench.stop();
  return bench.api.all(csrs).filter((object) => hasCondition(csrView(object), "Approved")).length;
}

it("of several agents that ask for a cluster at once, one is approved without a person", async () => {
  expect(await approvedOf(["a", "b", "c", "d"], false)).toBe(1);
});

it("a request without a ManagedCluster says what its requester could not create, until the cluster is there", async () => {
  const bench = controllerBench();
  const { api, informers, clock, client } = bench;
  const options = { informers, clock, parse: parseCsr, rules: [], isRevoked: () => false, marks: true };
  await api.given(csrs, first("a", "r"));
  await bench.start(clusterApproving(options));
  await settled();
  const conditions = (): ReturnType<typeof csrView>["conditions"] =>
    bench.api.all(csrs).flatMap((object) => csrView(object).conditions);
  expect(conditions()).toMatchObject([
    { type: "NotApprovedAutomatically", status: "True", reason: "ClusterNotApproved" },
  ]);
  expect(conditions()[0]?.message).toContain('there is no ManagedCluster "edge-1"');
  await client.create(managedClusters, cluster);
  await settled();
  expect(conditions()).toEqual([]);
  await bench.stop();
});

it("a request that no rule accepts says so where requests are marked, and carries no condition on a real Kubernetes", async () => {
  for (const marks of [true, false]) {
    const bench = controllerBench();
    const { api, informers, clock, client } = bench;
    const rules = [{ user: "another", clusters: ["*"], rejoin: false }];
    await client.create(managedClusters, cluster);
    await api.given(csrs, first("a", "r"));
    await bench.start(clusterApproving({ informers, clock, parse: parseCsr, rules, isRevoked: () => false, marks }));
    await settled();
    const found = bench.api.all(csrs).flatMap((object) => csrView(object).conditions);
    expect(found.map(({ reason }) => reason)).toEqual(marks ? ["ClusterNotApproved"] : []);
    expect(bench.counted).toEqual(["ClusterNotApproved"]);
    await bench.stop();
  }
});

it("of several keys under the id of one agent as well", async () => {
  expect(await approvedOf(["a", "a", "a"], false)).toBe(1);
});

it("all are where the operator lets clusters join anew", async () => {
  expect(await approvedOf(["a", "b"], true)).toBe(2);
});
