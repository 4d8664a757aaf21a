import { describe, expect, it } from "vitest";
import { conflict } from "../../apimachinery/status.ts";
import { memoryApi, type MemoryApi } from "../../../test/kits/memory-api.ts";
import { fakeClock } from "../../../test/kits/fake-clock.ts";
import { hubSecretName, secretStore } from "./secret-store.ts";

const secrets = { group: "", version: "v1", plural: "secrets", kind: "Secret", scope: "Namespaced" } as const;
const files = {
  kubeconfig: "a kubeconfig",
  "tls.crt": "a certificate",
  "tls.key": "a key",
  "cluster-name": "east",
  "agent-name": "a1b2c",
};

const api = (): MemoryApi => memoryApi({ clock: fakeClock() });

describe("a registration in Secrets", () => {
  it("holds what was written, under the keys that work agents read", async () => {
    const { client, all } = api();
    const store = secretStore(client, "agents");
    expect([await store.readState(), await store.readCredential()]).toEqual([undefined, {}]);
    await store.writeState("a state");
    await store.writeCredential(files);
    expect([await store.readState(), await store.readCredential()]).toEqual(["a state", files]);
    const secret = all(secrets).find(({ metadata }) => metadata.name === hubSecretName);
    expect([secret?.["type"], Object.keys(secret?.["data"] as object).toSorted()]).toEqual([
      "Opaque",
      ["agent-name", "cluster-name", "kubeconfig", "tls.crt", "tls.key"],
    ]);
  });

  it("does not look like a credential before there is one", async () => {
    const { client, all } = api();
    await secretStore(client, "agents").writeState("a state");
    expect(all(secrets).map(({ metadata }) => metadata.name)).not.toContain(hubSecretName);
  });

  it("keeps keys of others, and writes again after a conflict", async () => {
    const { client, failNext } = api();
    const data = { "config.yaml": Buffer.from("grpc").toString("base64") };
    const metadata = { name: hubSecretName, namespace: "agents" };
    await client.create(secrets, { apiVersion: "v1", kind: "Secret", metadata, data });
    failNext("update", secrets, conflict(secrets, hubSecretName, "the object has been modified"));
    await secretStore(client, "agents").writeCredential(files);
    const stored = await client.get(secrets, metadata);
    expect(stored["data"]).toMatchObject(data);
  });

  it("is removed, which may be done twice", async () => {
    const { client } = api();
    const store = secretStore(client, "agents");
    await store.writeState("a state");
    await store.writeCredential(files);
    await store.remove();
    await store.remove();
    expect([await store.readState(), await store.readCredential()]).toEqual([undefined, {}]);
  });
});
