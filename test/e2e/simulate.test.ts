import { afterEach, expect, it } from "vitest";
import { simulateFleet, type Fleet } from "../../src/agent/simulated/fleet.ts";
import { wallClock } from "../../src/host/system-clock.ts";
import { commands } from "../../src/cli/commands.ts";
import { processIo } from "../../src/cli/process-io.ts";
import { runProgram } from "../../src/cli/program.ts";
import { freePort } from "../kits/peers-kube.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

let hub: TestHub;

afterEach(() => hub.close());

async function tokenOf(): Promise<string> {
  let out = "";
  const stdout = { write: (text: string) => void (out += text), isTty: false };
  const words = ["token", "create", "--kubeconfig", hub.kubeconfig];
  expect(await runProgram(commands, words, { ...processIo(), stdout })).toBe(0);
  return out.trim();
}

async function reaches(fleet: Fleet, holds: (report: ReturnType<Fleet["report"]>) => boolean): Promise<void> {
  await expect.poll(() => holds(fleet.report()), { timeout: 60_000 }).toBe(true);
}

it("a fleet lives through a restart of its hub, each machine under its own name and with what it has", async () => {
  // A port that nobody is given meanwhile.
  hub = await startTestHub({ securePort: await freePort() });
  const stop = new AbortController();
  const { port } = hub;
  const fleet = simulateFleet({
    machines: 20,
    namePrefix: "sim-",
    discovery: { kind: "token", endpoint: `127.0.0.1:${port}`, token: await tokenOf(), pins: [hub.hub.caPin] },
    beatMs: 100,
    spreadMs: 0,
    clock: wallClock,
    fraction: Math.random,
    userAgent: "test",
    signal: stop.signal,
  });
  await reaches(fleet, ({ joined, beats }) => joined === 20 && beats > 60);
  await hub.close("keep");
  await reaches(fleet, ({ failures }) => failures > 5);
  hub = await startTestHub({ dir: hub.dir, securePort: port });
  const before = fleet.report().beats;
  await reaches(fleet, ({ beats }) => beats > before + 60);
  stop.abort();
  await fleet.ended;
  const report = fleet.report();
  expect(report).toMatchObject({ machines: 20, joined: 20, otherIdentity: 0, lost: 0 });
  expect(report.longestGapMs).toBeGreaterThan(0);
  expect(report.perSecond.reduce((all, one) => all + one, 0)).toBeGreaterThanOrEqual(report.beats);
}, 150_000);

it("a hub that is gone until the end is a gap, and machines that never came in are a failure", async () => {
  hub = await startTestHub();
  const stop = new AbortController();
  let ahead = 0;
  const fleet = simulateFleet({
    machines: 2,
    namePrefix: "sim-",
    discovery: { kind: "token", endpoint: `127.0.0.1:${hub.port}`, token: await tokenOf(), pins: [hub.hub.caPin] },
    beatMs: 100,
    spreadMs: 0,
    clock: { now: () => Date.now() + ahead, sleep: wallClock.sleep },
    fraction: Math.random,
    userAgent: "test",
    signal: stop.signal,
  });
  await reaches(fleet, ({ joined, beats }) => joined === 2 && beats > 4);
  const { port } = hub;
  await hub.close("keep");
  await reaches(fleet, ({ failures }) => failures > 2);
  ahead = 600_000;
  stop.abort();
  await fleet.ended;
  expect(fleet.report().longestGapMs).toBeGreaterThanOrEqual(600_000);
  let out = "";
  const io = {
    ...processIo(),
    stdout: { write: (text: string) => void (out += text), isTty: false },
    stderr: { write: () => undefined, isTty: false },
  };
  const words = [
    "simulate",
    `127.0.0.1:${port}`,
    "--token",
    "abcdef.0123456789abcdef",
    "--machines",
    "1",
    "--duration",
    "4s",
  ];
  const pin = ["--discovery-token-ca-cert-hash", hub.hub.caPin];
  expect(await runProgram(commands, [...words, ...pin, "--spread", "0s"], io)).toBe(1);
  expect(out).toContain(`\nnot joined: nothing listens at https://127.0.0.1:${port}`);
  hub = await startTestHub({ dir: hub.dir });
}, 120_000);

it("a machine that is refused is lost, and the command says why and ends with 1", async () => {
  hub = await startTestHub();
  const written = { out: "", err: "" };
  const io = {
    ...processIo(),
    stdout: { write: (text: string) => void (written.out += text), isTty: false },
    stderr: { write: (text: string) => void (written.err += text), isTty: false },
  };
  const words = ["simulate", `127.0.0.1:${hub.port}`, "--token", "abcdef.0123456789abcdef", "--machines", "2"];
  const pin = ["--discovery-token-ca-cert-hash", `sha256:${"0".repeat(64)}`];
  expect(await runProgram(commands, [...words, ...pin, "--spread", "0s"], io)).toBe(1);
  expect(written.out).toContain("0 of 2 machines joined; 2 lost");
  expect(await runProgram(commands, [...words.slice(0, -1), "0", ...pin], io)).toBe(2);
  expect(written.err).toContain("--machines 0: must be 1 to 20000");
}, 120_000);
