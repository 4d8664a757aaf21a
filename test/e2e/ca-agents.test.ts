import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { wallClock } from "../../src/host/system-clock.ts";
import { commands } from "../../src/cli/commands.ts";
import { processIo } from "../../src/cli/process-io.ts";
import { runProgram } from "../../src/cli/program.ts";
import type { Clock } from "../../src/apimachinery/clock.ts";
import { certificatesOfBundle } from "../../src/trust/pins.ts";
import { agentClock } from "../kits/agent-clock.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

/** It begins days ago, for TLS goes by the real time and takes nothing that begins later. */
let ahead = -72 * 3_600_000;
/** The time of hub and machine; what the hub looks at every few seconds it looks at often. */
const time: Clock = {
  now: () => Date.now() + ahead,
  sleep: (ms, signal) => wallClock.sleep(ms === 2000 || ms === 5000 ? 10 : ms, signal),
};
const agentTime = agentClock(time);

let hub: TestHub;
let certDir: string;

beforeAll(async () => {
  hub = await startTestHub({ clock: time, clusterSigningDurationSeconds: 2_592_000 });
  certDir = await joined("n1");
}, 60_000);

afterAll(() => hub.close());

/** The folder of a node's certificates. */
async function joined(name: string): Promise<string> {
  const dir = join(hub.dir, "nodes", name, "pki");
  const token = await pratique("token", "create", "--print-join-command", "--kubeconfig", hub.kubeconfig);
  const words = token.out.trim().split(" ").slice(1);
  const places = ["--cert-dir", dir, "--kubeconfig", join(dirname(dir), "kubelet.conf")];
  expect(await pratique(...words, ...places, "--node-name", name)).toMatchObject({ code: 0 });
  return dir;
}

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function pratique(...words: readonly string[]): Promise<Ended> {
  const written = { out: "", err: "" };
  const io = {
    ...processIo(),
    clock: time,
    stdout: { write: (text: string) => void (written.out += text), isTty: false },
    stderr: { write: (text: string) => void (written.err += text), isTty: false },
  };
  return { code: await runProgram(commands, words, io), ...written };
}

const ca = (step: string, ...more: readonly string[]): Promise<Ended> =>
  pratique("ca", step, "--data-dir", hub.dataDir, ...more);
const look = (): Promise<Ended> => pratique("agent", "--once", "--dir", certDir);
const pinsIn = async (file: string): Promise<readonly string[]> =>
  certificatesOfBundle(await readFile(file, "utf8")).map(({ pin }) => pin);

/** Takes a step by the command and waits until the running hub has taken it up. */
async function step(name: string, ...more: readonly string[]): Promise<void> {
  const count = (): number => hub.log.filter(({ reason }) => reason === "Reloaded").length;
  const before = count();
  expect(await ca(name, ...more)).toMatchObject({ code: 0 });
  await expect.poll(count).toBe(before + 1);
}

/** What `ca check` says of the node, once the hub has written down what it was shown. */
async function impact(): Promise<unknown> {
  const { out } = await ca("check", "-o", "json");
  return (JSON.parse(out) as readonly { readonly username: string }[]).find(
    ({ username }) => username === "system:node:n1",
  );
}

it("a node follows its hub from one CA to the next, and the old one is not revoked before it has", async () => {
  const [first] = await pinsIn(join(certDir, "ca.crt"));
  await step("prepare");
  await expect.poll(impact).toMatchObject({ leftBehind: ["has not shown that it trusts the newest CA"] });
  expect((await ca("check")).code).toBe(1);

  const looked = await look();
  expect(looked.err).toContain("CA bundle updated from cluster-info");
  const both = await pinsIn(join(certDir, "ca.crt"));
  expect(both).toHaveLength(2);
  expect(both[0]).toBe(first);
  const kubeconfig = await readFile(join(dirname(certDir), "kubelet.conf"), "utf8");
  const data = /certificate-authority-data: (\S+)/.exec(kubeconfig)?.[1] ?? "";
  expect(certificatesOfBundle(Buffer.from(data, "base64").toString()).map(({ pin }) => pin)).toEqual(both);
  await expect.poll(impact).toMatchObject({ leftBehind: [], trustsSince: expect.any(String) as unknown });
  expect((await ca("check")).out).toContain("None of 1 would be left behind.");

  await step("activate");
  expect(await impact()).toMatchObject({ leftBehind: ["holds a certificate of the previous CA"] });
  const refused = await ca("revoke");
  expect(refused).toMatchObject({ code: 7 });
  expect(refused.err).toContain("system:node:n1 holds a certificate of the previous CA");

  // The certificate is good for weeks, and renewed all the same.
  const renewed = await look();
  expect(renewed.err).toContain("another CA of the hub signs now; the agent renews the client certificate early");
  expect(renewed.err).toContain("renewed the client certificate");
  await expect.poll(impact).toMatchObject({ leftBehind: [], holdsNewest: true });
  await step("revoke");
  expect((await look()).code).toBe(0);
  expect(await pinsIn(join(certDir, "ca.crt"))).toEqual([both[1]]);
  expect((await look()).err).not.toContain("cannot");
}, 60_000);

it("agents that stay renew within four hours of hearing of it, each once, and then the old CA can go unforced", async () => {
  const names = ["n1", "n2", "n3", "n4"];
  for (const name of names.slice(1)) await joined(name);
  // So soon after another change nobody would hurry.
  ahead += 25 * 3_600_000;
  const stop = new AbortController();
  const agent = running(stop.signal);
  const count = (what: string): number => agent.err().split(what).length - 1;
  /** Looks again and again, and lets time pass in between. */
  const passing = (ms: number, what: string): Promise<void> =>
    expect
      .poll(() => ((ahead += ms), count(what)), { timeout: 60_000, interval: 50 })
      .toBeGreaterThanOrEqual(names.length);

  await step("prepare");
  await passing(120_000, "CA bundle updated from cluster-info");
  await step("activate");
  await passing(120_000, "reason=EarlyRenewalScheduled");
  ahead += 4 * 3_600_000;
  await passing(5000, "renewed the client certificate");
  await expect.poll(async () => (await ca("check")).code).toBe(0);
  await step("revoke");
  expect(count("reason=EarlyRenewalScheduled")).toBe(names.length);
  stop.abort();
  expect(await agent.ended).toBe(0);
}, 120_000);

/** `pratique agent` over the folders of all nodes. */
function running(signal: AbortSignal): { readonly err: () => string; readonly ended: Promise<number> } {
  let err = "";
  const io = {
    ...processIo(),
    clock: agentTime,
    interrupted: () => signal,
    stdout: { write: () => undefined, isTty: false },
    stderr: { write: (text: string) => void (err += text), isTty: false },
  };
  const ended = runProgram(commands, ["agent", "--dir", join(hub.dir, "nodes")], io);
  return { err: () => err, ended };
}
