import { generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sshPublicKeyOf } from "../../src/pki/ssh-public-key.ts";
import { sealBinding, type AccessRequest } from "../../src/apis/access-request.ts";
import { openAnswer } from "../../src/trust/seal.ts";
import { provePossession } from "../../src/trust/possession.ts";
import { certificatesOfBundle } from "../../src/trust/pins.ts";
import { isReady, isRefusedFor, machineKeys, startAccessStage, type AccessStage } from "../kits/access-stage.ts";
import { putChanged, type ApiClient, type Reply } from "../kits/api-client.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const accounts = "/api/v1/namespaces/vms/serviceaccounts";
const merge = "application/merge-patch+json";

let stage: AccessStage;
let ada: ApiClient;
const thief = generateKeyPairSync("ec", { namedCurve: "P-256" });
const thiefText = sshPublicKeyOf(thief.publicKey).text;

beforeAll(async () => {
  const accessRequests = { perAddress: 10_000, inAll: 10_000, pending: 10_000 };
  stage = await startAccessStage({ accessRequests });
  ada = stage.person("ada");
});
afterAll(() => stage.close());

const at = (name: string, subresource = ""): string => `${stage.requests}/${name}${subresource}`;
const seen = async (name: string): Promise<AccessRequest> =>
  (await stage.admin(at(name))).object() as unknown as AccessRequest;
const claimsOf = (token: string): { readonly exp: number; readonly iat: number; readonly aud: readonly string[] } =>
  JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as ReturnType<typeof claimsOf>;

/** Ways to put another key, or another request, in the place of one, by whoever may write requests and their status. */
const swaps: Readonly<Record<string, (name: string, stored: AccessRequest) => Promise<Reply>>> = {
  "a merge patch": (name) =>
    stage.admin(at(name), { method: "PATCH", type: merge, body: { spec: { pubKey: thiefText } } }),
  "a JSON patch": (name) =>
    stage.admin(at(name), {
      method: "PATCH",
      type: "application/json-patch+json",
      body: JSON.stringify([{ op: "replace", path: "/spec/pubKey", value: thiefText }]),
    }),
  "server-side apply by force": (name) =>
    stage.admin(`${at(name)}?fieldManager=thief&force=true`, {
      method: "PATCH",
      type: "application/apply-patch+yaml",
      body: {
        apiVersion: "access.pratique.dev/v1alpha1",
        kind: "AccessRequest",
        metadata: { name },
        spec: { pubKey: thiefText },
      },
    }),
  "an update": (name, stored) =>
    stage.admin(at(name), { method: "PUT", body: { ...stored, spec: { ...stored.spec, pubKey: thiefText } } }),
  "an update of the status": (name, stored) =>
    ada(at(name, "/status"), { method: "PUT", body: { ...stored, spec: { ...stored.spec, pubKey: thiefText } } }),
  "a patch of the status": (name) =>
    ada(at(name, "/status"), {
      method: "PATCH",
      type: merge,
      body: { spec: { pubKey: thiefText }, status: { fingerprint: sshPublicKeyOf(thief.publicKey).fingerprint } },
    }),
  "another uid": (name, stored) =>
    stage.admin(at(name), { method: "PUT", body: { ...stored, metadata: { ...stored.metadata, uid: "another" } } }),
  "another name": (name, stored) =>
    stage.admin(at(name), { method: "PUT", body: { ...stored, metadata: { ...stored.metadata, name: "another" } } }),
};

