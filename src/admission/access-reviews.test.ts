import { generateKeyPairSync } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyJsonPatch } from "../apimachinery/json-patch.ts";
import type { JsonObject } from "../apimachinery/json-value.ts";
import { sshPublicKeyOf } from "../pki/ssh-public-key.ts";
import { accessProfileAdmission } from "./access-profiles.ts";
import { accessRequestAdmission } from "./access-requests.ts";
import { accessReviews } from "./access-reviews.ts";
import type { ReviewStage } from "./review-answer.ts";
import type { AdmissionPlugin } from "./admission.ts";

const key = sshPublicKeyOf(generateKeyPairSync("ed25519").publicKey, "vm");
const annotation = "access.pratique.dev/requester";
const profile = { metadata: { name: "pods" }, spec: { namespace: "vms" } };

function plugins(rights: readonly string[] = ["approve"]): readonly AdmissionPlugin[] {
  const may = async ({ verb }: { readonly verb: string }): Promise<{ allowed: boolean; reason: string }> => ({
    allowed: rights.includes(verb),
    reason: "",
  });
  const profileOf = (): never => profile as never;
  const lookups = {
    profileOf,
    requestOf: () => undefined,
    pending: () => 0,
    caPins: () => [`sha256:${"0".repeat(64)}`],
  };
  const now = (): number => Date.UTC(2026, 10, 21);
  return [accessRequestAdmission({ lookups, may, take: () => true, maxPending: 10, now }), accessProfileAdmission(may)];
}

const request = (status?: object, annotations: object = { [annotation]: "system:anonymous" }): JsonObject => ({
  apiVersion: "access.pratique.dev/v1alpha1",
  kind: "AccessRequest",
  metadata: { name: "vm", uid: "u", annotations },
  spec: { pubKey: key.text },
  ...(status === undefined ? {} : { status }),
});

function review(fields: JsonObject, version = "v1"): JsonObject {
  return {
    apiVersion: `admission.k8s.io/${version}`,
    kind: "AdmissionReview",
    request: {
      uid: "r-1",
      resource: { group: "access.pratique.dev", version: "v1alpha1", resource: "accessrequests" },
      name: "vm",
      operation: "CREATE",
      userInfo: { username: "ada", groups: ["people"] },
      object: null,
      oldObject: null,
      dryRun: false,
      ...fields,
    },
  };
}

interface Answer {
  readonly uid: string;
  readonly allowed: boolean;
  readonly status?: { readonly code: number; readonly message: string };
  readonly patch?: string;
  readonly auditAnnotations?: object;
}

async function ask(stage: ReviewStage, fields: JsonObject, rights?: readonly string[]): Promise<Answer> {
  const answer = await accessReviews(plugins(rights))(stage, review(fields));
  return answer["response"] as Answer;
}

function patched(object: JsonObject, { patch }: Answer): JsonObject {
  const operations: unknown = JSON.parse(Buffer.from(patch ?? "W10=", "base64").toString());
  return applyJsonPatch(object, operations) as JsonObject;
}

const toStatus = (object: JsonObject, oldObject: JsonObject): JsonObject => ({
  operation: "UPDATE",
  subResource: "status",
  object,
  oldObject,
});

