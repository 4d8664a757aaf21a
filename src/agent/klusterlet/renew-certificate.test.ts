import { afterEach, describe, expect, it } from "vitest";
import type { ApiObject } from "../../apimachinery/object.ts";
import { fieldsAt } from "../../apis/json-fields.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { parseCsr } from "../../pki/csr.ts";
import { clientCertificate, testCa } from "../../../test/kits/fake-hub.ts";
import { servingStage, type ServingStage } from "../../../test/kits/serving-cluster.ts";
import { certificateRequests } from "../../credentials/request/certificate-request.ts";
import { readClusterCredential } from "../../credentials/proof/cluster-credential.ts";
import { renewCertificate } from "./renew-certificate.ts";

const ca = testCa();
let stage: ServingStage;

afterEach(() => stage.stop());

async function staged(): Promise<void> {
  stage = await servingStage({ random: (size) => new Uint8Array(size) });
  stage.hubPaths.set("/version", {});
  void renewCertificate(stage.serving);
  await stage.clock.advance(0);
}

const due = 0.8 * 3_600_000;

async function approve(): Promise<void> {
  for (const request of stage.hub.all(certificateRequests)) {
    const { request: data } = request["spec"] as { readonly request: string };
    const csr = parseCsr(Buffer.from(data, "base64").toString("latin1"));
    const pem = clientCertificate(ca, csr, { fromMs: due, toMs: 2 * due + 3_600_000 });
    const { client } = stage.hub;
    const conditions = [{ type: "Approved", status: "True" }];
    const next = { ...request, status: { conditions } };
    const approved = await client.update<ApiObject>(certificateRequests, next, { subresource: "approval" });
    const certificate = Buffer.from(pem).toString("base64");
    const signed = { ...approved, status: { ...fieldsAt(approved, "status"), certificate } };
    await client.update(certificateRequests, signed, { subresource: "status" });
  }
  await stage.clock.advance(0);
}

describe("the renewal of a certificate", () => {
  it("is not asked for early, and is laid out with its own key as a whole", async () => {
    await staged();
    const before = stage.serving.session.credential();
    await stage.clock.advance(due - 1000);
    expect(stage.hub.all(certificateRequests)).toEqual([]);
    await stage.clock.advance(1000);
    await approve();
    const after = stage.serving.session.credential();
    expect([after.keyPem === before.keyPem, after.hub]).toEqual([false, before.hub]);
    const stored = readClusterCredential(await stage.serving.options.store.readCredential());
    expect([stored?.certificatePem, stored?.keyPem]).toEqual([after.certificatePem, after.keyPem]);
    expect([stage.serving.state.now().pending, stage.serving.notes.rotated]).toMatchObject([
      undefined,
      { type: "ClusterCertificateRotated", status: "True", reason: "ClientCertificateUpdated" },
    ]);
    expect(stage.events.map(({ kind }) => kind)).toEqual(["planned", "requested", "renewed", "planned"]);
  });

  it("leaves the certificate in use where the hub does not accept its own new one", async () => {
    await staged();
    const before = stage.serving.session.credential();
    stage.hubPaths.set("/version", { status: 401 });
    await stage.clock.advance(due);
    await approve();
    expect(stage.serving.session.credential()).toBe(before);
    expect(stage.serving.notes.rotated).toMatchObject({ status: "False", reason: "ClientCertificateUpdateFailed" });
  });

  it("that fails is tried again with pauses, and reported in the status", async () => {
    await staged();
    stage.hub.failNext("create", certificateRequests, new StatusError("Forbidden", "denied by the hub"));
    await stage.clock.advance(due);
    expect(stage.serving.notes.rotated).toMatchObject({ status: "False" });
    expect(stage.events.at(-1)).toMatchObject({ kind: "failed" });
    await stage.clock.advance(10_000);
    expect(stage.hub.all(certificateRequests)).toHaveLength(1);
  });

  it("that is not approved ends with the certificate, and the agent registers again under its name", async () => {
    await staged();
    await stage.clock.advance(3_600_000);
    expect(stage.hub.all(certificateRequests)).toHaveLength(1);
    expect(stage.ends).toEqual([
      { kind: "register", newAgent: false, message: "the certificate of this agent has ended" },
    ]);
  });
});