describe("the key of a request", () => {
  it.each(Object.keys(swaps))("stays what it is before approval, against %s", async (how) => {
    const name = `before-${Object.keys(swaps).indexOf(how)}`;
    await stage.ask(name);
    const before = await seen(name);
    await swaps[how]?.(name, before);
    const after = await seen(name);
    expect([after.spec, after.metadata.uid, after.status?.fingerprint]).toEqual([
      before.spec,
      before.metadata.uid,
      before.status?.fingerprint,
    ]);
  });

  it.each(Object.keys(swaps))("stays what it is after approval, against %s", async (how) => {
    const name = `after-${Object.keys(swaps).indexOf(how)}`;
    await stage.let(name);
    await swaps[how]?.(name, await seen(name));
    const after = await seen(name);
    expect((await stage.open(after)).token).not.toBe("");
    expect(after.spec.pubKey).not.toContain(thiefText);
  });

  it("is not exchanged by a request of the same name that is made between the look and the approval", async () => {
    await stage.ask("twin");
    const { uid, resourceVersion } = (await seen("twin")).metadata;
    await stage.admin(at("twin"), { method: "DELETE" });
    await stage.ask("twin", { spec: { pubKey: thiefText } });
    const replies = [];
    for (const metadata of [{ uid }, { resourceVersion }]) {
      const body = { metadata, status: { accepted: true } };
      replies.push((await ada(at("twin", "/status"), { method: "PATCH", type: merge, body })).status);
    }
    expect(replies).toEqual([422, 409]);
    expect((await seen("twin")).status?.accepted).toBeUndefined();
  });

  it.each([
    ["of 1024 bits", 128, [1, 0, 1], 1],
    ["with an even modulus", 256, [1, 0, 1], 0],
    ["with exponent 1", 256, [1], 1],
    ["with an even exponent", 256, [4], 1],
    ["with an exponent without end", 256, Array.from({ length: 200 }, () => 3), 1],
    ["of 16384 bits", 2048, [1, 0, 1], 1],
  ] as const)("is not an RSA key %s", async (_what, bytes, exponent, last) => {
    const modulus = Buffer.alloc(bytes, 0x55);
    modulus[0] = 0xff;
    modulus[bytes - 1] = 0x54 + last;
    const field = (content: Uint8Array): Buffer => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(content.length);
      return Buffer.concat([length, content]);
    };
    const wire = [Buffer.from("ssh-rsa"), Buffer.from(exponent), Buffer.concat([Buffer.alloc(1), modulus])].map(field);
    const pubKey = `ssh-rsa ${Buffer.concat(wire).toString("base64")}`;
    const reply = await stage.ask("weak", { spec: { pubKey } });
    expect([reply.status, reply.text]).toEqual([422, expect.stringContaining("RSA key")]);
  });
});

