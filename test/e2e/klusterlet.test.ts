import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { folderStore } from "../../src/agent/klusterlet/folder-store.ts";
import type { KlusterletStore } from "../../src/agent/klusterlet/klusterlet-store.ts";
import { privateFiles } from "../../src/agent/private-files.ts";
import { csrsPath, startClusterStage, says, type ClusterStage } from "../kits/cluster-stage.ts";
import { startKlusterlet, type KlusterletWish, type RunningKlusterlet } from "../kits/klusterlet.ts";

let stage: ClusterStage;
let dir: string;
let bootstrap: string;
const running: RunningKlusterlet[] = [];

beforeAll(async () => {
  stage = await startClusterStage();
  dir = await mkdtemp(join(tmpdir(), "pratique-klusterlet-"));
  bootstrap = await stage.hub.kubeconfigOf("booter");
});
afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
});
afterAll(async () => {
  await stage.close();
  await rm(dir, { recursive: true, force: true });
});

const place = (name: string): KlusterletStore => folderStore(join(dir, name), privateFiles);

function start(clusterName: string, wish: Partial<KlusterletWish> = {}): RunningKlusterlet {
  const one = startKlusterlet({ bootstrapKubeconfigs: [bootstrap], clusterName, store: place(clusterName), ...wish });
  running.push(one);
  return one;
}

describe("a cluster that joins", () => {
  it("is available once both decisions are made, and leaves files that only their owner reads", async () => {
    const agent = start("east");
    const { request, agent: id } = await agent.told("requested");
    const waiting = await agent.told("waiting");
    expect(waiting).toMatchObject({ agent: id, open: ["certificate", "acceptance"] });
    expect(waiting.commands[0]).toBe(`pratique cluster accept east --agent-id ${id}`);
    const csr = (await stage.admin(`${csrsPath}/${request}`)).object();
    expect(csr.metadata.labels).toEqual({ "open-cluster-management.io/cluster-name": "east" });
    await stage.approve(request);
    await agent.told("waiting", ({ open }) => open.join() === "acceptance");
    await stage.accept("east");
    await agent.told("available");
    await stage.cluster("east", says("ManagedClusterConditionAvailable", "True"));
    for (const name of ["kubeconfig", "tls.crt", "tls.key", "cluster-name", "agent-name"]) {
      expect((await stat(join(dir, "east", name))).mode & 0o777).toBe(0o600);
    }
    expect(await readFile(join(dir, "east", "agent-name"), "utf8")).toBe(id);
  });
});
