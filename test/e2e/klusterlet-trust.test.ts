import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { folderStore } from "../../src/credentials/storage/folder-store.ts";
import { privateFiles } from "../../src/host/private-files.ts";
import { wallClock } from "../../src/host/system-clock.ts";
import { commands } from "../../src/cli/commands.ts";
import { processIo } from "../../src/cli/process-io.ts";
import { runProgram } from "../../src/cli/program.ts";
import { parseKubeconfig } from "../../src/client/kubeconfig.ts";
import type { Clock } from "../../src/apimachinery/clock.ts";
import { certificatesOfBundle } from "../../src/trust/pins.ts";
import { startClusterStage, type ClusterStage } from "../kits/cluster-stage.ts";
import { startKlusterlet, type RunningKlusterlet } from "../kits/klusterlet.ts";
import { keepSkipping, skippingClock } from "../kits/skipping-clock.ts";
import { peerSuite } from "../kits/peers.ts";

/** The hub looks often at what it looks at every few seconds. */
const time: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => wallClock.sleep(ms === 2000 || ms === 5000 ? 10 : ms, signal),
};
const clock = skippingClock();

let stage: ClusterStage;
let agent: RunningKlusterlet;

beforeAll(async () => {
  stage = await startClusterStage({ clock: time });
  agent = startKlusterlet({
    bootstrapKubeconfigs: [await stage.hub.kubeconfigOf("booter")],
    clusterName: "east",
    store: folderStore(place(), privateFiles),
    clock,
  });
  const { request } = await agent.told("requested");
  await stage.approve(request);
  await stage.accept("east");
  await agent.told("available");
});

afterAll(async () => {
  await agent.stop();
  await stage.close();
});

const place = (): string => join(stage.hub.dir, "klusterlet");

async function hubInFile(): Promise<{ readonly server: string; readonly pins: readonly string[] }> {
  const config = parseKubeconfig(await readFile(join(place(), "kubeconfig"), "utf8"), "kubeconfig");
  const [cluster] = [...config.clusters.values()];
  const data = cluster?.texts.get("certificate-authority-data") ?? "";
  const pins = certificatesOfBundle(Buffer.from(data, "base64").toString()).map(({ pin }) => pin);
  return { server: cluster?.texts.get("server") ?? "", pins };
}

it("a joined cluster trusts the next CA of its hub before that signs, and removes it when it is canceled", async () => {
  const before = await hubInFile();
  expect(before.pins).toHaveLength(1);
  await ca("prepare");
  agent.forget();
  clock.skip(2 * 3_600_000);
  expect((await agent.told("trusts")).pins).toHaveLength(2);
  expect((await hubInFile()).pins).toEqual([before.pins[0], expect.stringMatching(/^sha256:/)]);
  await agent.told("accepted");
  await ca("cancel");
  agent.forget();
  clock.skip(2 * 3_600_000);
  expect((await agent.told("trusts")).pins).toEqual(before.pins);
  expect(await hubInFile()).toEqual(before);
});

peerSuite("kubectl", "a change that leaves a cluster behind", () => {
  it(
    "a cluster that missed a change of the CA registers again with its old bootstrap kubeconfig, by the CA that it has learned",
    {
      timeout: 180_000,
    },
    async () => {
      await ca("prepare");
      agent.forget();
      clock.skip(2 * 3_600_000);
      const { pins } = await agent.told("trusts");
      expect(pins).toHaveLength(2);
      await ca("activate");
      await ca("revoke", "--force");
      agent.forget();
      const stopSkipping = keepSkipping(clock, 600_000);
      try {
        const { request } = await agent.told("requested");
        // The test's own clients know the first CA only; the hub has written its administrator's file anew.
        await stage.hub.kubectl.ok("certificate", "approve", request);
        await agent.told("issued");
        await agent.told("accepted");
        await expect.poll(async () => (await hubInFile()).pins).toEqual([pins[1]]);
      } finally {
        stopSkipping();
      }
    },
  );
});

async function ca(step: string, ...more: readonly string[]): Promise<void> {
  const count = (): number => stage.hub.log.filter(({ reason }) => reason === "Reloaded").length;
  const before = count();
  let said = "";
  const stdout = { write: () => undefined, isTty: false };
  const stderr = { write: (text: string) => void (said += text), isTty: false };
  const io = { ...processIo(), clock: time, stdout, stderr };
  const code = await runProgram(commands, ["ca", step, "--data-dir", stage.hub.dataDir, ...more], io);
  expect(code).toBe(0);
  // By force, a revocation leaves behind the cluster that was not told.
  expect(said).toMatch(more.includes("--force") ? /^warning: 1 identity is left behind;.*\n.*:east:/ : /^$/);
  await expect.poll(count).toBe(before + 1);
}
