import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { copyFile, rename, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { changeAuthorities } from "../../src/ca/ca-folder.ts";
import type { AuthorityStep } from "../../src/ca/ca-state.ts";
import { systemClock } from "../../src/host/system-clock.ts";
import { parseClusterInfo } from "../../src/trust/cluster-info.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { kubectlRunner } from "../kits/kubectl.ts";
import { peerSuite } from "../kits/peers.ts";

/** The folder of the CAs is looked at often; everything else takes its time. */
const clock = {
  now: () => Date.now(),
  sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms === 2000 ? 10 : ms, signal),
};

let hub: TestHub;

beforeEach(async () => {
  hub = await startTestHub({ clock });
});

afterEach(() => hub.close());

const pki = (name: string): string => readFileSync(join(hub.dataDir, "pki", name), "utf8");

/** Takes the step in the folder, as the command does, and waits until the running hub has taken it up. */
async function step(name: AuthorityStep): Promise<void> {
  const told = hub.log.filter(({ reason }) => reason === "Reloaded").length;
  await changeAuthorities(join(hub.dataDir, "pki"), name, { now: Date.now(), random: (size) => randomBytes(size) });
  await expect.poll(() => hub.log.filter(({ reason }) => reason === "Reloaded").length).toBe(told + 1);
}

interface Credential {
  readonly cert?: string;
  readonly key?: string;
}

/** The status of a request by somebody who trusts `ca` and nothing else, or why the connection is refused. */
function get(path: string, ca: string, { cert, key }: Credential = {}): Promise<number | string> {
  return new Promise((resolve) => {
    const call = request(
      { host: "127.0.0.1", port: hub.port, path, ca, agent: false, ...(cert === undefined ? {} : { cert, key }) },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    call.on("error", (error: Error & { code?: string }) => resolve(error.code ?? error.message));
    call.end();
  });
}

/** The certificate in the admin's kubeconfig, and the CAs that it trusts. */
function admin(): Credential & { readonly ca: string } {
  const text = readFileSync(hub.kubeconfig, "utf8");
  const value = (field: string): string =>
    Buffer.from(new RegExp(`${field}: (\\S+)`).exec(text)?.[1] ?? "", "base64").toString();
  return {
    ca: value("certificate-authority-data"),
    cert: value("client-certificate-data"),
    key: value("client-key-data"),
  };
}

const nodes = "/api/v1/nodes";

peerSuite("kubectl", "a change of the CA", () => {
  it("reaches everybody before the old one goes, and shuts nobody out on the way", async () => {
    const [oldCa, oldAdmin] = [pki("ca.crt"), admin()];
    const oldKubeconfig = join(hub.dir, "old.kubeconfig");
    await copyFile(hub.kubeconfig, oldKubeconfig);
    await step("prepare");
    const newCa = pki("ca-2.crt");

    // Prepared: everybody is told of both, and nothing is signed with the next one yet.
    const shown = async (...args: string[]): Promise<string> => (await hub.kubectl(...args)).out;
    await expect
      .poll(() => shown("get", "cm", "kube-root-ca.crt", "-n", "default", "-o", "jsonpath={.data.ca\\.crt}"))
      .toBe(`${oldCa}${newCa}`);
    await expect
      .poll(async () =>
        parseClusterInfo(
          await shown("get", "cm", "cluster-info", "-n", "kube-public", "-o", "jsonpath={.data.kubeconfig}"),
        ),
      )
      .toMatchObject({ kind: "parsed", caPem: `${oldCa}${newCa}` });
    expect(await get("/version", newCa)).toBe("UNABLE_TO_VERIFY_LEAF_SIGNATURE");
    expect(await get(nodes, oldCa, oldAdmin)).toBe(200);

    // Activated: clients that trust either CA are served, with a certificate of either.
    await step("activate");
    expect(await get("/version", oldCa)).toBe(200);
    expect(await get("/version", newCa)).toBe(200);
    expect(await get(nodes, oldCa, oldAdmin)).toBe(200);
    const newAdmin = admin();
    expect(newAdmin.ca).toBe(`${newCa}${oldCa}`);
    expect(newAdmin.cert).not.toBe(oldAdmin.cert);
    expect(await get(nodes, newCa, newAdmin)).toBe(200);
    for (const kubeconfig of [oldKubeconfig, hub.kubeconfig]) {
      const kubectl = kubectlRunner({ home: join(hub.dir, "home"), kubeconfig });
      expect((await kubectl("get", "ns", "default", "-o", "name")).out).toBe("namespace/default\n");
    }

    // Revoked: the old one opens nothing any more.
    await step("revoke");
    expect(admin().ca).toBe(newCa);
    expect(await get("/version", oldCa)).toMatch(/UNABLE_TO|SELF_SIGNED/);
    expect(await get(nodes, newCa, oldAdmin)).toBe(401);
    expect(await get(nodes, newCa, newAdmin)).toBe(200);
    expect(() => pki("ca.key")).toThrow("ENOENT");
  });

  it("is kept over a restart at each of its steps", async () => {
    const oldAdmin = admin();
    for (const [name, expected] of [
      ["prepare", 200],
      ["activate", 200],
      ["revoke", 401],
    ] as const) {
      await step(name);
      await hub.close("keep");
      hub = await startTestHub({ clock, dir: hub.dir });
      const { ca } = admin();
      expect(await get(nodes, ca, oldAdmin)).toBe(expected);
      expect(await get(nodes, ca, admin())).toBe(200);
    }
  });

  it("can be canceled, and the next that is prepared is another", async () => {
    await step("prepare");
    const canceled = pki("ca-2.crt");
    await step("cancel");
    expect(admin().ca).toBe(pki("ca.crt"));
    await step("prepare");
    expect(pki("ca-3.crt")).not.toBe(canceled);
    expect(() => pki("ca-2.key")).toThrow("ENOENT");
  });

  it("that is damaged by hand is told, and changes nothing", async () => {
    // In one step, or the hub may read an empty file before, which is another damage.
    const damaged = join(hub.dir, "damaged.json");
    await writeFile(damaged, '{"signer":"ca-9"}');
    await rename(damaged, join(hub.dataDir, "pki", "ca-state.json"));
    await expect.poll(() => hub.log.filter(({ level }) => level === "error")).toHaveLength(1);
    expect(hub.log.find(({ level }) => level === "error")).toMatchObject({
      reason: "ReloadFailed",
      error: expect.stringContaining("ca-9.crt is missing"),
    });
    expect(await get(nodes, pki("ca.crt"), admin())).toBe(200);
  });
});
