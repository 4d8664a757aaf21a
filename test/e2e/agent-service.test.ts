import { mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/host/system-clock.ts";
import { writeExecutable } from "../kits/executable.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { tokenOn } from "../kits/peers-cluster.ts";
import { eventually, ofThisTest, spawnProcess } from "../kits/peers-process.ts";
import { pratiqueProgram, type PratiqueProgram } from "../kits/peers-pratique.ts";
import { peerSuite } from "../kits/peers.ts";
import { programRun } from "../kits/program-run.ts";

const limitMs = 180_000;

peerSuite("kubectl", "an agent as a service", () => {
  let hub: TestHub;
  let pratique: PratiqueProgram;

  beforeAll(async () => {
    // By the machine's clock a certificate is in its last tenth at once, and good for two minutes more.
    const behindMs = 6_000_000;
    const clock = { now: () => Date.now() - behindMs, sleep: systemClock.sleep };
    const clusterSigningDurationSeconds = behindMs / 1000 + 120;
    [hub, pratique] = await Promise.all([startTestHub({ clock, clusterSigningDurationSeconds }), pratiqueProgram()]);
  });

  afterAll(async () => {
    await Promise.all([hub?.close(), pratique?.remove()]);
  });

  async function joined(node: string): Promise<string> {
    const dir = join(hub.dir, node);
    const token = await tokenOn(hub.kubectl);
    const places = ["--cert-dir", join(dir, "pki"), "--kubeconfig", join(dir, "kubelet.conf")];
    const pin = ["--discovery-token-ca-cert-hash", hub.hub.caPin];
    const run = programRun(["join", hub.url, "--token", token, ...pin, "--node-name", node, ...places]);
    expect([await run.done, run.err()]).toEqual([0, expect.any(String)]);
    return dir;
  }

  /** A program that notes its words and environment. */
  async function noting(
    dir: string,
    name: string,
    after = "",
  ): Promise<{ readonly path: string; said(): Promise<string> }> {
    const [path, log] = [join(dir, "bin", name), join(dir, `${name}.log`)];
    await mkdir(join(dir, "bin"), { recursive: true });
    writeExecutable(path, `#!/bin/sh\necho "$0 $*" >> ${log}\nenv | sort >> ${log}\n${after}\n`);
    return { path, said: () => readFile(log, "utf8").catch(() => "") };
  }

  test(
    "tells systemd, answers health checks, and runs a command after each rotation",
    { timeout: limitMs },
    async () => {
      const dir = await joined("service");
      const notify = await noting(hub.dir, "systemd-notify");
      const hook = await noting(hub.dir, "hook", "echo reloaded; exit 3");
      const args = ["agent", `--dir=${dir}`, "--health-address=127.0.0.1:0", `--after-rotation=${hook.path}  one two`];
      const path = `${join(hub.dir, "bin")}:${process.env["PATH"] ?? ""}`;
      const env = { PATH: path, NOTIFY_SOCKET: "/run/x", WATCHDOG_USEC: "3000000", SECRET: "not for others" };
      const agent = ofThisTest(spawnProcess(pratique.executable, args, { home: hub.dir, env }));
      const [, port] = await agent.until(/reason=Listening port=(\d+)/);
      const ready = async (): Promise<number> => (await fetch(`http://127.0.0.1:${port}/readyz`)).status;
      await agent.until(/the command of --after-rotation ended with code 3 reason=RotationCommandFailed/);
      await eventually("readiness", async () => (await ready()) === 200 || undefined);
      expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).toBe(200);

      const told = await hook.said();
      expect(told).toContain(`${hook.path} one two\n`);
      expect(told).toContain("PRATIQUE_KIND=client-certificate\n");
      expect(told).toContain(`PRATIQUE_FILE=${join(dir, "pki", "kubelet-client-current.pem")}\n`);
      expect(told).toContain(`PRATIQUE_DIR=${join(dir, "pki")}\n`);
      expect(told).not.toMatch(/SECRET|NOTIFY_SOCKET|HOME=/);
      expect(agent.printed()).toMatch(/ended with code 3 .*output=reloaded/);

      await eventually("all that systemd is told", async () => {
        const said = await notify.said();
        return (
          said.includes("READY=1") && said.includes("WATCHDOG=1") && said.includes("1 of 1 credentials good, next at")
        );
      });
      expect(await notify.said()).toContain("NOTIFY_SOCKET=/run/x\n");
      expect(await notify.said()).not.toMatch(/SECRET/);
    },
  );

  test("gives the files to whom it is told, and never to everybody", { timeout: limitMs }, async () => {
    const dir = await joined("shared");
    const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
    const run = programRun(["agent", "--dir", dir, "--once", "--owner", `${uid}:${gid}`, "--mode", "0640"]);
    expect([await run.done, run.err()]).toEqual([0, expect.stringContaining("renewed the client certificate")]);
    const mode = async (...names: readonly string[]): Promise<string> =>
      ((await stat(join(dir, ...names))).mode & 0o777).toString(8);
    expect(await mode("pki", "kubelet-client-current.pem")).toBe("640");
    expect(await mode("pki", "kubelet-client.agent.json")).toBe("640");
    expect(await mode("kubelet.conf")).toBe("640");
    expect([await mode("pki"), await mode()]).toEqual(["750", "750"]);
    for (const wrong of ["0644", "0660", "0700", "0200", "x"]) {
      const refused = programRun(["agent", "--dir", dir, "--once", "--mode", wrong]);
      expect([await refused.done, refused.err()]).toEqual([2, expect.stringContaining("never for everybody")]);
    }
    const nobody = programRun(["agent", "--dir", dir, "--once", "--owner", "no-such-user"]);
    expect([await nobody.done, nobody.err()]).toEqual([2, expect.stringContaining('there is no user "no-such-user"')]);
  });
});
