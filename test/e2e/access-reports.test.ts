import { generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isConditionTrue } from "../../src/apimachinery/conditions.ts";
import { sshPublicKeyOf } from "../../src/pki/ssh-public-key.ts";
import type { AccessRequest } from "../../src/apis/access-request.ts";
import { provePossession } from "../../src/trust/possession.ts";
import { isRefusedFor, startAccessStage, type AccessStage } from "../kits/access-stage.ts";
import { reported, type Report } from "../kits/reports.ts";
import { skippingClock } from "../kits/skipping-clock.ts";

const hour = 3_600_000;
const clock = skippingClock();
let stage: AccessStage;

beforeAll(async () => {
  const accessRequests = { perAddress: 10_000, inAll: 10_000, pending: 10_000 };
  stage = await startAccessStage({ accessRequests, clock });
});

afterAll(() => stage.close());

function told(reason: Parameters<typeof reported>[1], name: string, of: object = {}): Promise<Report> {
  const about = { controller: "access-request", kind: "AccessRequest", name, ...of };
  return reported({ log: stage.hub.log, read: stage.admin }, reason, about);
}

describe("the operator finds in log, Event and metric, and the machine in its request", () => {
  it("that a request was not decided in time, once", async () => {
    expect((await stage.profile("brief", { namespace: "vms", pendingSeconds: 60 })).status).toBe(201);
    await stage.ask("vm-late", { spec: { profile: "brief" } });
    await stage.until("vm-late", ({ status }) => status?.evidence?.possession !== undefined);
    clock.skip(61_000);
    const { status } = await stage.until("vm-late", (one) => isConditionTrue(one.status?.conditions, "Expired"));
    const why = "no approver decided within 60 seconds";
    expect(status?.conditions?.find(({ type }) => type === "Expired")).toMatchObject({
      reason: "Unanswered",
      message: why,
    });
    const { lines, event } = await told("AccessRequestExpired", "vm-late");
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ message: `access request expired: ${why}`, fingerprint: status?.fingerprint });
    expect(event).toMatchObject({ type: "Normal", count: 1 });
  });

  it("that the earlier access of a machine that came back was removed", async () => {
    await stage.profile("back", { namespace: "vms", recovery: { windowSeconds: 86_400, times: 2 } });
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const { text: pubKey, fingerprint } = sshPublicKeyOf(publicKey);
    const ask = async (name: string): Promise<void> => {
      const proof = provePossession(privateKey, "ed25519", { name, fingerprint, caPin: stage.hub.hub.caPin });
      await stage.ask(name, { spec: { pubKey, profile: "back", proof } });
    };
    await ask("vm-before");
    await stage.decide("vm-before", { accepted: true });
    await stage.until("vm-before");
    clock.skip(2 * hour);
    await ask("vm-after");
    await stage.until("vm-after");
    const { lines, event } = await told("AccessSuperseded", "vm-before");
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ message: "access superseded: its machine has come back as vm-after" });
    expect(event).toMatchObject({ type: "Normal", count: 1 });
  });

  it("that the namespace of its profile is being deleted", async () => {
    const held = { metadata: { name: "held", finalizers: ["example.com/hold"] } };
    await stage.admin("/api/v1/namespaces", { method: "POST", body: { metadata: { name: "going" } } });
    await stage.admin("/api/v1/namespaces/going/configmaps", { method: "POST", body: held });
    await stage.profile("going", { namespace: "going" });
    await stage.admin("/api/v1/namespaces/going", { method: "DELETE" });
    await stage.ask("vm-going", { spec: { profile: "going" } });
    await stage.decide("vm-going", { accepted: true });
    await stage.until("vm-going", isRefusedFor("ProfileNamespaceTerminating"));
    const next = "is being deleted; create it again, or change the profile";
    expect(await issued("vm-going")).toMatchObject({
      status: "False",
      message: `namespace "going" of profile "going" ${next}`,
    });
    const { lines, event } = await told("ProfileNamespaceTerminating", "vm-going");
    expect(lines).toHaveLength(1);
    expect(event).toMatchObject({ type: "Warning", count: 1 });
    const of = { controller: "access-profile", kind: "AccessProfile" };
    const profile = await told("ProfileNamespaceTerminating", "going", of);
    expect(profile.lines[0]?.message).toBe(`profile grants nothing: namespace "going" ${next}`);
    expect((await stage.admin(`${stage.profiles}/going`)).object()["status"]).toMatchObject({
      conditions: [{ type: "Ready", status: "False", reason: "ProfileNamespaceTerminating" }],
    });
  });

  it("that its name belongs to an account, or to a binding, that was not made for it", async () => {
    const account = { metadata: { name: "vm-taken" } };
    await stage.admin("/api/v1/namespaces/vms/serviceaccounts", { method: "POST", body: account });
    const subjects = [{ kind: "ServiceAccount", name: "vm-bound", namespace: "vms" }];
    const roleRef = { kind: "ClusterRole", name: "viewer", apiGroup: "rbac.authorization.k8s.io" };
    await stage.admin("/apis/rbac.authorization.k8s.io/v1/namespaces/vms/rolebindings", {
      method: "POST",
      body: { metadata: { name: "for-another" }, subjects, roleRef },
    });
    for (const [name, reason] of [
      ["vm-taken", "AccountTaken"],
      ["vm-bound", "NameBound"],
    ] as const) {
      await stage.ask(name);
      await stage.decide(name, { accepted: true });
      await stage.until(name, isRefusedFor(reason));
      const { lines, event } = await told(reason, name);
      expect(lines).toHaveLength(1);
      expect(event).toMatchObject({ type: "Warning", count: 1 });
      expect(event.message).toContain("ask under another name");
    }
  });

  it("that the account of its name is revoked", async () => {
    const spec = { user: "system:serviceaccount:vms:vm-barred", reason: "stolen" };
    const revocations = "/apis/access.pratique.dev/v1alpha1/credentialrevocations";
    await stage.admin(revocations, { method: "POST", body: { metadata: { name: "barred" }, spec } });
    await stage.ask("vm-barred");
    await stage.decide("vm-barred", { accepted: true });
    await stage.until("vm-barred", isRefusedFor("AccountRevoked"));
    const { lines, event } = await told("AccountRevoked", "vm-barred");
    expect(lines).toHaveLength(1);
    expect(event.message).toBe("nothing is issued: the account vms/vm-barred is revoked; ask under another name");
  });
});

async function issued(name: string): Promise<unknown> {
  const { status } = (await stage.admin(`${stage.requests}/${name}`)).object() as AccessRequest;
  return status?.conditions?.find(({ type }) => type === "Issued");
}
