import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { connect } from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import { commands } from "../../src/cli/commands.ts";
import { processIo } from "../../src/cli/process-io.ts";
import { runProgram } from "../../src/cli/program.ts";
import { systemClock } from "../../src/host/system-clock.ts";
import { agentClock } from "../kits/agent-clock.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

const day = 24 * 3600 * 1000;
let hub: TestHub | undefined;

afterEach(async () => {
  await hub?.close();
  hub = undefined;
});

/**
 * A clock that can be set, by which the hub looks at its certificates whenever `look` is called; a call while it still works on the
 * last look is lost, so what is waited for calls it anew each time.
 */
function settableClock(startAhead = 0) {
  let ahead = startAhead;
  let waiting: (() => void)[] = [];
  return {
    set: (ms: number) => void (ahead = ms),
    look: () => {
      const woken = waiting;
      waiting = [];
      for (const wake of woken) wake();
    },
    now: () => Date.now() + ahead,
    sleep: (ms: number, signal?: AbortSignal): Promise<void> =>
      ms !== 30_000
        ? systemClock.sleep(ms, signal)
        : new Promise((resolve) => {
            // A hub that closes while it works on the last look comes to sleep after it was told to stop.
            if (signal?.aborted) return resolve();
            waiting.push(resolve);
            signal?.addEventListener("abort", () => resolve(), { once: true });
          }),
  };
}

/** Whether a client with this machine's clock, which trusts the hub's CA, can connect; else the reason of OpenSSL. */
function connection({ port, ca }: Pick<TestHub, "port" | "ca">): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port, ca, servername: "localhost" });
    socket.once("secureConnect", () => resolve(socket.destroy() && "connected"));
    socket.once("error", (error: Error & { code?: string }) => resolve(error.code ?? error.message));
  });
}

function get({ port }: TestHub, path: string, token?: string): Promise<{ status: number; body: string }> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", port, path, headers, rejectUnauthorized: false }, (response) => {
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
    })
      .once("error", reject)
      .end();
  });
}

async function adminCertificate({ kubeconfig }: TestHub): Promise<X509Certificate> {
  const kept = await readFile(kubeconfig, "utf8");
  return new X509Certificate(Buffer.from(/client-certificate-data: (\S+)/.exec(kept)?.[1] ?? "", "base64"));
}

