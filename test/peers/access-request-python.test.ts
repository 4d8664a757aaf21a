import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startAccessStage, type AccessStage } from "../kits/access-stage.ts";
import { kubectlRunner } from "../kits/kubectl.ts";
import { peerSuite, requirePeer } from "../kits/peers.ts";
import { ofThisTest, spawnProcess } from "../kits/peers-process.ts";

const program = resolve(import.meta.dirname, "python/access_client.py");

peerSuite(["python3-cryptography", "kubectl"], "a client in Python that was written from the protocol alone", () => {
  let stage: AccessStage;

  beforeAll(async () => {
    stage = await startAccessStage();
    const body = { metadata: { name: "web" }, spec: { containers: [{ name: "web", image: "web" }] } };
    await stage.admin("/api/v1/namespaces/vms/pods", { method: "POST", body });
  });
  afterAll(() => stage?.close());

  test("asks, is approved, unseals, and sees the pods of its namespace alone", async () => {
    const { hub, decide, until, person } = stage;
    const dir = join(hub.dir, "python");
    await mkdir(dir);
    const args = [program, hub.url, "vm-python-a1b2c", dir, "0.1", "vms", "default"];
    const client = ofThisTest(spawnProcess(requirePeer("python3-cryptography"), args, { home: dir }));
    await client.until(/waiting for approval/);
    expect((await decide("vm-python-a1b2c", { accepted: true }, person("ada"))).status).toBe(200);
    const { status } = await until("vm-python-a1b2c");
    expect(status).toMatchObject({ evidence: { possession: "Unproven" }, seal: { scheme: "rsa-oaep-sha512" } });
    const { code, printed } = await client.done;
    const told = printed.split("\n").filter((line) => line !== "" && line !== "waiting for approval");
    expect([code, ...told]).toEqual([0, "vms: 1 pods web", "default: refused 403"]);
    const kubectl = kubectlRunner({ home: dir, kubeconfig: join(dir, "kubeconfig") });
    expect((await kubectl("-n", "vms", "get", "pods", "-o", "name")).out).toBe("pod/web\n");
  });
});
