import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import { createCsr } from "../../src/pki/csr.ts";
import { generatePrivateKey } from "../../src/pki/keys.ts";
import type { LogEntry } from "../../src/apimachinery/log-entry.ts";
import { startAccessStage, type AccessStage } from "../kits/access-stage.ts";
import { eventually } from "../kits/peers-process.ts";
import { pratiqueAs } from "../kits/pratique-as.ts";

let stage: AccessStage;

beforeAll(async () => {
  stage = await startAccessStage();
});

afterAll(() => stage.close());

/** The lines of one reason about one object, once there is one. */
async function linesOf(reason: string, object: string): Promise<readonly LogEntry[]> {
  const found = (): readonly LogEntry[] =>
    stage.hub.log.filter((entry) => entry["reason"] === reason && entry["object"] === object);
  await eventually(`${reason} of ${object}`, async () => found()[0]);
  return found();
}

async function eventsOf(reason: string, name: string): Promise<readonly ApiObject[]> {
  const selector = encodeURIComponent(`reason=${reason},involvedObject.name=${name}`);
  return eventually(`the Event ${reason}`, async () => {
    const reply = await stage.admin(`/api/v1/namespaces/default/events?fieldSelector=${selector}`);
    const items = reply.object()["items"] as readonly ApiObject[];
    return items.length === 0 ? undefined : items;
  });
}

describe("one line at level info and one Event tell", () => {
  it("of an approval of access who, which key and why, and of what was granted", async () => {
    await stage.ask("vm-told");
    await stage.decide("vm-told", { accepted: true, reason: "rack 7" }, stage.person("ada"));
    const [approved, ...more] = await linesOf("AccessRequestApproved", "AccessRequest/vm-told");
    const about = {
      level: "info",
      user: "ada",
      why: "rack 7",
      fingerprint: expect.stringMatching(/^SHA256:/) as unknown,
    };
    expect(approved).toMatchObject({ ...about, message: "access request approved: by ada" });
    expect(more).toEqual([]);
    expect(await linesOf("AccessGranted", "AccessRequest/vm-told")).toMatchObject([{ level: "info", user: "ada" }]);
    expect(await eventsOf("AccessRequestApproved", "vm-told")).toMatchObject([{ type: "Normal", count: 1 }]);
    expect(await eventsOf("AccessGranted", "vm-told")).toMatchObject([{ count: 1 }]);
  });

  it("of a denial and of a revocation of access", async () => {
    for (const name of ["vm-no", "vm-out"]) await stage.ask(name);
    await stage.decide("vm-no", { denied: true, reason: "not one of ours" }, stage.person("ada"));
    expect(await linesOf("AccessRequestDenied", "AccessRequest/vm-no")).toMatchObject([
      { level: "info", user: "ada", why: "not one of ours" },
    ]);
    await stage.decide("vm-out", { accepted: true });
    await stage.until("vm-out");
    await stage.decide("vm-out", { revoked: true, reason: "stolen" }, stage.person("ada"));
    expect(await linesOf("AccessRevoked", "AccessRequest/vm-out")).toMatchObject([{ user: "ada", why: "stolen" }]);
    expect(await eventsOf("AccessRevoked", "vm-out")).toHaveLength(1);
  });

  it("of a credential that is revoked: what, by whom and why", async () => {
    const ran = await pratiqueAs(stage.hub, "admin", ["revoke", "user/mallory", "--reason", "left"]);
    expect(ran.code).toBe(0);
    const entry = await eventually("the line", async () =>
      stage.hub.log.find(({ reason }) => reason === "CredentialRevoked"),
    );
    expect(entry).toMatchObject({
      user: "kubernetes-admin",
      why: "left",
      message: "credential revoked: user mallory",
      revokedUser: "mallory",
    });
  });

  it("of a certificate request who decided, for which key, and what was issued: a first one, then a renewal", async () => {
    for (const [name, reason] of [
      ["first", "CertificateIssued"],
      ["second", "CredentialRenewed"],
    ] as const) {
      await requested(name, "carol");
      const ran = await pratiqueAs(stage.hub, "admin", ["approve", `csr/${name}`]);
      expect(ran.code).toBe(0);
      const object = `CertificateSigningRequest/${name}`;
      const [approved, ...more] = await linesOf("CertificateApproved", object);
      expect(approved).toMatchObject({
        level: "info",
        user: "kubernetes-admin",
        requester: "kubernetes-admin",
        signer: "kubernetes.io/kube-apiserver-client",
        fingerprint: expect.stringMatching(/^SHA256:/) as unknown,
      });
      expect(more).toEqual([]);
      expect(await linesOf(reason, object)).toMatchObject([
        { level: "info", user: "carol", approver: "kubernetes-admin", fingerprint: approved?.["fingerprint"] },
      ]);
      expect(await eventsOf(reason, name)).toMatchObject([{ count: 1 }]);
    }
  });

  it("of a denied certificate request", async () => {
    await requested("denied", "dave");
    const ran = await pratiqueAs(stage.hub, "admin", ["deny", "csr/denied", "--reason", "UnknownMachine"]);
    expect(ran.code).toBe(0);
    const [entry] = await linesOf("CertificateDenied", "CertificateSigningRequest/denied");
    expect(entry).toMatchObject({ level: "info", user: "kubernetes-admin", why: "UnknownMachine" });
    expect(await eventsOf("CertificateDenied", "denied")).toHaveLength(1);
  });
});

async function requested(name: string, commonName: string): Promise<void> {
  const request = Buffer.from(createCsr({ key: generatePrivateKey(), commonName })).toString("base64");
  const spec = { request, signerName: "kubernetes.io/kube-apiserver-client", usages: ["client auth"] };
  const reply = await stage.admin("/apis/certificates.k8s.io/v1/certificatesigningrequests", {
    method: "POST",
    body: { metadata: { name }, spec },
  });
  if (reply.status !== 201) throw new TypeError(reply.text);
}