describe("the status", () => {
  const forged = {
    accepted: true,
    ready: true,
    key: "AAAA",
    token: "AAAA",
    ca: "AAAA",
    fingerprint: "SHA256:x",
    decisions: [{ user: "ada", verdict: "Approved", time: "2020-01-01T00:00:00Z" }],
    evidence: { sourceAddress: "10.0.0.1", possession: "Proven", requester: "ada" },
    conditions: [{ type: "Approved", status: "True", reason: "x", message: "", lastTransitionTime: null }],
    grant: { namespace: "kube-system", serviceAccount: "default" },
    expiresAt: "2099-01-01T00:00:00Z",
  };

  it("is the API's own from the first moment, whatever a request comes with", async () => {
    const { fingerprint } = sshPublicKeyOf(machineKeys.p256.publicKey);
    const pubKey = sshPublicKeyOf(machineKeys.p256.publicKey).text;
    const body = { metadata: { name: "born" }, spec: { pubKey }, status: forged };
    expect((await stage.nobody(stage.requests, { method: "POST", body })).object()).toMatchObject({
      status: { fingerprint, evidence: { sourceAddress: "127.0.0.1", requester: "system:anonymous" } },
    });
    const { status = {} } = await stage.until("born", (one) => one.status?.evidence?.possession !== undefined);
    expect(Object.keys(status).toSorted()).toEqual(["evidence", "fingerprint"]);
    expect(status.evidence?.possession).toBe("Unproven");
  });

  it("is not the requester's to write, in any way", async () => {
    await stage.ask("own");
    const body = { ...(await seen("own")), status: forged };
    const ways: readonly Promise<Reply>[] = [
      stage.nobody(at("own", "/status"), { method: "PUT", body }),
      stage.nobody(at("own"), { method: "PUT", body }),
      stage.nobody(at("own", "/status"), { method: "PATCH", type: merge, body: { status: { accepted: true } } }),
      stage.nobody(`${at("own", "/status")}?fieldManager=a`, {
        method: "PATCH",
        type: "application/apply-patch+yaml",
        body,
      }),
      stage.nobody(at("own"), { method: "DELETE" }),
      stage.nobody(stage.requests, { method: "DELETE" }),
    ];
    for (const reply of await Promise.all(ways)) expect(reply.status).toBe(403);
  });

  it.each(Object.entries(forged).filter(([field]) => field !== "accepted"))(
    "does not take %s from an approver, by patch, update or apply",
    async (field, value) => {
      const name = `forged-${field.toLowerCase()}`;
      // For a key that was let in before, the controller goes on to write how it comes back.
      const neverLetIn = generateKeyPairSync("ec", { namedCurve: "P-256" });
      await stage.ask(name, { spec: { pubKey: sshPublicKeyOf(neverLetIn.publicKey).text } });
      // The controller writes once more.
      const before = await stage.until(name, ({ status: now }) => now?.evidence?.possession !== undefined);
      const status = { ...before.status, [field]: value };
      const manifest = { apiVersion: before.apiVersion, kind: before.kind, metadata: { name } };
      const replies = [
        await stage.decide(name, { accepted: true, [field]: value }, ada),
        await putChanged(ada, at(name), { change: (stored) => ({ ...stored, status }), subresource: "/status" }),
        await ada(`${at(name, "/status")}?fieldManager=a&force=true`, {
          method: "PATCH",
          type: "application/apply-patch+yaml",
          body: { ...manifest, status: { [field]: value } },
        }),
      ];
      expect(replies.map((reply) => reply.status)).toEqual([403, 403, 403]);
      expect((await seen(name)).status?.accepted).toBeUndefined();
    },
  );

  it("names whoever decided as authenticated, not as written, and not as impersonated without the right", async () => {
    await stage.ask("stamped");
    const body = { status: { accepted: true } };
    const headers = { "impersonate-user": "ben" };
    expect((await ada(at("stamped", "/status"), { method: "PATCH", type: merge, body, headers })).status).toBe(403);
    await stage.decide("stamped", { accepted: true, reason: "by ben", user: "ben" }, ada);
    expect((await seen("stamped")).status?.decisions).toMatchObject([{ user: "ada", verdict: "Approved" }]);
  });

  it("loses no decision", async () => {
    await stage.let("kept");
    for (const status of [{ accepted: false }, { accepted: null }, { decisions: null }, null]) {
      await stage.decide("kept", status as object, ada);
    }
    await putChanged(ada, at("kept"), { change: (stored) => ({ ...stored, status: {} }), subresource: "/status" });
    const { status } = await seen("kept");
    expect(status).toMatchObject({ accepted: true, ready: true, decisions: [{ verdict: "Approved" }] });
    expect((await stage.decide("kept", { denied: true }, ada)).status).toBe(422);
    await stage.decide("kept", { revoked: true }, ada);
    await stage.decide("kept", { revoked: false }, ada);
    expect((await stage.decide("kept", { accepted: true, revoked: false }, ada)).object()).toMatchObject({
      status: { revoked: true },
    });
  });

  it("is not decided by whoever asked", async () => {
    const spec = { pubKey: sshPublicKeyOf(machineKeys.p256.publicKey).text };
    await stage.admin(`${rbac}/clusterroles`, {
      method: "POST",
      body: {
        metadata: { name: "asker" },
        rules: [{ apiGroups: ["access.pratique.dev"], resources: ["accessrequests"], verbs: ["create"] }],
      },
    });
    await stage.admin(`${rbac}/clusterrolebindings`, {
      method: "POST",
      body: {
        metadata: { name: "asker" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "asker" },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "ada" }],
      },
    });
    expect((await ada(stage.requests, { method: "POST", body: { metadata: { name: "self" }, spec } })).status).toBe(
      201,
    );
    const reply = await stage.decide("self", { accepted: true }, ada);
    expect([reply.status, reply.text]).toEqual([422, expect.stringContaining("on its own request")]);
    expect((await stage.decide("self", { accepted: true }, stage.person("ben"))).status).toBe(200);
  });

  it("is not decided by whoever asked through somebody whom they impersonate, nor twice by one person", async () => {
    const impersonators = [{ apiGroups: [""], resources: ["users"], verbs: ["impersonate"] }];
    await stage.admin(`${rbac}/clusterroles`, {
      method: "POST",
      body: { metadata: { name: "as-others" }, rules: impersonators },
    });
    await stage.admin(`${rbac}/clusterrolebindings`, {
      method: "POST",
      body: {
        metadata: { name: "as-others" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "as-others" },
        subjects: ["ada", "ben"].map((name) => ({ apiGroup: "rbac.authorization.k8s.io", kind: "User", name })),
      },
    });
    await stage.admin(`${rbac}/clusterrolebindings`, {
      method: "POST",
      body: {
        metadata: { name: "carl-approves" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "approver" },
        subjects: ["carl", "dora"].map((name) => ({ apiGroup: "rbac.authorization.k8s.io", kind: "User", name })),
      },
    });
    const approveAs = (name: string, who: ApiClient, user: string): Promise<Reply> =>
      who(at(name, "/status"), {
        method: "PATCH",
        type: merge,
        body: { status: { accepted: true } },
        headers: { "impersonate-user": user },
      });
    const asCarl = (name: string, who: ApiClient): Promise<Reply> => approveAs(name, who, "carl");
    const spec = { pubKey: sshPublicKeyOf(machineKeys.p256.publicKey).text };
    await ada(stage.requests, { method: "POST", body: { metadata: { name: "by-way-of-carl" }, spec } });
    const own = await asCarl("by-way-of-carl", ada);
    expect([own.status, own.text]).toEqual([422, expect.stringContaining("on its own request")]);
    await stage.profile("pair", { namespace: "vms", approvers: 2 });
    await stage.ask("twice", { spec: { profile: "pair" } });
    const ben = stage.person("ben");
    expect((await stage.decide("twice", { accepted: true }, ben)).status).toBe(200);
    const again = await asCarl("twice", ben);
    expect([again.status, again.text]).toEqual([422, expect.stringContaining("ben approved it already")]);
    expect((await asCarl("twice", ada)).status).toBe(200);
    // The first approval through another is remembered as that of who stands behind it.
    await stage.ask("thrice", { spec: { profile: "pair" } });
    expect((await asCarl("thrice", ben)).status).toBe(200);
    const through = await approveAs("thrice", ben, "dora");
    expect([through.status, through.text]).toEqual([422, expect.stringContaining("ben approved it already")]);
    expect((await stage.decide("thrice", { accepted: true }, ben)).status).toBe(422);
    expect((await stage.decide("thrice", { accepted: true }, ada)).status).toBe(200);
  });

  it("is not decided by a machine that was let in, though its profile lets it approve", async () => {
    const roles = [{ kind: "ClusterRole", name: "approver", clusterWide: true }];
    await stage.profile("approving", { namespace: "vms", roles });
    const { machine } = await stage.let("robot", { spec: { profile: "approving" } });
    // Another request, one of the same key, its own.
    await stage.ask("accomplice", { spec: { pubKey: thiefText } });
    await stage.ask("robot-again");
    for (const [name, status] of [
      ["accomplice", { accepted: true }],
      ["robot-again", { accepted: true }],
      ["accomplice", { denied: true }],
      ["robot", { revoked: true }],
    ] as const) {
      const reply = await stage.decide(name, status, machine);
      expect([reply.status, reply.text]).toEqual([403, expect.stringContaining("those decide on none")]);
    }
    expect((await stage.decide("accomplice", { accepted: true }, ada)).status).toBe(200);
  });

  // What is not guaranteed is said in docs/access-requests.md.
  it("is decided by the person who asked for it without a credential, whom the API cannot know", async () => {
    await stage.ask("by-nobody");
    expect((await seen("by-nobody")).status?.evidence?.requester).toBe("system:anonymous");
    expect((await stage.decide("by-nobody", { accepted: true }, stage.nobody)).status).toBe(403);
    expect((await stage.decide("by-nobody", { accepted: true }, ada)).status).toBe(200);
  });

  it("is not decided by a machine that was let in", async () => {
    const { machine } = await stage.let("insider");
    await stage.ask("friend");
    expect((await stage.decide("friend", { accepted: true }, machine)).status).toBe(403);
    expect((await stage.decide("insider", { revoked: true }, machine)).status).toBe(403);
  });
});

