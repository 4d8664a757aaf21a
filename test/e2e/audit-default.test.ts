import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { apiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub, type TestHubOptions } from "../kits/hub.ts";

let hub: TestHub | undefined;

afterEach(async () => {
  await hub?.close();
  hub = undefined;
});

/** A hub that was asked a few things and has stopped; its data directory stays until the test ends. */
async function used(options: TestHubOptions = {}): Promise<string> {
  hub = await startTestHub(options);
  const admin = apiClient(hub);
  await admin("/readyz");
  await admin("/api/v1/namespaces/default/secrets/none", { headers: { "audit-id": "secret-1" } });
  admin.close();
  await hub.hub.close();
  return hub.dataDir;
}

describe("the audit log", () => {
  it("is on by default, in the data directory, for its owner alone, and without noise", async () => {
    const folder = join(await used(), "audit");
    const path = join(folder, "audit.log");
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const events = (await readFile(path, "utf8"))
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { readonly [field: string]: unknown });
    expect(events.filter(({ auditID }) => auditID === "secret-1")).toMatchObject([
      {
        level: "Metadata",
        stage: "ResponseComplete",
        verb: "get",
        user: { username: "kubernetes-admin" },
        responseStatus: { code: 404 },
      },
    ]);
    expect(events.filter(({ requestURI }) => requestURI === "/readyz")).toEqual([]);
  });

  it("has the writes of the hub's controllers, and none of Events and Leases", async () => {
    hub = await startTestHub({});
    const admin = apiClient(hub);
    await admin("/api/v1/namespaces", { method: "POST", body: { metadata: { name: "audited" } } });
    const account = "/api/v1/namespaces/audited/serviceaccounts/default";
    await expect.poll(async () => (await admin(account)).status).toBe(200);
    admin.close();
    await hub.hub.close();
    const text = await readFile(join(hub.dataDir, "audit", "audit.log"), "utf8");
    const inside = text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { readonly [field: string]: unknown })
      .filter(({ sourceIPs }) => sourceIPs === undefined);
    expect(inside).toContainEqual(
      expect.objectContaining({
        verb: "create",
        requestURI: "/api/v1/namespaces/audited/serviceaccounts",
        user: expect.objectContaining({
          username: "system:serviceaccount:kube-system:service-account-controller",
        }) as unknown,
        objectRef: { resource: "serviceaccounts", namespace: "audited", name: "default", apiVersion: "v1" },
      }),
    );
    const resources = inside.map(({ objectRef }) => (objectRef as { readonly resource: string }).resource);
    expect(resources.filter((resource) => ["events", "leases"].includes(resource))).toEqual([]);
    // Not those of the start, of which there are hundreds.
    expect(inside.length).toBeLessThan(60);
  });

  it.each(["none", ""])("is off with --audit-log-path %j", async (auditLogPath) => {
    const folder = join(await used({ auditLogPath }), "audit");
    await expect(stat(folder)).rejects.toMatchObject({ code: "ENOENT" });
  });
});
