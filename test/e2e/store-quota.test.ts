import { afterEach, describe, expect, it } from "vitest";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { skippingClock } from "../kits/skipping-clock.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const mebibyte = 1024 * 1024;

const configMap = (name: string): object => ({
  kind: "ConfigMap",
  apiVersion: "v1",
  metadata: { name },
  data: { text: "x".repeat(500_000) },
});

async function fill(api: ApiClient): Promise<{ readonly names: readonly string[]; readonly refusal: unknown }> {
  const names: string[] = [];
  for (;;) {
    const name = `large-${names.length}`;
    const reply = await api(configMaps, { method: "POST", body: configMap(name) });
    if (reply.status !== 201) return { names, refusal: reply.json() };
    names.push(name);
  }
}

describe("a hub whose store has reached its quota", () => {
  let hub: TestHub | undefined;
  let dir: string | undefined;
  afterEach(() => hub?.close());

  it("refuses what is new and says why, reads, renews leases and deletes, also after a restart, and takes writes again", async () => {
    const clock = skippingClock();
    hub = await startTestHub({ clock, quotaBackendBytes: 24 * mebibyte });
    ({ dir } = hub);
    let api = apiClient(hub, "admin");
    const lease = { kind: "Lease", apiVersion: "coordination.k8s.io/v1", metadata: { name: "a" }, spec: {} };
    expect((await api(leases, { method: "POST", body: lease })).status).toBe(201);
    const { names, refusal } = await fill(api);
    expect(names.length).toBeGreaterThan(30);
    expect(names.length).toBeLessThan(60);
    expect(refusal).toMatchObject({
      reason: "InsufficientStorage",
      code: 507,
      message: expect.stringMatching(/reached its quota.*delete objects.*--quota-backend-bytes/),
    });
    expect((await api("/readyz/store-writes")).text).toMatch(/has reached its quota: \d+ bytes are used of 25165824/);
    const metrics = (await api("/metrics")).text;
    expect(metrics).toContain("pratique_store_quota_bytes 25165824");
    expect(metrics).toContain('pratique_store_refusal{reason="quota"} 1');
    clock.skip(6000);
    const told = (): unknown => hub?.log.find(({ reason }) => reason === "StoreWritesRejected")?.["cause"];
    await expect.poll(told).toBe("quota");
    api.close();
    await hub.close("keep");

    hub = await startTestHub({ dir, clock, quotaBackendBytes: 16 * mebibyte });
    api = apiClient(hub, "admin");
    expect((await api(configMaps)).items()).toHaveLength(names.length + 1);
    expect((await api(configMaps, { method: "POST", body: configMap("new") })).status).toBe(507);
    const body = { spec: { renewTime: "2026-01-01T00:00:00.000000Z" } };
    const renewal = { method: "PATCH", type: "application/merge-patch+json", body };
    expect((await api(`${leases}/a`, renewal)).status).toBe(200);
    for (const name of names.slice(10)) {
      expect((await api(`${configMaps}/${name}`, { method: "DELETE" })).status).toBe(200);
    }
    const ready = async (): Promise<number> => {
      clock.skip(10_000);
      return (await api("/readyz")).status;
    };
    await expect.poll(ready).toBe(200);
    expect((await api(configMaps, { method: "POST", body: configMap("new") })).status).toBe(201);
    api.close();
  });
});
