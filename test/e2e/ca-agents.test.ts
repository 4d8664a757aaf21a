import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { wallClock } from "../../src/agent/wall-clock.ts";
import { commands } from "../../src/cli/commands.ts";
import { processIo } from "../../src/cli/process-io.ts";
import { runProgram } from "../../src/cli/program.ts";
import type { Clock } from "../../src/core/clock.ts";
import { certificatesOfBundle } from "../../src/trust/pins.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

let ahead = 0;
/** The time of hub and machine; what the hub looks at every few seconds it looks at often. */
const time: Clock = {
  now: () => Date.now() + ahead,
  sleep: (ms, signal) => wallClock.sleep(ms === 2000 || ms === 5000 ? 10 : ms, signal),
};

let hub: TestHub;
let certDir: string;

beforeAll(async () => {
  hub = await startTestHub({ clock: time, clusterSigningDurationSeconds: 600 });
  certDir = join(hub.dir, "node", "pki");
  const token = await pratique("token", "create", "--print-join-command", "--kubeconfig", hub.kubeconfig);
  const words = token.out.trim().split(" ").slice(1);
  const places = ["--cert-dir", certDir, "--kubeconfig", join(dirname(certDir), "kubelet.conf")];
  const joined = await pratique(...words, ...places, "--node-name", "n1");
  if (joined.code !== 0) throw new TypeError(joined.err);
}, 30_000);

afterAll(() => hub.close());

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
  const count = (): number => hub.log.filter(({ message }) => message === "the CAs were read anew").length;
  const before = count();
  expect(await ca(name, ...more)).toMatchObject({ code: 0 });
  await expect.poll(count, { timeout: 20_000 }).toBe(before + 1);
}

/** What `ca rehearse` says of the node, once the hub has written down what it was shown. */
async function fate(): Promise<unknown> {
  const { out } = await ca("rehearse", "-o", "json");
  return (JSON.parse(out) as readonly { readonly username: string }[]).find(
    ({ username }) => username === "system:node:n1",
  );
}

it("a node follows its hub from one CA to the next, and the old one is not retired before it has", async () => {
  const [first] = await pinsIn(join(certDir, "ca.crt"));
  await step("prepare");
  await expect.poll(fate).toMatchObject({ leftBehind: ["has not shown that it trusts the newest CA"] });
  expect((await ca("rehearse")).code).toBe(1);

  const looked = await look();
  expect(looked.err).toContain("the hub told of other CAs, which are trusted now");
  const both = await pinsIn(join(certDir, "ca.crt"));
  expect(both).toHaveLength(2);
  expect(both[0]).toBe(first);
  const kubeconfig = await readFile(join(dirname(certDir), "kubelet.conf"), "utf8");
  const data = /certificate-authority-data: (\S+)/.exec(kubeconfig)?.[1] ?? "";
  expect(certificatesOfBundle(Buffer.from(data, "base64").toString()).map(({ pin }) => pin)).toEqual(both);
  await expect.poll(fate).toMatchObject({ leftBehind: [], trustsSince: expect.any(String) as unknown });
  expect((await ca("rehearse")).out).toContain("None of 1 would be left behind.");

  await step("switch");
  expect(await fate()).toMatchObject({ leftBehind: ["holds a certificate of the CA before"] });
  const refused = await ca("retire");
  expect(refused).toMatchObject({ code: 7 });
  expect(refused.err).toContain("system:node:n1 holds a certificate of the CA before");
  expect((await look()).code).toBe(0);

  // Near the end of its certificate's ten minutes the node renews, and the new CA signs.
  ahead = 550_000;
  expect((await look()).err).toContain("renewed the client certificate");
  await expect.poll(fate).toMatchObject({ leftBehind: [], holdsNewest: true });
  await step("retire");
  expect((await look()).code).toBe(0);
  expect(await pinsIn(join(certDir, "ca.crt"))).toEqual([both[1]]);
  expect((await look()).err).not.toContain("cannot");
}, 60_000);
