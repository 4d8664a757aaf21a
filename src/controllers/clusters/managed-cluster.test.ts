import { expect, it } from "vitest";
import { controllerBench } from "../../../test/kits/controller-bench.ts";
import { managedClusters, type ManagedCluster } from "../../apis/managed-cluster.ts";
import { clusterRoleBindings, clusterRoles, events, namespaces } from "../kinds.ts";
import { managedCluster } from "./managed-cluster.ts";

it("a cluster with the name of a role that all agents share is set up in no part, and says why, once", async () => {
  const bench = controllerBench();
  const { api, client, clock, informers } = bench;
  // As in a store of a time before admission refused the name, or on a Kubernetes without that admission.
  const spec = { hubAcceptsClient: true };
  await client.create(managedClusters, { apiVersion: "", kind: "", metadata: { name: "registration" }, spec });
  await bench.start(managedCluster({ informers, clock, revokes: false }));
  await clock.advance(60_000);
  const why = "the agents of all clusters share a role or group of this name";
  const { status } = api.all(managedClusters)[0] as ManagedCluster;
  expect(status?.conditions).toMatchObject([
    { type: "HubAcceptedManagedCluster", status: "False", reason: "Error", message: why },
  ]);
  for (const resource of [namespaces, clusterRoles, clusterRoleBindings]) expect(api.all(resource)).toEqual([]);
  expect(api.all(events)).toMatchObject([
    {
      type: "Warning",
      reason: "ClusterNameReserved",
      message: why,
      count: 1,
      involvedObject: { name: "registration" },
    },
  ]);
  const object = "ManagedCluster/registration";
  expect(bench.log).toEqual([expect.objectContaining({ level: "warn", reason: "ClusterNameReserved", object })]);
  expect(bench.counted).toEqual(["ClusterNameReserved"]);
  await bench.stop();
});