describe("a name", () => {
  it("takes over no account that somebody else made", async () => {
    const made = await stage.admin(accounts, { method: "POST", body: { metadata: { name: "precious" } } });
    await stage.ask("precious");
    await stage.decide("precious", { accepted: true });
    const { status } = await stage.until("precious", isRefusedFor("AccountTaken"));
    expect(status?.token).toBeUndefined();
    expect((await stage.admin(`${accounts}/precious`)).object().metadata.uid).toBe(made.object().metadata.uid);
    await stage.decide("precious", { revoked: true });
    await stage.until(
      "precious",
      ({ status: now }) => now?.conditions?.some(({ type }) => type === "Revoked") === true,
    );
    expect((await stage.admin(`${accounts}/precious`)).status).toBe(200);
  });

  it("takes over no account that carries the labels and annotations of ours", async () => {
    await stage.ask("marked");
    const uid = (await seen("marked")).metadata.uid ?? "";
    const metadata = {
      name: "marked",
      annotations: { controller: "AccessRequest" },
      labels: { "access.pratique.dev/request-uid": uid },
    };
    await stage.admin(accounts, { method: "POST", body: { metadata } });
    await stage.decide("marked", { accepted: true });
    expect((await stage.until("marked", isRefusedFor("AccountTaken"))).status?.token).toBeUndefined();
  });

  it.each([
    ["RoleBinding", "heir-1", `${rbac}/namespaces/kube-system/rolebindings`, {}],
    ["ClusterRoleBinding", "heir-2", `${rbac}/clusterrolebindings`, {}],
    ["ClusterRoleBinding of a user", "heir-3", `${rbac}/clusterrolebindings`, { user: true }],
  ])("comes into no rights that a %s holds ready", async (_what, name, path, { user = false }: { user?: boolean }) => {
    const subject = user
      ? { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: `system:serviceaccount:vms:${name}` }
      : { kind: "ServiceAccount", namespace: "vms", name };
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" };
    const made = await stage.admin(path, {
      method: "POST",
      body: { metadata: { name }, subjects: [subject], roleRef },
    });
    expect(made.status).toBe(201);
    await stage.ask(name);
    await stage.decide(name, { accepted: true });
    expect((await stage.until(name, isRefusedFor("NameBound"))).status?.token).toBeUndefined();
    expect((await stage.admin(`${accounts}/${name}`)).status).toBe(404);
  });

  it("leads nowhere else", async () => {
    for (const name of ["../x", "a/b", "kube-system:admin", "A", "x".repeat(300), "%2e%2e"]) {
      expect((await stage.ask(name)).status).toBe(422);
    }
  });
});

