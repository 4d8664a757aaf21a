import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { wallClock } from "../../src/host/system-clock.ts";
import { commands } from "../../src/cli/commands.ts";
import { processIo } from "../../src/cli/process-io.ts";
import { runProgram } from "../../src/cli/program.ts";
import type { Clock } from "../../src/apimachinery/clock.ts";
import { agentClock } from "../kits/agent-clock.ts";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

const limitMs = 60_000;
const revocations = "/apis/access.pratique.dev/v1alpha1/credentialrevocations";

/** It begins days ago, for TLS goes by the real time and takes nothing that begins later. */
let ahead = -72 * 3_600_000;
const time: Clock = { now: () => Date.now() + ahead, sleep: wallClock.sleep };
const agentTime = agentClock(time);

let hub: TestHub;
let admin: ApiClient;
let certDir: string;

interface Run {
  readonly err: () => string;
  readonly out: () => string;
  readonly stop: () => void;
  readonly ended: Promise<number>;
}

function pratique(...words: readonly string[]): Run {
  const written = { out: "", err: "" };
  const stop = new AbortController();
  const io = {
    ...processIo(),
    clock: agentTime,
    interrupted: () => stop.signal,
    stdout: { write: (text: string) => void (written.out += text), isTty: false },
    stderr: { write: (text: string) => void (written.err += text), isTty: false },
  };
  const ended = runProgram(commands, words, io);
  return { err: () => written.err, out: () => written.out, stop: () => stop.abort(), ended };
}

/** Lets time pass until something holds. */
const passing = (holds: () => boolean): Promise<void> =>
  expect.poll(() => ((ahead += 30_000), holds()), { timeout: limitMs, interval: 50 }).toBe(true);

beforeAll(async () => {
  hub = await startTestHub({ clock: time });
  admin = apiClient(hub);
  certDir = join(hub.dir, "node", "pki");
  const token = pratique("token", "create", "--print-join-command", "--kubeconfig", hub.kubeconfig);
  await token.ended;
  const words = token.out().trim().split(" ").slice(1);
  const places = ["--cert-dir", certDir, "--kubeconfig", join(dirname(certDir), "kubelet.conf")];
  const joined = pratique(...words, ...places, "--node-name", "n1");
  if ((await joined.ended) !== 0) throw new TypeError(joined.err());
}, limitMs);

afterAll(async () => {
  admin?.close();
  await hub?.close();
});

it(
  "a node that was revoked knows it, says so wherever it is asked, and is good again when it is let in again",
  { timeout: 2 * limitMs },
  async () => {
    const agent = pratique("agent", "--dir", certDir, "--health-address", "127.0.0.1:0");
    await passing(() => agent.err().includes("INFO  the hub accepts all credentials reason=Ready"));
    const port = /reason=Listening port=(\d+)/.exec(agent.err())?.[1] ?? "";
    const ready = async (): Promise<number> => (await fetch(`http://127.0.0.1:${port}/readyz`)).status;
    expect(await ready()).toBe(200);
    const status = async (): Promise<{ readonly code: number; readonly out: string }> => {
      const run = pratique("agent", "--dir", certDir, "--status");
      return { code: await run.ended, out: run.out() };
    };
    expect((await status()).code).toBe(0);

    const body = { metadata: { name: "n1" }, spec: { user: "system:node:n1", reason: "stolen" } };
    expect((await admin(revocations, { method: "POST", body })).status).toBe(201);
    await passing(() => agent.err().includes("the hub does not accept the client certificate"));
    expect(agent.err()).toMatch(/ERROR the hub does not accept .*\(401 Unauthorized\); see why on the hub .* since=/);
    expect(await ready()).toBe(503);
    const told = await status();
    expect(told.code).toBe(4);
    expect(told.out).toMatch(/^The credential is of no use\.\n/);
    expect(told.out).toMatch(/ {2}refused {3}by the hub since \S+: 401 Unauthorized\n/);
    expect(told.out).toMatch(
      / {2}to do {5}.*pratique revocations list.*pratique join --force; .*must be deleted there first/,
    );
    agent.stop();
    expect(await agent.ended).toBe(0);

    const once = pratique("agent", "--dir", certDir, "--once");
    expect(await once.ended).toBe(4);
    expect(once.err()).toContain("error: the hub does not accept the client certificate");

    const restarted = pratique("agent", "--dir", certDir, "--health-address", "127.0.0.1:0");
    await passing(() => restarted.err().includes("the hub does not accept the client certificate"));
    expect(restarted.err()).not.toContain(" ready");
    expect((await admin(`${revocations}/n1`, { method: "DELETE" })).status).toBe(200);
    await passing(() => restarted.err().includes("the hub accepts the client certificate again"));
    await passing(() => restarted.err().includes("the hub accepts all credentials reason=Ready"));
    expect((await status()).code).toBe(0);
    restarted.stop();
    expect(await restarted.ended).toBe(0);
    expect(await pratique("agent", "--dir", certDir, "--once").ended).toBe(0);
  },
);
