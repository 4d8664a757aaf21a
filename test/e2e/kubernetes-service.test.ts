import { afterEach, expect, it } from "vitest";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

const all = "/api/v1/namespaces/default/services";
const path = `${all}/kubernetes`;

let hub: TestHub | undefined;
let admin: ApiClient | undefined;

async function started(options: Parameters<typeof startTestHub>[0] = {}): Promise<{ hub: TestHub; admin: ApiClient }> {
  hub = await startTestHub(options);
  admin = apiClient(hub);
  return { hub, admin };
}

afterEach(async () => {
  admin?.close();
  await hub?.close();
});

it("the Service kubernetes leads Pods to the hub: kubelets ask for it by its address", async () => {
  const { hub: running, admin: api } = await started();
  const found = (await api(`/api/v1/services?fieldSelector=${encodeURIComponent("spec.clusterIP!=None")}`)).items();
  expect(found).toMatchObject([
    {
      metadata: {
        name: "kubernetes",
        namespace: "default",
        labels: { component: "apiserver", provider: "kubernetes", "service.kubernetes.io/service-proxy-name": "none" },
      },
      spec: { clusterIP: "127.0.0.1", ports: [{ name: "https", port: running.port, targetPort: running.port }] },
    },
  ]);
  const table = (await api(all, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" })).json() as {
    rows: readonly { cells: readonly unknown[] }[];
  };
  expect(table.rows[0]?.cells.slice(0, 5)).toEqual([
    "kubernetes",
    "ClusterIP",
    "127.0.0.1",
    "<none>",
    `${running.port}/TCP`,
  ]);
});

it("no client writes Services, whatever its rights", async () => {
  const { admin: api } = await started();
  const before = (await api(path)).text;
  const own = { metadata: { name: "own" }, spec: { clusterIP: "10.0.0.1", ports: [{ port: 443 }] } };
  const tries = [
    await api(all, { method: "POST", body: own }),
    await api(path, { method: "PUT", body: JSON.parse(before) as object }),
    await api(path, {
      method: "PATCH",
      type: "application/merge-patch+json",
      body: { spec: { clusterIP: "10.0.0.1" } },
    }),
    await api(path, {
      method: "PATCH",
      type: "application/apply-patch+yaml",
      body: JSON.stringify({ apiVersion: "v1", kind: "Service", metadata: { name: "kubernetes" } }),
    }),
    await api(path, { method: "DELETE" }),
    await api(all, { method: "DELETE" }),
  ];
  expect(tries.map(({ status }) => status)).toEqual(tries.map(() => 405));
  expect((await api(path)).text).toBe(before);
});

it("the next start gives it the address and port that the hub has then, and leaves it alone where they are the same", async () => {
  const first = await started();
  const { resourceVersion, uid } = (await first.admin(path)).object().metadata;
  const { dir, port } = first.hub;
  first.admin.close();
  await first.hub.close("keep");
  const second = await started({ dir, securePort: port });
  expect((await second.admin(path)).object().metadata).toMatchObject({ resourceVersion, uid });
  second.admin.close();
  await second.hub.close("keep");
  const third = await started({ dir, bindAddress: "0.0.0.0", tlsSans: ["127.0.0.1", "192.0.2.7"] });
  expect((await third.admin(path)).object()).toMatchObject({
    metadata: { uid },
    spec: { clusterIP: "192.0.2.7", clusterIPs: ["192.0.2.7"], ports: [{ port: third.hub.port }] },
  });
});