describe("what another machine asked", () => {
  it("is of no use when it is asked again: whoever has not the key opens nothing", async () => {
    const { request } = await stage.let("victim");
    const again = await stage.ask("victim", { spec: request.spec });
    expect(again.status).toBe(409);
    await stage.ask("replayed", { spec: request.spec });
    await stage.decide("replayed", { accepted: true });
    const replayed = await stage.until("replayed");
    const { key = "", token = "", ca = "" } = replayed.status ?? {};
    await expect(
      openAnswer({ kind: "p256", key: thief.privateKey }, { key, token, ca }, sealBinding(replayed)),
    ).rejects.toThrow("not sealed to this key");
    // Nor can an answer be passed on as that to another request.
    const victim = { kind: "p256", key: machineKeys.p256.privateKey } as const;
    await expect(openAnswer(victim, { key, token, ca }, sealBinding(request))).rejects.toThrow(
      "not sealed to this key",
    );
    expect(replayed.status?.evidence?.earlierRequests).toBeGreaterThan(0);
  });

  it("has a proof that is good for its own name alone", async () => {
    const { fingerprint } = sshPublicKeyOf(machineKeys.p256.publicKey);
    const caPin = certificatesOfBundle(stage.hub.ca)[0]?.pin ?? "";
    const proof = provePossession(machineKeys.p256.privateKey, "p256", { name: "proven", fingerprint, caPin });
    expect((await stage.ask("unproven", { spec: { proof } })).status).toBe(403);
    expect((await stage.ask("proven", { spec: { proof, pubKey: thiefText } })).status).toBe(403);
    expect((await stage.ask("proven", { spec: { proof } })).status).toBe(201);
    expect(
      (await stage.until("proven", ({ status }) => status?.evidence?.possession !== undefined)).status,
    ).toMatchObject({ evidence: { possession: "Proven" } });
  });

  it("is read by name alone, and its sealed answer is useless to whoever reads it", async () => {
    const { request } = await stage.let("read");
    const found = await stage.nobody(at("read"));
    expect(found.text).not.toContain((await stage.open(request)).token);
    for (const query of ["", "?watch=true", "?fieldSelector=metadata.name=read", "?limit=1"]) {
      expect((await stage.nobody(`${stage.requests}${query}`)).status).toBe(403);
    }
    expect((await stage.nobody(`/apis/access.pratique.dev/v1alpha1/watch/accessrequests/read`)).status).toBe(403);
    expect((await stage.nobody(stage.profiles)).status).toBe(403);
  });
});