describe("a review", () => {
  it.each(["v1", "v1beta1"])("of %s is answered in its version, with its uid", async (version) => {
    const answer = await accessReviews(plugins())("mutating", review({ object: request() }, version));
    expect(answer).toMatchObject({
      apiVersion: `admission.k8s.io/${version}`,
      kind: "AdmissionReview",
      response: { uid: "r-1", allowed: true },
    });
  });

  it.each<[string, unknown]>([
    ["nothing", null],
    ["a list", []],
    ["another version", review({}, "v2")],
    ["no request", { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" }],
    ["no uid", review({ uid: "" })],
  ])("that is %s is refused as a whole", async (_what, body) => {
    await expect(accessReviews(plugins())("validating", body)).rejects.toMatchObject({ code: 400 });
  });

  it.each<[string, JsonObject]>([
    ["another kind", { resource: { group: "", version: "v1", resource: "pods" } }],
    [
      "a part of a Secret",
      { resource: { group: "", version: "v1", resource: "secrets" }, subResource: "x", object: {} },
    ],
    ["another operation", { operation: "CONNECT" }],
    ["no object", {}],
    ["no old object", { operation: "UPDATE", object: request() }],
    ["nobody", { object: request(), userInfo: {} }],
    ["fields of other types", { object: { ...request(), status: { reason: 7, accepted: "yes" } } }],
  ])("of %s is answered with no", async (_what, fields) => {
    for (const stage of ["mutating", "validating"] as const) {
      expect(await ask(stage, fields)).toMatchObject({ uid: "r-1", allowed: false });
    }
  });

  it("whose judge fails is answered with no, and without a word of why", async () => {
    const broken: AdmissionPlugin = { name: "broken", validate: () => Promise.reject(new TypeError("secret detail")) };
    const answer = await accessReviews([broken])(
      "validating",
      review({ object: request(undefined, { [annotation]: "ada" }) }),
    );
    expect(answer["response"]).toMatchObject({ allowed: false, status: { code: 500 } });
    expect(JSON.stringify(answer)).not.toContain("secret detail");
  });

  it("never lets anything through that is no review of an access kind, whatever it holds", async () => {
    await fc.assert(
      fc.asyncProperty(fc.object({ maxDepth: 3 }), fc.constantFrom("mutating", "validating"), async (fields, stage) => {
        const answer = await accessReviews(plugins([]))(stage, review({ ...fields, object: fields })).catch(
          () => undefined,
        );
        const response = answer?.["response"] as Answer | undefined;
        // What a mutating webhook lets pass, the validating one still judges.
        expect(stage === "validating" && response?.allowed === true).toBe(false);
      }),
      { numRuns: 100 },
    );
  });
});

describe("a new request", () => {
  it("is stamped with who asks, whatever it says itself", async () => {
    const forged = request(undefined, { [annotation]: "somebody", "other/one": "kept" });
    const answer = await ask("mutating", { object: forged, userInfo: { username: "system:anonymous" } });
    expect(patched(forged, answer)).toMatchObject({
      metadata: { annotations: { [annotation]: "system:anonymous", "other/one": "kept" } },
    });
    const { annotations: _none, ...metadata } = request()["metadata"] as { readonly annotations: object };
    const plain = { ...request(), metadata };
    expect(patched(plain, await ask("mutating", { object: plain }))).toMatchObject({
      metadata: { annotations: { [annotation]: "ada" } },
    });
  });

  it("is refused where another webhook has removed the stamp", async () => {
    expect(await ask("validating", { object: request(undefined, {}) })).toMatchObject({
      allowed: false,
      status: { code: 422 },
    });
    expect(await ask("validating", { object: request(undefined, { [annotation]: "ada" }) })).toMatchObject({
      allowed: true,
    });
  });

  it("may bring no finalizers, owners, labels or annotations of the project", async () => {
    for (const metadata of [
      { finalizers: ["a/b"] },
      { labels: { rack: "7" } },
      { ownerReferences: [{ uid: "x", kind: "K", name: "n", apiVersion: "v1" }] },
    ]) {
      const object = { ...request(), metadata: { name: "vm", annotations: { [annotation]: "ada" }, ...metadata } };
      expect(await ask("validating", { object })).toMatchObject({ allowed: false });
    }
  });
});

describe("a request that is there", () => {
  it("does not change, nor does who asked", async () => {
    const other = sshPublicKeyOf(generateKeyPairSync("ed25519").publicKey, "vm").text;
    const swapped = { ...request(), spec: { pubKey: other } };
    for (const object of [swapped, request(undefined, { [annotation]: "ben" }), request(undefined, {})]) {
      const answer = await ask("validating", { operation: "UPDATE", object, oldObject: request() });
      expect(answer).toMatchObject({ allowed: false, status: { code: 422 } });
    }
    const same = await ask("validating", { operation: "UPDATE", object: request(), oldObject: request() });
    expect(same).toMatchObject({ allowed: true });
  });

  it("gets decisions that are stamped with the user of the review and the key that it was made with", async () => {
    const object = request({ accepted: true, wordsCompared: true });
    const answer = await ask("mutating", toStatus(object, request()));
    expect(patched(object, answer)["status"]).toMatchObject({
      accepted: true,
      fingerprint: key.fingerprint,
      evidence: { requester: "system:anonymous" },
      decisions: [{ user: "ada", verdict: "Approved", words: "Compared", fingerprint: key.fingerprint }],
    });
    expect(answer.auditAnnotations).toEqual({ words: "compared" });
    const after = patched(object, answer);
    expect(await ask("validating", toStatus(after, request()))).toMatchObject({ allowed: true });
  });

  it("takes no forged decision: by another's name, two at once, or one that is gone", async () => {
    const decision = (user: string): object => ({ user, time: "2026-11-21T00:00:00Z", verdict: "Approved" });
    const stored = request({ decisions: [decision("ben")] });
    for (const decisions of [
      [decision("ben"), decision("cem")],
      [decision("ben"), decision("ada"), decision("ada")],
      [],
    ]) {
      const answer = await ask("validating", toStatus(request({ decisions }), stored));
      expect(answer).toMatchObject({ allowed: false, status: { code: 403 } });
    }
  });

  it("is decided on by nobody who made it, and by nobody without the right", async () => {
    const own = request(undefined, { [annotation]: "ada" });
    const self = await ask("mutating", toStatus({ ...own, status: { accepted: true } }, own));
    expect(self.status?.message).toContain("a requester cannot decide on its own request");
    const eve = await ask("mutating", toStatus(request({ accepted: true }), request()), []);
    expect(eve.status?.message).toContain('verb "approve" on accessprofiles');
  });

  it("takes sealed fields from those alone who may issue", async () => {
    const object = request({ ready: true, token: "AAAA" });
    expect((await ask("mutating", toStatus(object, request()))).status?.message).toContain(
      "and not write status.ready",
    );
    const issued = await ask("mutating", toStatus(object, request()), ["issue"]);
    expect(patched(object, issued)["status"]).toMatchObject({ ready: true, token: "AAAA" });
  });

  it("may be deleted", async () => {
    expect(await ask("validating", { operation: "DELETE", oldObject: request() })).toMatchObject({ allowed: true });
  });
});

describe("a profile", () => {
  const asked = (spec: object): JsonObject => ({
    resource: { group: "access.pratique.dev", version: "v1alpha1", resource: "accessprofiles" },
    object: { metadata: { name: "p" }, spec },
  });

  it("hands out only what its writer holds", async () => {
    const fields = asked({ namespace: "vms", roles: [{ kind: "ClusterRole", name: "cluster-admin" }] });
    for (const [rights, missing] of [
      [["create"], 'verb "bind" on clusterroles.rbac.authorization.k8s.io "cluster-admin" in namespace "vms"'],
      [["bind"], 'verb "create" on serviceaccounts in namespace "vms"'],
    ] as const) {
      expect((await ask("validating", fields, rights)).status?.message).toContain(missing);
    }
    expect(await ask("validating", fields, ["bind", "create"])).toMatchObject({ allowed: true });
  });

  it("is judged by what a change of it adds", async () => {
    const stored = asked({ namespace: "vms" })["object"] ?? null;
    const changed = (spec: object): JsonObject => ({ ...asked(spec), operation: "UPDATE", oldObject: stored });
    expect(await ask("validating", changed({ namespace: "vms", tokenSeconds: 600 }), [])).toMatchObject({
      allowed: true,
    });
    expect(
      (await ask("validating", changed({ namespace: "vms", recovery: {} }), ["create"])).status?.message,
    ).toContain('verb "approve" on accessprofiles.access.pratique.dev "p" at the cluster scope');
  });

  it("with rules that do not compile, or networks that are none, is refused", async () => {
    for (const wrong of [{ rules: [{ expression: "object.", effect: "Approve" }] }, { sourceNetworks: ["10.0.0.1"] }]) {
      expect(await ask("validating", asked({ namespace: "vms", ...wrong }))).toMatchObject({
        allowed: false,
        status: { code: 422 },
      });
    }
  });
});
