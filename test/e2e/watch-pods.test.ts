import { randomBytes } from "node:crypto";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { requestAccess } from "../../src/agent/access/request-access.ts";
import { startAccessStage, type AccessStage } from "../kits/access-stage.ts";
import { hastyClock } from "../kits/hasty-clock.ts";
import { peerSuite } from "../kits/peers.ts";
import { ofThisTest, spawnProcess } from "../kits/peers-process.ts";

const examples = resolve(import.meta.dirname, "../../examples/watch-pods");

let stage: AccessStage;
let kubeconfig: string;

beforeAll(async () => {
  const accessRequests = { perAddress: 1000, inAll: 1000, pending: 100 };
  stage = await startAccessStage({ accessRequests });
  const { admin, hub } = stage;
  const pods = "/api/v1/namespaces/vms/pods";
  for (const name of ["web", "db"]) {
    const spec = { containers: [{ name, image: name }] };
    await admin(pods, { method: "POST", body: { metadata: { name }, spec } });
  }
  const type = "application/merge-patch+json";
  const body = { status: { podIP: "10.1.2.3", podIPs: [{ ip: "10.1.2.3" }] } };
  await admin(`${pods}/web/status`, { method: "PATCH", type, body });
  const granted = await requestAccess(
    {
      endpoint: hub.url,
      pins: [],
      name: "watcher",
      hostname: "watcher",
      dir: join(hub.dir, "watcher"),
      waitMs: 1e9,
      discoveryTimeoutMs: 10_000,
      clock: hastyClock(),
      random: (size) => randomBytes(size),
      userAgent: "test",
    },
    ({ kind }) => {
      if (kind === "access-asked") void stage.decide("watcher", { accepted: true });
    },
  );
  kubeconfig = granted.kubeconfig;
});
afterAll(() => stage.close());

/** What a program prints until it has listed the pods twice. */
async function listedTwice(program: string, args: readonly string[]): Promise<string | undefined> {
  const watching = ofThisTest(spawnProcess(program, [...args, kubeconfig, "0.05"], { home: stage.hub.dir }));
  const [listed] = await watching.until(/^(?:.+\n){4}/);
  return listed;
}

const twice = "vms db -\nvms web 10.1.2.3\n".repeat(2);

describe("the example that watches pods, with what a machine was granted", () => {
  it("prints them in Node", async () => {
    expect(await listedTwice(process.execPath, [join(examples, "watch-pods.mjs")])).toBe(twice);
  });
});

peerSuite("python3-cryptography", "the example that watches pods in Python", () => {
  it("prints them", async () => {
    expect(await listedTwice("/usr/bin/python3", [join(examples, "watch_pods.py")])).toBe(twice);
  });
});
