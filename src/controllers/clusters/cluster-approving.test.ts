import { expect, it } from "vitest";
import { controllerBench } from "../../../test/kits/controller-bench.ts";
import { csrObject } from "../../../test/kits/csr-object.ts";
import { settled } from "../../../test/kits/fake-clock.ts";
import type { ApiObject } from "../../core/object.ts";
import { parseCsr } from "../../pki/csr.ts";
import { generatePrivateKey } from "../../pki/keys.ts";
import { clusterNameLabel, managedClusters } from "../../resources/managed-cluster.ts";
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
  for (const [at, agent] of agents.entries()) await bench.client.create(csrs, first(agent, `r-${at}`));
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

it("of several keys under the id of one agent as well", async () => {
  expect(await approvedOf(["a", "a", "a"], false)).toBe(1);
});

it("all are where the operator lets clusters join anew", async () => {
  expect(await approvedOf(["a", "b"], true)).toBe(2);
});