describe("a hub whose clock is wrong for a while", () => {
  it("replaces a serving certificate from the future when it starts", async () => {
    const first = await startTestHub();
    await first.close("keep");
    const ahead = await startTestHub({ dir: first.dir, clock: settableClock(300 * day) });
    await ahead.close("keep");
    hub = await startTestHub({ dir: first.dir });
    expect(await connection(hub)).toBe("connected");
    expect(Date.parse((await adminCertificate(hub)).validFrom)).toBeLessThan(Date.now());
  });

  it("is not ready, and says why to those who may ask, while it shows a certificate that has expired by its clock", async () => {
    const clock = settableClock();
    hub = await startTestHub({ clock, users: { prometheus: ["system:monitoring"] } });
    expect(await get(hub, "/readyz")).toEqual({ status: 200, body: "ok" });
    clock.set(400 * day);
    expect(await get(hub, "/readyz")).toMatchObject({
      status: 500,
      body: expect.stringContaining("[-]serving-certificate failed: reason withheld\n"),
    });
    expect((await get(hub, "/livez")).status).toBe(200);
    expect(await get(hub, "/readyz/serving-certificate")).toMatchObject({ status: 403 });
    expect(await get(hub, "/readyz/serving-certificate", hub.token("prometheus"))).toMatchObject({
      status: 500,
      body: expect.stringMatching(
        /^internal server error: the serving certificate has expired on 20\S+Z; the clock says 20\S+Z\n$/,
      ),
    });
    expect(await get(hub, "/readyz", hub.token("prometheus"))).toMatchObject({ status: 500 });
    await expect.poll(() => (clock.look(), get(hub as TestHub, "/readyz"))).toEqual({ status: 200, body: "ok" });
    expect(hub.log).toContainEqual(
      expect.objectContaining({
        reason: "ClockChanged",
        message: "the system clock was set ahead by 400 days; certificates of the hub are judged by the new time",
      }),
    );
  });

  it("lets clients with a right clock in again once its own has been set back, and says so by being ready", async () => {
    const clock = settableClock();
    hub = await startTestHub({ clock });
    clock.set(400 * day);
    await expect.poll(() => (clock.look(), connection(hub as TestHub))).toBe("CERT_NOT_YET_VALID");
    clock.set(0);
    expect((await get(hub, "/readyz")).status).toBe(500);
    await expect.poll(() => (clock.look(), connection(hub as TestHub))).toBe("connected");
    expect((await get(hub, "/readyz")).status).toBe(200);
  });

  it("is not ready while its CA is not valid by its clock", async () => {
    const clock = settableClock();
    hub = await startTestHub({ clock, users: { prometheus: ["system:monitoring"] } });
    for (const [ahead, why] of [
      [-day, "is not valid before"],
      [11 * 365 * day, "has expired on"],
    ] as const) {
      clock.set(ahead);
      expect(await get(hub, "/readyz/serving-certificate", hub.token("prometheus"))).toMatchObject({
        status: 500,
        body: expect.stringContaining(`the CA certificate ${why}`),
      });
    }
  });

  it("renews admin.kubeconfig while it runs, before its end and when the clock was set back", async () => {
    const clock = settableClock();
    hub = await startTestHub({ clock });
    const first = await adminCertificate(hub);
    clock.set(280 * day);
    const shown = (): Promise<X509Certificate> => (clock.look(), adminCertificate(hub as TestHub));
    await expect.poll(async () => (await shown()).serialNumber).not.toBe(first.serialNumber);
    const second = await adminCertificate(hub);
    expect(second.subject).toBe(first.subject);
    expect(Date.parse(second.validTo)).toBeGreaterThan(clock.now() + 300 * day);
    await expect
      .poll(() => hub?.log)
      .toContainEqual(
        expect.objectContaining({ reason: "CertificateRenewed", message: "the hub renewed admin.kubeconfig" }),
      );
    clock.set(0);
    await expect.poll(async () => Date.parse((await shown()).validFrom)).toBeLessThan(Date.now());
  });
});

describe("a node whose certificate was issued while the clocks were ahead", () => {
  it("says that the hub refuses it, instead of waiting until it is valid", { timeout: 120_000 }, async () => {
    const clock = settableClock();
    hub = await startTestHub({ clock });
    const dir = join(hub.dir, "node");
    const written = { out: "", err: "" };
    const run = (stop: AbortSignal, ...words: readonly string[]): Promise<number> =>
      runProgram(commands, words, {
        ...processIo(),
        clock: agentClock(clock),
        interrupted: () => stop,
        stdout: { write: (said: string) => void (written.out += said), isTty: false },
        stderr: { write: (said: string) => void (written.err += said), isTty: false },
      });
    const never = new AbortController().signal;
    await run(never, "token", "create", "--print-join-command", "--kubeconfig", hub.kubeconfig);
    const words = written.out.trim().split(" ").slice(1);
    clock.set(0.9 * day);
    const places = ["--cert-dir", join(dir, "pki"), "--kubeconfig", join(dir, "kubelet.conf")];
    expect([await run(never, ...words, ...places, "--node-name", "n1"), written.err]).toEqual([0, written.err]);
    clock.set(0);
    const stop = new AbortController();
    const agent = run(stop.signal, "agent", "--dir", join(dir, "pki"));
    let ahead = 0;
    await expect
      .poll(() => (clock.set((ahead += 30_000)), written.err), { timeout: 60_000, interval: 50 })
      .toMatch(/the hub does not accept the client certificate: .*or it is not valid yet by the hub's clock \(401/);
    stop.abort();
    expect(await agent).toBe(0);
  });
});
