import { X509Certificate } from "node:crypto";
import { readdir, readFile, readlink, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { wallClock } from "../../src/host/system-clock.ts";
import type { Clock } from "../../src/apimachinery/clock.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { requests, tokenOn, whoami } from "../kits/peers-cluster.ts";
import { eventually } from "../kits/peers-process.ts";
import { pratiqueProgram, type PratiqueProgram } from "../kits/peers-pratique.ts";
import { peerSuite } from "../kits/peers.ts";
import { programRun, type ProgramRun } from "../kits/program-run.ts";

const limitMs = 120_000;
/** Ten minutes: a rotation has minutes of the time that stands for them, however long the machine takes for it. */
const lifeSeconds = 600;

let ahead = 0;
/** The time of hub and machine, which goes on by leaps. */
const time: Clock = { now: () => Date.now() + ahead, sleep: wallClock.sleep };
/** That of an agent which stays: its pauses end when the time is set on, those of calls to the hub when they are over. */
const agentTime: Clock = {
  now: time.now,
  sleep: async (ms, signal) => {
    if (ms === 10_000 || ms === 30_000) return wallClock.sleep(ms, signal);
    const due = time.now() + ms;
    while (time.now() < due && signal?.aborted !== true) await wallClock.sleep(Math.min(20, due - time.now()), signal);
  },
};

/** Sets the time on to the next rotation that the agent has planned. */
async function toNextRotation(agent: ProgramRun): Promise<void> {
  const at = await eventually("a plan", () => {
    const [, last = ""] = [...agent.err().matchAll(/renewsAt=(\S+)/g)].at(-1) ?? [];
    return Date.parse(last) > time.now() ? Date.parse(last) : undefined;
  });
  ahead += at + 1000 - time.now();
}

peerSuite("kubectl", "an agent beside a hub whose certificates live for minutes", () => {
  let hub: TestHub;
  let pratique: PratiqueProgram;

  beforeAll(async () => {
    [hub, pratique] = await Promise.all([
      startTestHub({
        clock: time,
        clusterSigningDurationSeconds: lifeSeconds,
        servingApproval: { providers: ["inventory"] },
      }),
      pratiqueProgram(),
    ]);
  });

  afterAll(async () => {
    await Promise.all([hub?.close(), pratique?.remove()]);
  });

  async function joined(node: string, ...more: readonly string[]): Promise<string> {
    const dir = join(hub.dir, node);
    const token = await tokenOn(hub.kubectl);
    const places = ["--cert-dir", join(dir, "pki"), "--kubeconfig", join(dir, "kubelet.conf")];
    const pin = ["--discovery-token-ca-cert-hash", hub.hub.caPin];
    const run = programRun(["join", hub.url, "--token", token, ...pin, "--node-name", node, ...places, ...more], ahead);
    expect([await run.done, run.err()]).toEqual([0, expect.any(String)]);
    return dir;
  }

  async function stopped(agent: ProgramRun): Promise<void> {
    agent.interrupt();
    expect([await agent.done, agent.err()]).toEqual([0, expect.any(String)]);
  }

  test(
    "rotates again and again as the node, and kubectl never meets a moment without",
    { timeout: limitMs },
    async () => {
      const dir = await joined("turning");
      const pki = join(dir, "pki");
      const current = join(pki, "kubelet-client-current.pem");
      const first = new X509Certificate(await readFile(current));
      const agent = programRun(["agent", "--dir", dir], agentTime);
      const stanza = programRun(["credential", "--dir", dir, "--print-kubeconfig", "--command", pratique.executable]);
      expect(await stanza.done).toBe(0);
      expect(stanza.out()).not.toMatch(/PRIVATE|client-key/);
      const exec = join(dir, "exec.conf");
      await writeFile(exec, stanza.out());

      const byFile = hub.kubectl.with({ kubeconfig: join(dir, "kubelet.conf") });
      const byExec = hub.kubectl.with({ kubeconfig: exec });
      const asked: unknown[] = [];
      for (const rotations of [1, 2]) {
        await toNextRotation(agent);
        do asked.push(await whoami(byFile), await whoami(byExec));
        while ((agent.err().match(/renewed the client certificate/g)?.length ?? 0) < rotations);
      }
      asked.push(await whoami(byFile), await whoami(byExec));
      expect(asked.length).toBeGreaterThan(4);
      for (const one of asked) expect(one).toMatchObject({ username: "system:node:turning" });
      await stopped(agent);

      const last = new X509Certificate(await readFile(current));
      expect(last.subject).toBe("O=system:nodes\nCN=system:node:turning");
      expect(last.publicKey.equals(first.publicKey)).toBe(false);
      expect((await stat(current)).mode & 0o777).toBe(0o600);
      const files = (await readdir(pki)).filter((name) => name.startsWith("kubelet-client"));
      expect(files.filter((name) => /^kubelet-client-\d{4}(-\d\d){5}\.pem$/.test(name))).toHaveLength(2);
      expect(files).not.toContain("kubelet-client.next.key");
      expect(await readlink(current)).toBe(join(pki, files.toSorted()[1] ?? ""));
      const own = (await requests(hub.kubectl)).filter(({ spec }) => spec["username"] === "system:node:turning");
      expect(own).toHaveLength(2);
      for (const { status } of own) {
        expect(status?.conditions).toEqual([expect.objectContaining({ type: "Approved", reason: "AutoApproved" })]);
      }
      expect(agent.err()).toMatch(
        /INFO {2}scheduled the renewal of the client certificate reason=RenewalScheduled .*renewsAt=/,
      );
    },
  );

  test("says how it stands, for people and for programs", { timeout: limitMs }, async () => {
    const dir = await joined("standing");
    // In its last tenth.
    ahead += lifeSeconds * 950;
    expect(await programRun(["agent", "--dir", dir, "--once"], ahead).done).toBe(0);
    const status = programRun(["agent", "--dir", dir, "--status"], ahead);
    expect(await status.done).toBe(0);
    expect(status.out()).toMatch(
      /^The credential is good\.\nclient certificate .*current\.pem\n {2}server .*\n {2}node {6}system:node:standing\n {2}valid {5}for [\dms]+, until .*\n {2}hub {7}accepts it\n {2}renewed .*\n {2}next .*\(in [\dms]+\)\n$/,
    );
    const json = programRun(["agent", "--dir", dir, "--status", "-o", "json"], ahead);
    expect(await json.done).toBe(0);
    expect(JSON.parse(json.out())).toMatchObject({
      good: true,
      credentials: [{ kind: "client-certificate", subject: "system:node:standing", agent: { failures: 0 } }],
    });
    const late = programRun(["agent", "--dir", dir, "--status"], ahead + 2 * lifeSeconds * 1000);
    expect(await late.done).toBe(1);
    expect(late.out()).toContain("join again with pratique join --force");
  });

  test(
    "keeps a serving certificate for its addresses once somebody vouches for them",
    { timeout: limitMs },
    async () => {
      const dir = await joined("serving", "--serving-address", "10.9.8.7", "--serving-name", "serving.example");
      const pki = join(dir, "pki");
      const node = { apiVersion: "v1", kind: "Node", metadata: { name: "serving" } };
      await hub.kubectl.with({ input: JSON.stringify(node) }).ok("create", "-f", "-");
      const agent = programRun(["agent", "--dir", dir], agentTime);
      await agent.until(/waiting for approval of the serving certificate/);
      const status = programRun(["agent", "--dir", dir, "--status"], ahead);
      expect(await status.done).toBe(1);
      expect(status.out()).toMatch(
        /^1 of 2 credentials is of no use\.\n[^]*problem {3}there is none yet\n[^]*request {3}csr\/node-csr-/,
      );
      const data = { serving: "serving.example, 10.9.8.7" };
      const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "pratique-node-inventory" }, data };
      await hub.kubectl.with({ input: JSON.stringify(map) }).ok("-n", "kube-system", "create", "-f", "-");
      const issued = (count: number): Promise<true> =>
        eventually(`${count} serving certificates`, () =>
          (agent.err().match(/renewed the serving certificate/g)?.length ?? 0) >= count ? true : undefined,
        );
      await issued(1);
      ahead += lifeSeconds * 950;
      await issued(2);
      await stopped(agent);
      const served = new X509Certificate(await readFile(join(pki, "kubelet-server-current.pem")));
      expect([served.subject, served.subjectAltName]).toEqual([
        "O=system:nodes\nCN=system:node:serving",
        "DNS:serving.example, IP Address:10.9.8.7",
      ]);
      expect(served.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
    },
  );
});
