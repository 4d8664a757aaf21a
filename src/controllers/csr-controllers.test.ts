import { generateKeyPairSync, randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { ApiObject } from "../apimachinery/object.ts";
import { conflict } from "../apimachinery/status.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { createCa } from "../pki/ca.ts";
import { issueCertificate } from "../pki/certificate.ts";
import { createCsr, parseCsr } from "../pki/csr.ts";
import { controllerBench } from "../../test/kits/controller-bench.ts";
import type { ControllerBench } from "../../test/kits/controller-bench.ts";
import { settled } from "../../test/kits/fake-clock.ts";
import { csrApproving } from "./certificates/csr-approving.ts";
import { csrCleaner } from "./certificates/csr-cleaner.ts";
import { csrSigning } from "./certificates/csr-signing.ts";
import type { SigningOrder } from "./certificates/csr-signing.ts";
import { csrView } from "./certificates/csr-view.ts";
import { certificateSigningRequests as csrs } from "./kinds.ts";

const kubelet = "kubernetes.io/kube-apiserver-client-kubelet";
const serving = "kubernetes.io/kubelet-serving";
/** The time of the clock, which stands still at first. */
const now = "2026-11-21T00:00:00Z";
const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const pemFor = (commonName: string): string => createCsr({ key, commonName, organizations: ["system:nodes"] });
const pem = pemFor("system:node:one");

function request(name: string, spec: Record<string, unknown> = {}): ApiObject {
  const filled = {
    request: Buffer.from(pem).toString("base64"),
    signerName: kubelet,
    usages: ["digital signature", "client auth"],
    username: "system:bootstrap:abcdef",
    groups: ["system:bootstrappers"],
    ...spec,
  };
  return { apiVersion: "certificates.k8s.io/v1", kind: "CertificateSigningRequest", metadata: { name }, spec: filled };
}

interface Scene extends ControllerBench {
  readonly signer: { failure: Error | undefined };
  readonly allowed: { now: boolean };
  readonly orders: SigningOrder[];
  readonly view: (name: string) => ReturnType<typeof csrView>;
}

async function scene(isRevoked?: (user: UserInfo) => boolean): Promise<Scene> {
  const allowed = { now: true };
  const signer: Scene["signer"] = { failure: undefined };
  const bench = controllerBench({
    reviews: { subjectaccessreviews: (object) => ({ ...object, status: { allowed: allowed.now } }) },
  });
  const { informers, clock } = bench;
  const orders: SigningOrder[] = [];
  const ca = createCa({ commonName: "ca", key, now: clock.now(), years: 1, random: randomBytes });
  async function sign(order: SigningOrder): Promise<string> {
    if (signer.failure !== undefined) throw signer.failure;
    orders.push(order);
    const { rawSubject, spki } = order.request;
    const [notBefore, notAfter] = [clock.now(), clock.now() + 600_000];
    const serial = randomBytes(16);
    return issueCertificate({
      issuer: ca,
      rawSubject,
      spki,
      usages: order.usages,
      notBefore,
      notAfter,
      serial,
      role: "leaf",
    }).pem;
  }
  await bench.start(
    csrApproving({ informers, clock, parse: parseCsr }),
    csrSigning({ informers, clock, parse: parseCsr, sign, ...(isRevoked && { isRevoked }) }),
    csrCleaner({ informers, clock }),
  );
  const view = (name: string): ReturnType<typeof csrView> => {
    const object = bench.api.all(csrs).find((one) => one.metadata.name === name);
    if (object === undefined) throw new TypeError(`${name} is gone`);
    return csrView(object);
  };
  return { ...bench, allowed, signer, orders, view };
}

describe("csrapproving and csrsigning", () => {
  test("an approved request that cannot be signed says so, keeps the cause from its requester, and is signed later", async () => {
    const { api, view, clock, log, counted, signer, stop } = await scene();
    signer.failure = new RangeError("EACCES /secret/ca.key");
    await api.given(csrs, request("a", {}));
    await settled();
    const delayed = { type: "SigningDelayed", status: "True", reason: "IssuingFailed" };
    expect(view("a").conditions).toMatchObject([{ type: "Approved" }, delayed]);
    expect(JSON.stringify(view("a").conditions)).not.toContain("secret");
    expect(counted).toEqual(["IssuingFailed"]);
    expect(log).toContainEqual(expect.objectContaining({ reason: "IssuingFailed", cause: "EACCES /secret/ca.key" }));
    signer.failure = undefined;
    await clock.advance(300_000);
    await settled();
    expect(view("a").conditions).toMatchObject([{ type: "Approved" }]);
    expect(view("a").certificate).not.toBe("");
    await stop();
  });

  test("approve and sign a kubelet's request at once, with one write each", async () => {
    const { api, orders, view, stop, log } = await scene();
    await api.given(csrs, request("a", { expirationSeconds: 900 }));
    await settled();
    expect(view("a").conditions).toEqual([
      {
        type: "Approved",
        status: "True",
        reason: "AutoApproved",
        message: "Auto approving kubelet client certificate after SubjectAccessReview.",
        lastUpdateTime: now,
        lastTransitionTime: now,
      },
    ]);
    expect(view("a").certificate).toMatch(/^-----BEGIN CERTIFICATE-----/);
    expect(orders).toMatchObject([
      { signerName: kubelet, expirationSeconds: 900, usages: ["digital signature", "client auth"] },
    ]);
    const updates = api.writes.filter((write) => write.verb === "update").map((write) => write.subresource);
    expect(updates).toEqual(["approval", "status"]);
    expect(log).toEqual([]);
    await stop();
  });

  test("ask again about a request that was not allowed, until a grant comes; never deny", async () => {
    const { api, allowed, view, clock, stop } = await scene();
    allowed.now = false;
    await api.given(csrs, request("a"));
    await settled();
    await clock.advance(200 + 400);
    expect(view("a").conditions).toMatchObject([{ type: "NotApprovedAutomatically", reason: "ApprovalNotAllowed" }]);
    expect(api.writes.filter((write) => write.plural === "subjectaccessreviews")).toHaveLength(3);
    allowed.now = true;
    await clock.advance(800);
    expect(view("a").certificate).not.toBe("");
    await stop();
  });

  test("leave serving certificates, other signers and unreadable requests to people", async () => {
    const { client, api, view, stop } = await scene();
    await client.create(
      csrs,
      request("serving", { signerName: serving, usages: ["digital signature", "server auth"] }),
    );
    await api.given(csrs, request("own", { signerName: "example.com/own" }));
    await api.putInStore(csrs, request("junk", { request: Buffer.from("junk").toString("base64") }));
    await settled();
    for (const name of ["serving", "own", "junk"]) expect(view(name).conditions).toEqual([]);
    expect(api.writes.filter((write) => write.verb !== "create")).toEqual([]);
    await stop();
  });

  test("fail an approved request that has not the shape of its signer, for good and unsigned", async () => {
    const { api, orders, view, stop } = await scene();
    const approved = {
      ...request("bad", { signerName: serving, usages: ["digital signature", "server auth"] }),
      status: { conditions: [{ type: "Approved", status: "True" }] },
    };
    await api.given(csrs, approved);
    await settled();
    expect(view("bad").conditions.at(-1)).toMatchObject({
      type: "Failed",
      reason: "SignerValidationFailure",
      message: "DNS or IP subjectAltName is required",
    });
    expect(orders).toEqual([]);
    await stop();
  });

  test.each([
    [kubelet, "system:node:one"],
    [kubelet, "system:node:One"],
    ["kubernetes.io/kube-apiserver-client", "system:node:one"],
    ["kubernetes.io/kube-apiserver-client", "System:Node:ONE"],
  ])(
    "fail a request that an approver approved, by the signer %s for a certificate of %s, where the node one is revoked",
    async (signerName, commonName) => {
      const { api, orders, view, stop } = await scene(({ username }) => username === "system:node:one");
      const approved = {
        ...request("revoked", { signerName, request: Buffer.from(pemFor(commonName)).toString("base64") }),
        status: { conditions: [{ type: "Approved", status: "True" }] },
      };
      await api.given(csrs, approved);
      await settled();
      expect(view("revoked").conditions.at(-1)).toEqual({
        type: "Failed",
        status: "True",
        reason: "UserRevoked",
        message: `the user "${commonName}" is revoked: delete that CredentialRevocation (pratique revocations list), then create a new request`,
        lastUpdateTime: now,
        lastTransitionTime: now,
      });
      expect(orders).toEqual([]);
      await stop();
    },
  );

  test("sign for a user whose name differs in case from that of a revoked user that is no node", async () => {
    const { api, view, stop } = await scene(({ username }) => username === "ann");
    const approved = {
      ...request("ann", {
        signerName: "kubernetes.io/kube-apiserver-client",
        request: Buffer.from(pemFor("Ann")).toString("base64"),
      }),
      status: { conditions: [{ type: "Approved", status: "True" }] },
    };
    await api.given(csrs, approved);
    await settled();
    expect(view("ann").certificate).not.toBe("");
    await stop();
  });

  test("get over a conflict", async () => {
    const { api, view, clock, stop } = await scene();
    api.failNext("update", csrs, conflict(csrs, "a", "stale"));
    await api.given(csrs, request("a"));
    await clock.advance(200);
    expect(view("a").certificate).not.toBe("");
    await stop();
  });
});

describe("csrcleaner", () => {
  test("deletes pending requests after a day, looking once an hour", async () => {
    const { api, allowed, clock, stop } = await scene();
    allowed.now = false;
    await api.given(csrs, request("a", { signerName: "example.com/own" }));
    await settled();
    await clock.advance(24 * 3_600_000);
    expect(api.all(csrs)).toHaveLength(1);
    await clock.advance(3_600_000);
    expect(api.all(csrs)).toHaveLength(0);
    await stop();
  });

  test("deletes a request whose certificate has expired", async () => {
    const { api, clock, stop } = await scene();
    await api.given(csrs, request("a"));
    await settled();
    await clock.advance(3_600_000);
    expect(api.all(csrs)).toHaveLength(0);
    await stop();
  });
});
