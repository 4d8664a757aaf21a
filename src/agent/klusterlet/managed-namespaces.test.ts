import { afterEach, describe, expect, it } from "vitest";
import { managedClusters } from "../../apis/managed-cluster.ts";
import { acceptedStatus, servingStage, type ServingStage } from "../../../test/kits/serving-cluster.ts";
import { keepManagedNamespaces, managedNamespaceLabel } from "./managed-namespaces.ts";

const namespaces = { group: "", version: "v1", plural: "namespaces", kind: "Namespace", scope: "Cluster" } as const;
const label = managedNamespaceLabel("https://hub.example:6443");
let stage: ServingStage;

afterEach(() => stage.stop());

const namespaceObject = (name: string): { apiVersion: string; kind: string; metadata: { name: string } } => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name },
});

describe("the namespaces that a hub wants on its clusters", () => {
  it("are created or labelled, and reported as available", async () => {
    const managedNamespaces = [
      { name: "team-a", clusterSet: "prod" },
      { name: "team-b", clusterSet: "prod" },
    ];
    stage = await servingStage({ status: { ...acceptedStatus, managedNamespaces } });
    await stage.spoke.client.create(namespaces, namespaceObject("team-b"));
    void keepManagedNamespaces(stage.serving);
    await stage.clock.advance(0);
    expect(stage.spoke.all(namespaces).map(({ metadata }) => [metadata.name, metadata.labels])).toEqual([
      ["team-a", { [label]: "true", "kubernetes.io/metadata.name": "team-a" }],
      ["team-b", { [label]: "true", "kubernetes.io/metadata.name": "team-b" }],
    ]);
    const condition = { type: "NamespaceAvailable", status: "True" };
    expect(stage.cluster().status).toMatchObject({
      managedNamespaces: [
        { name: "team-a", clusterSet: "prod", conditions: [condition] },
        { name: "team-b", clusterSet: "prod", conditions: [condition] },
      ],
    });
  });

  it("stay when they are wanted no longer, with a label that says so", async () => {
    stage = await servingStage({
      status: { ...acceptedStatus, managedNamespaces: [{ name: "team-a", clusterSet: "prod" }] },
    });
    void keepManagedNamespaces(stage.serving);
    await stage.clock.advance(0);
    await stage.change((cluster) => ({ ...cluster, status: acceptedStatus }));
    expect(stage.spoke.all(namespaces)).toMatchObject([{ metadata: { name: "team-a", labels: { [label]: "false" } } }]);
  });

  it("are passed over where they are no names", async () => {
    const managedNamespaces = [null, "x", { name: 1 }, { name: "../secrets" }, { name: "__proto__" }, { name: "fine" }];
    stage = await servingStage();
    // As a hub may say that checks no schema.
    await stage.hub.putInStore(managedClusters, {
      ...stage.cluster(),
      status: { ...acceptedStatus, managedNamespaces },
    });
    void keepManagedNamespaces(stage.serving);
    await stage.clock.advance(0);
    expect(stage.spoke.all(namespaces).map(({ metadata }) => metadata.name)).toEqual(["fine"]);
  });

  it("carry a label of 63 characters made of the hub's address", () => {
    expect(label).toMatch(/^clusterset\.open-cluster-management\.io\/[0-9a-f]{63}$/);
    expect(managedNamespaceLabel("https://other:6443")).not.toBe(label);
  });
});
