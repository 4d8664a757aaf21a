import { afterAll, beforeAll, expect, it } from "vitest";
import { accessDefinitions } from "../../src/operator/manifests/manifests.ts";
import { apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { eventually } from "../kits/peers-process.ts";

const path = "/apis/definition.example/v1alpha1/credentialrevocations";
let hub: TestHub;
let admin: ApiClient;

/** The definition of `pratique manifests --cel`, under another group, as here the kind is built in. */
beforeAll(async () => {
  hub = await startTestHub();
  admin = apiClient(hub);
  const definition = accessDefinitions({ rules: true }).find((one) =>
    JSON.stringify(one["metadata"]).includes("credentialrevocations"),
  );
  const body = JSON.stringify(definition).replaceAll("access.pratique.dev", "definition.example");
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  await admin(definitions, { method: "POST", body, type: "application/json" });
  await eventually("the kind", async () => ((await admin(path)).status === 200 ? true : undefined));
});
afterAll(async () => {
  admin.close();
  await hub.close();
});

function post(name: string, spec: object): Promise<Reply> {
  const apiVersion = "definition.example/v1alpha1";
  return admin(path, { method: "POST", body: { apiVersion, kind: "CredentialRevocation", metadata: { name }, spec } });
}

function patch(name: string, spec: object): Promise<Reply> {
  return admin(`${path}/${name}`, { method: "PATCH", type: "application/merge-patch+json", body: { spec } });
}

it("the API itself checks that a revocation names one thing", async () => {
  for (const spec of [{}, { reason: "r" }, { user: "a", fingerprint: "b" }]) {
    expect((await post("none", spec)).text).toContain("name exactly one of user, fingerprint");
  }
  for (const spec of [
    { user: "a" },
    { secret: { namespace: "a", name: "b" } },
    { certificate: { serialNumber: "01" } },
  ])
    expect((await post(Object.keys(spec).join(""), spec)).status).toBe(201);
});

it("the API itself keeps what is revoked as it is", async () => {
  await post("kept", { user: "a" });
  expect((await patch("kept", { user: "b" })).text).toContain("what is revoked cannot change");
  expect((await patch("kept", { user: null, fingerprint: "c" })).status).toBe(422);
  expect((await patch("kept", { reason: "r", expiresAt: "2099-01-01T00:00:00Z" })).status).toBe(200);
});
