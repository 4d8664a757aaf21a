import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCsr } from "../../src/pki/csr.ts";
import { generatePrivateKey } from "../../src/pki/keys.ts";
import { bootstrapSecret } from "../kits/bootstrap-secret.ts";
import type { Dial } from "../kits/wire.ts";
import { call, startAttackedHub, type ApiReply, type AttackedHub } from "./attacked-hub.ts";

const collection = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const key = generatePrivateKey();
let hub: AttackedHub;

beforeAll(async () => {
  hub = await startAttackedHub({ maxUndecidedCertificateRequests: 3, nodeAutoapprove: false });
  for (const id of ["abcdef", "bcdefg"]) {
    const made = await call(hub, hub.admin, {
      path: "/api/v1/namespaces/kube-system/secrets",
      body: bootstrapSecret(id),
    });
    if (made.status !== 201) throw new TypeError(`the token ${id} cannot be made: ${made.text}`);
  }
});

afterAll(() => hub.close());

function ask(name: string, by: { readonly dial?: Dial; readonly token?: string }): Promise<ApiReply> {
  const pem = createCsr({ key, commonName: `system:node:${name}`, organizations: ["system:nodes"], dnsNames: [] });
  const body = {
    metadata: { name },
    spec: {
      request: Buffer.from(pem).toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client-kubelet",
      usages: ["digital signature", "client auth"],
    },
  };
  const headers: (readonly [string, string])[] =
    by.token === undefined ? [] : [["Authorization", `Bearer ${by.token}.0123456789abcdef`]];
  return call(hub, by.dial ?? {}, { path: collection, body, headers });
}

async function rejections(): Promise<number> {
  const { text } = await call(hub, hub.admin, { path: "/metrics" });
  const line = text
    .split("\n")
    .find(
      (each) =>
        each.startsWith("apiserver_admission_controller_admission_duration_seconds_count{") &&
        each.includes('name="PratiqueCertificateRequestLimit"') &&
        each.includes('rejected="true"'),
    );
  return Number(line?.split(" ").at(-1) ?? 0);
}

describe("a bootstrap token with which certificates are requested without end", () => {
  it("is refused beyond the number of undecided requests of one user, and that is counted", async () => {
    for (const name of ["one", "two", "three"]) expect((await ask(name, { token: "abcdef" })).status).toBe(201);
    const refused = await ask("four", { token: "abcdef" });
    expect(refused.status).toBe(429);
    expect(refused.json).toMatchObject({
      reason: "TooManyRequests",
      message: expect.stringContaining(
        'user "system:bootstrap:abcdef" has 3 CertificateSigningRequests that no approver has decided',
      ),
      details: { retryAfterSeconds: 60 },
    });
    expect(await rejections()).toBe(1);
    const dryRun = await call(hub, hub.admin, { path: `${collection}/four` });
    expect(dryRun.status).toBe(404);
  });

  it("hinders no other token, no node and no administrator", async () => {
    expect((await ask("other", { token: "bcdefg" })).status).toBe(201);
    expect((await ask("node-a", { dial: hub.as("system:node:node-a", "system:nodes") })).status).toBe(201);
    for (const name of ["a", "b", "c", "d", "e"]) {
      expect((await ask(`admin-${name}`, { dial: hub.admin })).status).toBe(201);
    }
  });

  it("has a place again for each request that is denied, approved or deleted", async () => {
    for (const [name, type] of [
      ["one", "Denied"],
      ["two", "Approved"],
    ] as const) {
      const found = (await call(hub, hub.admin, { path: `${collection}/${name}` })).json as object;
      const status = { conditions: [{ type, status: "True", reason: "Test", message: "by the test" }] };
      const path = `${collection}/${name}/approval`;
      expect((await call(hub, hub.admin, { path, method: "PUT", body: { ...found, status } })).status).toBe(200);
    }
    const gone = await call(hub, hub.admin, { path: `${collection}/three`, method: "DELETE" });
    expect(gone.status).toBe(200);
    for (const name of ["five", "six", "seven"]) expect((await ask(name, { token: "abcdef" })).status).toBe(201);
    expect((await ask("eight", { token: "abcdef" })).status).toBe(429);
  });
});
