import { X509Certificate } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

const maps = "/api/v1/namespaces/kube-system/configmaps";
const joining = ["system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token"];

let hub: TestHub | undefined;
const clients: ApiClient[] = [];

async function started(options: Parameters<typeof startTestHub>[0] = {}): Promise<{ hub: TestHub; admin: ApiClient }> {
  hub = await startTestHub({ users: { joiner: joining, nobody: [] }, ...options });
  const admin = apiClient(hub);
  clients.push(admin);
  return { hub, admin };
}

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await hub?.close();
  hub = undefined;
});

async function dataOf(client: ApiClient, name: string): Promise<Readonly<Record<string, string>>> {
  return (await client(`${maps}/${name}`)).json()["data"] as Readonly<Record<string, string>>;
}

describe("what kubeadm join reads", () => {
  it("is there, for joining machines and for no other user", async () => {
    const { hub: running } = await started();
    for (const name of ["kubeadm-config", "kubelet-config"]) {
      const as = (user: string): ApiClient => apiClient(running, { token: running.token(user) });
      const [joiner, nobody] = [as("joiner"), as("nobody")];
      clients.push(joiner, nobody);
      expect((await joiner(`${maps}/${name}`)).status).toBe(200);
      expect((await nobody(`${maps}/${name}`)).status).toBe(403);
    }
  });

  it("stays as the operator has changed it", async () => {
    const first = await started();
    const own = { ClusterConfiguration: "mine" };
    const changed = await first.admin(`${maps}/kubeadm-config`, {
      method: "PATCH",
      type: "application/merge-patch+json",
      body: { data: { ...own, ClusterStatus: null } },
    });
    expect(changed.status).toBe(200);
    const { dir } = first.hub;
    await first.hub.close("keep");
    const { admin } = await started({ dir });
    expect(await dataOf(admin, "kubeadm-config")).toEqual(own);
  });
});

describe("extension-apiserver-authentication", () => {
  const name = "extension-apiserver-authentication";

  it("names the CA of clients, and a CA of front proxies that has signed nothing and stays the same", async () => {
    const first = await started();
    const data = await dataOf(first.admin, name);
    expect(data["client-ca-file"]).toBe(first.hub.ca);
    expect(data["requestheader-allowed-names"]).toBe('["front-proxy-client"]');
    const proxyCa = new X509Certificate(data["requestheader-client-ca-file"] ?? "");
    expect([proxyCa.ca, proxyCa.subject, proxyCa.verify(new X509Certificate(first.hub.ca).publicKey)]).toEqual([
      true,
      "CN=front-proxy-ca",
      false,
    ]);
    const { dir } = first.hub;
    await first.hub.close("keep");
    const { admin } = await started({ dir });
    expect(await dataOf(admin, name)).toEqual(data);
  });

  it("is put right at the next start where it was changed", async () => {
    const first = await started();
    await first.admin(`${maps}/${name}`, {
      method: "PATCH",
      type: "application/merge-patch+json",
      body: { data: { "client-ca-file": "another" } },
    });
    const { dir } = first.hub;
    await first.hub.close("keep");
    const { admin, hub: again } = await started({ dir });
    expect((await dataOf(admin, name))["client-ca-file"]).toBe(again.ca);
  });
});