describe("what a request brings along", () => {
  it.each([
    ["finalizers", { finalizers: ["a.example/b"] }],
    ["owners", { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "a", uid: "b" }] }],
    ["labels that approvers select by", { labels: { rack: "7" } }],
    ["annotations of ours", { annotations: { "access.pratique.dev/is-default-profile": "true" } }],
    ["masses", { annotations: { a: "x".repeat(40_000) } }, 413],
    ["more values than a machine has to say", { finalizers: Array.from({ length: 1000 }, () => "a") }, 413],
  ])("is refused where it is %s", async (_what, metadata, status = 422) => {
    expect((await stage.ask("laden", { metadata })).status).toBe(status);
  });

  it("is bounded field by field", async () => {
    const claims = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`claim-${index}`, "x".repeat(10)]));
    for (const spec of [
      { hostname: "h".repeat(254) },
      { claims },
      { proof: "A".repeat(5000) },
      { pubKey: `${thiefText} ${"c".repeat(20_000)}` },
    ]) {
      expect((await stage.ask("wide", { spec })).status).toBe(422);
    }
  });

  it("is labelled by people, who then select by what they wrote", async () => {
    await stage.ask("labelled");
    const body = { metadata: { labels: { rack: "7" } } };
    expect((await stage.admin(at("labelled"), { method: "PATCH", type: merge, body })).status).toBe(200);
    const { text } = await ada(`${stage.requests}?labelSelector=rack%3D7`);
    expect(text).toContain('"labelled"');
  });
});

describe("a profile", () => {
  const grant = (name: string, spec: object): Promise<Reply> =>
    stage.admin(`${stage.profiles}/${name}`, { method: "PATCH", type: merge, body: { spec } });

  it("that is changed between two approvals makes the first one void", async () => {
    await stage.profile("moving", { namespace: "vms", approvers: 2 });
    await stage.ask("moved", { spec: { profile: "moving" } });
    await stage.decide("moved", { accepted: true }, ada);
    await grant("moving", { roles: [{ kind: "ClusterRole", name: "cluster-admin", clusterWide: true }] });
    expect((await stage.decide("moved", { accepted: true }, stage.person("ben"))).object()).not.toHaveProperty(
      "status.accepted",
    );
    expect((await stage.decide("moved", { accepted: true }, ada)).object()).toHaveProperty("status.accepted", true);
  });

  it("that is changed after the approval grants nothing more", async () => {
    await stage.profile("late", { namespace: "nowhere-yet" });
    await stage.ask("delayed", { spec: { profile: "late" } });
    // There is no such namespace yet, so that the answer has to wait.
    await stage.decide("delayed", { accepted: true }, ada);
    const roles = [{ kind: "ClusterRole", name: "cluster-admin", clusterWide: true }];
    await grant("late", { namespace: "vms", roles });
    expect((await stage.until("delayed", isRefusedFor("ProfileChanged"))).status?.token).toBeUndefined();
    expect((await stage.admin(`${accounts}/delayed`)).status).toBe(404);
  });
});

