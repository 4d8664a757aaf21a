import { afterEach, describe, expect, it } from "vitest";
import { ConnectionError } from "../../client/client.ts";
import { clusterInfoKubeconfig, clusterInfoPath } from "../../trust/cluster-info.ts";
import { remoteOver, servingStage, type ServingStage } from "../../../test/kits/serving-cluster.ts";
import { testCa } from "../../../test/kits/fake-hub.ts";
import { memoryApi } from "../../../test/kits/memory-api.ts";
import { managedClusters } from "../../apis/managed-cluster.ts";
import { readClusterCredential } from "../../credentials/proof/cluster-credential.ts";
import { followAddress } from "./follow-hub-trust.ts";

let stage: ServingStage;

afterEach(() => stage.stop());

const ca = testCa().pem;
const tells = (server: string): void => {
  const kubeconfig = clusterInfoKubeconfig({ server, caPem: ca });
  stage.hubPaths.set(clusterInfoPath, { body: Buffer.from(JSON.stringify({ data: { kubeconfig } })) });
};
const written = async (): Promise<string | undefined> =>
  readClusterCredential(await stage.serving.options.store.readCredential())?.hub.server;

async function started(): Promise<void> {
  stage = await servingStage();
  tells("https://inside.example:6443");
  expect(await followAddress(stage.serving)).toBe(false);
}

describe("the address of a hub", () => {
  it("is the one that people gave, whatever the hub tells from the start", async () => {
    await started();
    expect([await written(), stage.serving.state.now().told]).toEqual([
      "https://hub.example:6443",
      "https://inside.example:6443",
    ]);
  });

  it("changes once the hub names another, and the same cluster is found there", async () => {
    await started();
    tells("https://new.example:6443");
    expect(await followAddress(stage.serving)).toBe(true);
    expect([await written(), stage.events]).toEqual([
      "https://new.example:6443",
      [{ kind: "moved", server: "https://new.example:6443" }],
    ]);
  });

  it("stays where another hub answers at the new one", async () => {
    await started();
    tells("https://new.example:6443");
    const other = memoryApi({ clock: stage.clock });
    const metadata = { name: "east" };
    await other.client.create(managedClusters, { apiVersion: "v1", kind: "ManagedCluster", metadata });
    await other.client.delete(managedClusters, metadata);
    const clientWith = (): ReturnType<typeof remoteOver> => remoteOver(other.client);
    const serving = { ...stage.serving, session: { ...stage.serving.session, clientWith } };
    expect(await followAddress(serving)).toBe(false);
    expect([await written(), stage.events.at(-1)]).toEqual([
      "https://hub.example:6443",
      { kind: "failed", message: expect.stringContaining("another hub answers") as unknown },
    ]);
  });

  it("stays while nobody answers at the new one, and is tried again", async () => {
    await started();
    tells("https://new.example:6443");
    const { session } = stage.serving;
    const get = (): never => {
      throw new ConnectionError("ECONNREFUSED", "no");
    };
    const clientWith = (): ReturnType<typeof remoteOver> => ({ ...session.client, get });
    expect(await followAddress({ ...stage.serving, session: { ...session, clientWith } })).toBe(false);
    expect(await written()).toBe("https://hub.example:6443");
    expect(await followAddress(stage.serving)).toBe(true);
  });

  it("stays where the hub tells nothing that can be read", async () => {
    await started();
    stage.hubPaths.set(clusterInfoPath, { body: Buffer.from("nothing") });
    expect(await followAddress(stage.serving)).toBe(false);
    stage.hubPaths.set(clusterInfoPath, { status: 403 });
    expect(await followAddress(stage.serving)).toBe(false);
    expect(stage.events).toEqual([]);
  });
});
