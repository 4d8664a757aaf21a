import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { skippingClock } from "../kits/skipping-clock.ts";
import { smallDisk } from "../kits/small-disk.ts";

const root = mkdtempSync(join(tmpdir(), "pratique-full-disk-"));
const disk = smallDisk(join(root, "disk"), 14, ["a hub whose disk is full", "a hub that is started on a full disk"]);
beforeAll(disk.mount);
afterAll(() => {
  disk.remove();
  rmSync(root, { recursive: true, force: true });
});

const small = smallDisk(join(root, "small"), 12, ["a hub on a small disk that is full of few and large objects"]);
beforeAll(small.mount);
afterAll(small.remove);

const configMaps = "/api/v1/namespaces/default/configmaps";
const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

const configMap = (name: string): object => ({
  kind: "ConfigMap",
  apiVersion: "v1",
  metadata: { name },
  data: { text: name.repeat(8000) },
});

/** Names of ConfigMaps that were created until one was refused, and that refusal. */
async function fill(
  api: ApiClient,
  prefix: string,
): Promise<{ readonly names: readonly string[]; readonly refusal: Reply }> {
  const names: string[] = [];
  for (;;) {
    const name = `${prefix}-${names.length}`;
    const reply = await api(configMaps, { method: "POST", body: configMap(name) });
    if (reply.status !== 201) return { names, refusal: reply };
    names.push(name);
  }
}

describe.skipIf(disk.missing)("a hub whose disk is full", () => {
  let hub: TestHub | undefined;
  afterEach(async () => {
    await hub?.close("keep");
    await disk.discard(join(disk.path, "hub"));
  });

  it("reads, renews leases, deletes and says why it refuses writes; it takes them again once there is room", async () => {
    const clock = skippingClock();
    const dir = join(disk.path, "hub");
    mkdirSync(dir);
    hub = await startTestHub({ dir, clock });
    const api = apiClient(hub, "admin");
    const lease = { kind: "Lease", apiVersion: "coordination.k8s.io/v1", metadata: { name: "a" }, spec: {} };
    expect((await api(leases, { method: "POST", body: lease })).status).toBe(201);
    const watch = await api.stream(`${configMaps}?watch=true&fieldSelector=metadata.name=after`);

    const { names, refusal } = await fill(api, "full");
    expect(names.length).toBeGreaterThan(10);
    expect(refusal.status).toBe(507);
    expect(refusal.json()).toMatchObject({
      kind: "Status",
      reason: "InsufficientStorage",
      code: 507,
      message: expect.stringMatching(
        /^the disk of the hub is full, .*: free space on the file system .*, or delete objects/,
      ),
    });
    disk.fillUp();

    expect((await api(`${configMaps}/full-0`)).status).toBe(200);
    expect((await api(configMaps)).items()).toHaveLength(names.length + 1);
    const body = { spec: { renewTime: "2026-01-01T00:00:00.000000Z" } };
    const renewal = { method: "PATCH", type: "application/merge-patch+json", body };
    expect((await api(`${leases}/a`, renewal)).status).toBe(200);
    expect((await api("/readyz")).text).toContain("[-]store-writes failed: reason withheld");
    expect((await api("/readyz/store-writes")).text).toMatch(
      /no room for the store in .*: its file system has \d+ bytes free/,
    );
    expect((await api("/livez")).status).toBe(200);
    clock.skip(6000);
    for (let index = 0; index < 50; index += 1) {
      expect((await api(configMaps, { method: "POST", body: configMap("refused") })).status).toBe(507);
    }
    const told = (): readonly string[] =>
      (hub?.log ?? []).map(({ reason }) => reason).filter((reason) => reason.startsWith("StoreWrites"));
    await expect.poll(told).toEqual(["StoreWritesRejected"]);
    expect((await api(`${configMaps}/full-0`, { method: "DELETE" })).status).toBe(200);

    await disk.free();
    // Objects that are deleted are room only once they are forgotten.
    for (const name of names.slice(1)) await api(`${configMaps}/${name}`, { method: "DELETE" });
    await expect
      .poll(async () => {
        clock.skip(40_000);
        return (await api("/readyz")).status;
      })
      .toBe(200);
    expect((await api(configMaps, { method: "POST", body: configMap("after") })).status).toBe(201);
    expect((await watch.next()).object.metadata.name).toBe("after");
    expect(told()).toEqual(["StoreWritesRejected", "StoreWritesAccepted"]);
    watch.close();
    api.close();
  });
});

describe.skipIf(small.missing)("a hub on a small disk that is full of few and large objects", () => {
  it("takes writes again once most of them were deleted", async () => {
    const clock = skippingClock();
    const hub = await startTestHub({ dir: small.path, clock });
    const api = apiClient(hub, "admin");
    const large = (name: string): object => ({ ...configMap(name), data: { text: "x".repeat(100_000) } });
    const post = async (name: string): Promise<number> =>
      (await api(configMaps, { method: "POST", body: large(name) })).status;
    const names: string[] = [];
    writeFileSync(join(small.path, "ballast"), Buffer.alloc(6 << 20));
    while ((await post(`large-${names.length}`)) === 201) names.push(`large-${names.length}`);
    expect(names.length).toBeGreaterThan(10);
    expect(names.length).toBeLessThan(30);
    small.fillUp();

    for (const name of names.slice(2)) {
      expect((await api(`${configMaps}/${name}`, { method: "DELETE" })).status).toBe(200);
    }
    const ready = async (): Promise<number> => {
      clock.skip(10_000);
      return (await api("/readyz")).status;
    };
    await expect.poll(ready).toBe(200);
    expect(await post("again")).toBe(201);
    api.close();
    await hub.close("keep");
  });
});

describe.skipIf(disk.missing)("a hub that is started on a full disk", () => {
  const refusal = {
    name: "HubError",
    code: "data-dir",
    message: expect.stringMatching(
      /^the hub cannot write to its data directory .*\/data: its file system has \d+ bytes free, and a start needs 8 MiB; free space there/,
    ),
  };

  /** What a start on a full disk ends with. */
  async function startRefused(dir: string): Promise<unknown> {
    disk.fillUp();
    try {
      return await startTestHub({ dir });
    } catch (error) {
      return error;
    } finally {
      await disk.free();
    }
  }

  it("names the path and the free bytes, and starts there later", async () => {
    const dir = join(disk.path, "new");
    mkdirSync(dir);
    writeFileSync(join(dir, "tokens.csv"), "");
    expect(await startRefused(dir)).toMatchObject(refusal);
    await (await startTestHub({ dir })).close("keep");
    await disk.discard(dir);
  });

  it("leaves what is there as it is", async () => {
    const dir = join(disk.path, "old");
    mkdirSync(dir);
    await (await startTestHub({ dir })).close("keep");
    const files = (): readonly string[] => readdirSync(dir, { recursive: true, encoding: "utf8" }).toSorted();
    const key = join(dir, "data", "pki", "ca.key");
    const before = [files(), readFileSync(key, "utf8")];
    expect(await startRefused(dir)).toMatchObject(refusal);
    expect([files(), readFileSync(key, "utf8")]).toEqual(before);
    await (await startTestHub({ dir })).close("keep");
    await disk.discard(dir);
  });
});