describe("the token of a machine", () => {
  const renewal = (name: string): string => `${accounts}/${name}/token`;
  const tokenIn = (reply: Reply): string => (reply.json()["status"] as { readonly token: string }).token;

  it("is renewed for no longer than its profile says, for nobody else, bound to nothing", async () => {
    await stage.profile("short", { namespace: "vms", tokenSeconds: 600, audiences: [] });
    const { machine } = await stage.let("renews", { spec: { profile: "short" } });
    for (const spec of [{}, { expirationSeconds: 31_536_000 }, { expirationSeconds: 600 }]) {
      const { exp, iat } = claimsOf(tokenIn(await machine(renewal("renews"), { method: "POST", body: { spec } })));
      expect(exp - iat).toBe(600);
    }
    const secret = { metadata: { name: "bound", namespace: "vms" } };
    await stage.admin("/api/v1/namespaces/vms/secrets", { method: "POST", body: secret });
    for (const spec of [
      { audiences: ["vault"] },
      { audiences: ["https://kubernetes.default.svc", "vault"] },
      { boundObjectRef: { kind: "Secret", apiVersion: "v1", name: "bound" } },
    ]) {
      expect((await machine(renewal("renews"), { method: "POST", body: { spec } })).status).toBe(403);
    }
    expect((await machine(renewal("default"), { method: "POST", body: { spec: {} } })).status).toBe(403);
  });

  it("is for the audiences of the profile when it is renewed too", async () => {
    const audiences = ["https://kubernetes.default.svc", "registry.example"];
    await stage.profile("aimed", { namespace: "vms", audiences });
    const { machine } = await stage.let("aims", { spec: { profile: "aimed" } });
    const ask = (spec: object): Promise<Reply> => machine(renewal("aims"), { method: "POST", body: { spec } });
    expect(claimsOf(tokenIn(await ask({}))).aud).toEqual(audiences);
    expect(claimsOf(tokenIn(await ask({ audiences: ["registry.example"] }))).aud).toEqual(["registry.example"]);
    expect((await ask({ audiences: ["other.example"] })).status).toBe(403);
  });

  it("is renewed no more once the profile is gone", async () => {
    await stage.profile("brief", { namespace: "vms" });
    const { machine } = await stage.let("stays", { spec: { profile: "brief" } });
    await stage.admin(`${stage.profiles}/brief`, { method: "DELETE" });
    expect((await machine(renewal("stays"), { method: "POST", body: { spec: {} } })).status).toBe(403);
  });

  it.each([
    ["revoked", (name: string) => stage.decide(name, { revoked: true })],
    ["deleted", (name: string) => stage.admin(at(name), { method: "DELETE" })],
  ])(
    "is good for nothing once its request is %s, and neither is one that was renewed, nor an open watch",
    async (how, act) => {
      const name = `cut-${how}`;
      const { machine } = await stage.let(name);
      const renewed = stage.as(tokenIn(await machine(renewal(name), { method: "POST", body: { spec: {} } })));
      const watches = await Promise.all(
        [machine, renewed].map((client) => client.stream("/api/v1/namespaces/vms/configmaps?watch=true")),
      );
      await act(name);
      // A watch that is cut ends; its client comes back and is told 401.
      for (const watch of watches) await watch.rest();
      for (const client of [machine, renewed]) {
        expect((await client("/api/v1/namespaces/vms/pods")).status).toBe(401);
        expect((await client(renewal(name), { method: "POST", body: { spec: {} } })).status).toBe(401);
      }
    },
  );

  it("does not come back with a request of the same name", async () => {
    const { machine, request } = await stage.let("again");
    const gone = await stage.admin.stream(`${accounts}?watch=true&fieldSelector=metadata.name=again`);
    await stage.admin(at("again"), { method: "DELETE" });
    while ((await gone.next()).type !== "DELETED");
    gone.close();
    const next = await stage.let("again");
    expect(next.request.metadata.uid).not.toBe(request.metadata.uid);
    expect((await machine("/api/v1/namespaces/vms/pods")).status).toBe(401);
    expect((await next.machine("/api/v1/namespaces/vms/pods")).status).toBe(200);
  });
});

describe("a body without end", () => {
  it("is cut off", async () => {
    const endless = { metadata: { name: "endless" }, spec: { pubKey: "x".repeat(4 * 1024 * 1024) } };
    const reply = await stage.nobody(stage.requests, { method: "POST", body: endless });
    expect(reply.status).toBe(413);
    expect((await stage.ask("small")).status).toBe(201);
    expect(isReady(await seen("small"))).toBe(false);
  });
});
