import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { JoinError } from "../../credentials/join-error.ts";
import type { KlusterletOptions } from "../../agent/klusterlet/klusterlet-options.ts";
import { folderStore } from "../../credentials/storage/folder-store.ts";
import { registrationStateText } from "../../credentials/storage/registration-state.ts";
import { privateFiles } from "../../host/private-files.ts";
import { exportSec1Pem, generatePrivateKey } from "../../pki/keys.ts";
import { fakeIo, kubeconfigText, runLine, type FakeIoOptions } from "../../../test/kits/fake-io.ts";

let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-klusterlet-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

async function run(line: string, world: FakeIoOptions = {}): Promise<{ code: number; out: string; err: string }> {
  const io = fakeIo(world);
  const code = await runLine(line, io);
  return { code, out: io.out(), err: io.err() };
}

describe("pratique klusterlet", () => {
  it("needs a bootstrap kubeconfig and says where it comes from", async () => {
    const { code, err } = await run("klusterlet");
    expect([code, err]).toEqual([2, expect.stringContaining("pratique cluster token --bootstrap-kubeconfig FILE")]);
  });

  it("gives the agent what the command line says, and logs what it tells", async () => {
    let given: KlusterletOptions | undefined;
    const { code, err } = await run(
      `klusterlet --bootstrap-kubeconfig a,/b --cluster-name east --dir ${dir}/x --external-server https://s:1 --certificate-duration 2h --hub-timeout 5m`,
      {
        runKlusterlet: async (options) => {
          given = options;
          options.report({ kind: "started", cluster: "east", agent: "a1b2c", place: "there" });
          return { cluster: "east", agent: "a1b2c", server: undefined };
        },
      },
    );
    expect(code).toBe(0);
    expect(given).toMatchObject({
      bootstrapKubeconfigs: ["/here/a", "/b"],
      clusterName: "east",
      externalServers: ["https://s:1"],
      expirationSeconds: 7200,
      hubTimeoutMs: 300_000,
      spoke: undefined,
      store: { place: `${dir}/x` },
    });
    expect(err).toContain("a1b2c");
  });

  it("answers health checks: ready while the cluster is available on its hub", async () => {
    const answers: number[] = [];
    const io = fakeIo({
      runKlusterlet: async ({ report }) => {
        const port = Number(/port=(\d+)/.exec(io.err())?.[1]);
        const ask = async (path: string): Promise<void> => {
          const reply = await fetch(`http://127.0.0.1:${port}${path}`);
          await reply.text();
          answers.push(reply.status);
        };
        await ask("/livez");
        await ask("/readyz");
        report({ kind: "available" });
        report({ kind: "planned", at: 0, expiresAt: 0 });
        await ask("/readyz");
        report({ kind: "denied", message: "no" });
        await ask("/readyz");
        return { cluster: "", agent: "", server: undefined };
      },
    });
    expect(await runLine("klusterlet --bootstrap-kubeconfig a --health-address 127.0.0.1:0", io)).toBe(0);
    expect(answers).toEqual([200, 503, 200, 503]);
  });

  it("keeps its credential in the cluster where that has an API", async () => {
    let place = "";
    const world: FakeIoOptions = {
      files: { "/here/spoke.conf": kubeconfigText() },
      connect: async () => ({ close: () => undefined }) as never,
      runKlusterlet: async ({ store }) => {
        ({ place } = store);
        return { cluster: "", agent: "", server: undefined };
      },
    };
    await run("klusterlet --bootstrap-kubeconfig a --spoke-kubeconfig spoke.conf", world);
    expect(place).toBe("Secret open-cluster-management-agent/hub-kubeconfig-secret");
    const missing = await run("klusterlet --bootstrap-kubeconfig a --spoke-kubeconfig nothing.conf", world);
    expect([missing.code, missing.err]).toEqual([
      2,
      expect.stringContaining("/here/nothing.conf does not exist: check the path"),
    ]);
  });

  it.each([
    ["--certificate-duration 10m", "must be 1h or more"],
    ["--external-server http://s:1", "no https:// URL"],
  ])("refuses %s", async (option, why) => {
    const { code, err } = await run(`klusterlet --bootstrap-kubeconfig a ${option}`);
    expect([code, err]).toEqual([2, expect.stringContaining(why)]);
  });

  it("shows the agent id and the key of a request that waits, and says by its code that there is no certificate", async () => {
    const place = join(dir, "waiting");
    const state = {
      clusterName: "east",
      agentName: "a1b2c",
      pending: {
        origin: "o",
        by: "bootstrap" as const,
        request: "east-x",
        keyPem: exportSec1Pem(generatePrivateKey()),
      },
    };
    await folderStore(place, privateFiles).writeState(registrationStateText(state));
    const { code, out } = await run(`klusterlet --status --dir ${place}`);
    expect(code).toBe(1);
    expect(out).toMatch(/cluster +east\nagent id +a1b2c\n/);
    expect(out).toMatch(/request +csr\/east-x, key SHA256:/);
    const json = await run(`klusterlet --status --dir ${place} -o json`);
    expect(JSON.parse(json.out)).toMatchObject({ cluster: "east", agent: "a1b2c", good: false });
    const none = await run(`klusterlet --status --dir ${dir}/none`);
    expect(none.code).not.toBe(0);
    expect(none.err).toMatch(/^error: \S+ holds no registration\n.*--dir/);
  });

  it("shows that a request was denied, why, and what lets the agent request another one", async () => {
    const place = join(dir, "denied");
    const keyPem = exportSec1Pem(generatePrivateKey());
    const denied = "the request east-x was denied: PratiqueDeny: unknown agent";
    const pending = { origin: "o", by: "bootstrap" as const, request: "east-x", keyPem, denied };
    const state = { clusterName: "east", agentName: "a1b2c", pending };
    await folderStore(place, privateFiles).writeState(registrationStateText(state));
    const { code, out } = await run(`klusterlet --status --dir ${place}`);
    expect(code).toBe(1);
    expect(out).toMatch(/^denied +the request east-x was denied: PratiqueDeny: unknown agent$/m);
    expect(out).toMatch(/^to do +.*kubectl delete csr east-x$/m);
  });

  it("shows since when and why the hub has the cluster shut out, and says so by its code", async () => {
    const place = join(dir, "shut-out");
    const rejection = { since: "2026-11-20T08:00:00Z", message: "cluster east is no longer accepted by https://h:1" };
    const store = folderStore(place, privateFiles);
    await store.writeState(registrationStateText({ clusterName: "east", agentName: "a1b2c", shutOut: rejection }));
    const { code, out } = await run(`klusterlet --status --dir ${place}`);
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(
        /rejected +since 2026-11-20T08:00:00Z: cluster east is no longer accepted by https:\/\/h:1\n/,
      ),
    ]);
    const json = await run(`klusterlet --status --dir ${place} -o json`);
    expect(JSON.parse(json.out)).toMatchObject({ shutOut: rejection, good: false });
  });

  it.each([
    ["nothing", "nothing of it is left there"],
    ["shut-out", "kubectl delete managedcluster east"],
    ["not-told", "was not notified"],
  ] as const)("says what is left on the hub when it has left: %s", async (onHub, text) => {
    const left = { cluster: "east", agent: "a1b2c", server: "https://h:1", onHub };
    const { code, out } = await run(`klusterlet --leave --dir ${dir}/y`, { leaveHub: async () => left });
    expect([code, out]).toEqual([0, expect.stringContaining(text)]);
  });

  it("says why the hub was not told", async () => {
    const why = "this agent never got a certificate, and without one it cannot leave";
    const left = { cluster: "east", agent: "a1b2c", server: undefined, onHub: "not-told" as const, why };
    const { out } = await run(`klusterlet --leave --dir ${dir}/y`, { leaveHub: async () => left });
    expect(out).toContain(`the hub was not notified: ${why}. There: kubectl delete managedcluster east`);
  });

  it("ends with the reason of the agent", async () => {
    const { code, err } = await run(`klusterlet --leave --dir ${dir}/y`, {
      leaveHub: async () => {
        throw new JoinError("unreachable", "nothing listens there; add --force");
      },
    });
    expect([code, err]).toEqual([3, expect.stringContaining("nothing listens there; add --force")]);
  });
});
