import type { KeyObject } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { generatePrivateKey } from "../../src/pki/keys.ts";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { csrObject } from "../kits/csr-object.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { pratiqueAs } from "../kits/pratique-as.ts";

let hub: TestHub;
let machine: ApiClient;

beforeAll(async () => {
  const users = { machine: ["system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token"] };
  hub = await startTestHub({ users, nodeAutoapprove: false });
  machine = apiClient(hub, { token: hub.token("machine") });
});

afterAll(async () => {
  machine.close();
  await hub.close();
});

/** A machine asks for the name of a node. */
async function ask(name: string, node: string, key: KeyObject = generatePrivateKey()): Promise<void> {
  const { spec } = csrObject({ commonName: `system:node:${node}`, key }) as { readonly spec?: object };
  const body = { metadata: { name }, spec };
  const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
  expect((await machine(path, { method: "POST", body })).status).toBe(201);
}

/** What `pratique pending` says below its table of one request. */
async function notes(name: string): Promise<string> {
  const { code, out } = await pratiqueAs(hub, "admin", ["pending"]);
  expect(code).toBe(0);
  expect(out).toMatch(new RegExp(`csr/${name} `));
  return new RegExp(`^  csr/${name}\\n((?: {4}.*\\n)*)`, "m").exec(out)?.[1] ?? "";
}

describe("pratique pending", () => {
  it("marks both of two keys that ask for one name, each with the other, and no third", async () => {
    await ask("one", "wanted");
    await ask("two", "wanted");
    await ask("alone", "other");
    const contested = 'the name "system:node:wanted" is asked for with another key at the same time';
    expect(await notes("one")).toContain(`${contested}: csr/two`);
    expect(await notes("two")).toContain(`${contested}: csr/one`);
    expect(await notes("alone")).not.toContain("another key");
  });

  it("marks a name that was just denied, with the request that was", async () => {
    await ask("first", "refused");
    expect((await pratiqueAs(hub, "admin", ["deny", "csr/first"])).code).toBe(0);
    await ask("second", "refused");
    expect(await notes("second")).toContain(
      'a request for the name "system:node:refused" was denied in the last 24 hours: csr/first',
    );
  });
});
