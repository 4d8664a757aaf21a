import { randomBytes, X509Certificate, type KeyObject } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createCa } from "../../src/pki/ca.ts";
import { createCsr } from "../../src/pki/csr.ts";
import { exportSec1Pem, generatePrivateKey } from "../../src/pki/keys.ts";
import { parseCertificate, malleatedCertificate } from "../../src/pki/parse-certificate.ts";
import { encodePem } from "../../src/pki/pem.ts";
import { bootstrapSecret } from "../kits/bootstrap-secret.ts";
import { eventually } from "../kits/peers-process.ts";
import type { Dial } from "../kits/wire.ts";
import { call, clientOf, identity, startAttackedHub, type ApiReply, type AttackedHub } from "./attacked-hub.ts";

const hour = 3_600_000;
const day = 24 * hour;
const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const access = "/apis/access.pratique.dev/v1alpha1";
const clientSigner = "kubernetes.io/kube-apiserver-client-kubelet";

let hub: AttackedHub;
let ahead = 0;

beforeAll(async () => {
  hub = await startAttackedHub({ clusterSigningDurationSeconds: 3600 });
});
afterAll(() => hub.close());

/** Lets time pass on the hub, for all tests that follow. */
function pass(ms: number): void {
  hub.shiftClock(ms);
  ahead += ms;
}

/** As the operator, whose token does not end. */
function ask(request: Parameters<typeof call>[2]): Promise<ApiReply> {
  return call(hub, {}, { ...request, headers: [["Authorization", `Bearer ${hub.tokens["operator"]}`]] });
}

let count = 0;

interface Csr {
  readonly commonName?: string;
  readonly organizations?: readonly string[];
  readonly signerName?: string;
  readonly usages?: readonly string[];
  readonly metadata?: object;
  readonly key?: KeyObject;
  readonly dnsNames?: readonly string[];
}

interface Asked extends ApiReply {
  readonly name: string;
  readonly key: KeyObject;
}

async function post(dial: Dial, node: string, csr: Csr = {}, headers: [string, string][] = []): Promise<Asked> {
  const { key = generatePrivateKey(), signerName = clientSigner, metadata = {} } = csr;
  const { commonName = `system:node:${node}`, organizations = ["system:nodes"], dnsNames = [] } = csr;
  const { usages = ["digital signature", "client auth"] } = csr;
  const pem = createCsr({ key, commonName, organizations, dnsNames, ipAddresses: [] });
  const name = `r-${(count += 1)}`;
  const spec = { request: Buffer.from(pem).toString("base64"), signerName, usages };
  return {
    ...(await call(hub, dial, { path: requests, body: { metadata: { name, ...metadata }, spec }, headers })),
    name,
    key,
  };
}

interface CsrObject {
  readonly status?: {
    readonly certificate?: string;
    readonly conditions?: readonly { readonly type: string; readonly reason: string; readonly message: string }[];
  };
}

async function stored(name: string): Promise<NonNullable<CsrObject["status"]>> {
  return ((await ask({ path: `${requests}/${name}` })).json as CsrObject).status ?? {};
}

/** What became of a request: its certificate, or the reason of the condition that says why there is none yet. */
async function outcome(name: string): Promise<string> {
  return eventually(`an outcome of ${name}`, async () => {
    const { certificate, conditions = [] } = await stored(name);
    if (certificate !== undefined) return certificate;
    return conditions.find(({ type }) => type === "Returning" || type === "Failed")?.reason;
  });
}

async function answered({ name, key, status }: Asked): Promise<Dial> {
  expect(status).toBe(201);
  const certificate = await eventually(`the certificate of ${name}`, async () => (await stored(name)).certificate);
  const dial = { cert: Buffer.from(certificate, "base64").toString("latin1"), key: exportSec1Pem(key) };
  await eventually("the record of it", async () => (await issued(`csr/${name}`)) || undefined);
  return dial;
}

async function issued(request: string): Promise<boolean> {
  return (await ask({ path: `${access}/issuedcredentials` })).text.includes(`"${request}"`);
}

/** A node that the hub has let in, with the certificate that it was given. */
async function enrolled(): Promise<{ readonly node: string; readonly dial: Dial }> {
  const node = `n-${(count += 1)}`;
  const first = clientOf(hub.authority, {
    commonName: `system:node:${node}`,
    organizations: ["system:nodes"],
    notAfter: Date.now() + ahead + hour,
  });
  const dial = await answered(await post(first, node));
  return { node, dial };
}

/** The same, when its certificate has expired. */
async function away(ms = 2 * hour): Promise<{ readonly node: string; readonly dial: Dial }> {
  const one = await enrolled();
  pass(ms);
  return one;
}

async function policy(spec: object): Promise<() => Promise<void>> {
  const name = `p-${(count += 1)}`;
  expect((await ask({ path: `${access}/recoverypolicies`, body: { metadata: { name }, spec } })).status).toBe(201);
  return async () => void (await ask({ method: "DELETE", path: `${access}/recoverypolicies/${name}` }));
}

/** The name is in use, so that a person has to let the second machine in. */
async function approveByHand(name: string): Promise<void> {
  const body = { status: { conditions: [{ type: "Approved", status: "True", reason: "Test", message: "by hand" }] } };
  const path = `${requests}/${name}/approval`;
  const type = "application/strategic-merge-patch+json";
  expect((await ask({ method: "PATCH", path, body, type })).status).toBe(200);
}

async function revoke(spec: object): Promise<string> {
  const name = `v-${(count += 1)}`;
  expect((await ask({ path: `${access}/credentialrevocations`, body: { metadata: { name }, spec } })).status).toBe(201);
  return name;
}

/** Any certificate of the hub's CA, expired for so long by the hub's clock. */
function expired(agoMs: number, commonName: string, ...organizations: string[]): Dial {
  const now = Date.now() + ahead;
  return clientOf(hub.authority, { commonName, organizations, notBefore: now - agoMs - hour, notAfter: now - agoMs });
}

const version = async (dial: Dial, headers: [string, string][] = []): Promise<number> =>
  (await call(hub, dial, { path: "/version", headers })).status;

describe("an expired certificate", () => {
  test("is nothing where it is not of a node, of this CA, or was given back", async () => {
    const other = createCa({
      commonName: "pratique",
      key: generatePrivateKey(),
      now: Date.now(),
      years: 1,
      random: randomBytes,
    });
    const node = { commonName: "system:node:x", organizations: ["system:nodes"] };
    const past = { notBefore: Date.now() - 2 * hour, notAfter: Date.now() - hour };
    expect(await version(expired(hour, "system:node:x", "system:nodes"))).toBe(200);
    expect(await identity(hub, clientOf(other, { ...node, ...past }))).toBe("401");
    expect(await identity(hub, expired(hour, "ann", "system:masters"))).toBe("401");
    expect(await identity(hub, expired(hour, "system:node:x", "system:nodes", "system:masters"))).toBe("401");
    expect(await identity(hub, expired(hour, "system:node:x"))).toBe("401");
    expect(await identity(hub, expired(hour, "system:node:", "system:nodes"))).toBe("401");
    expect(await identity(hub, expired(hour, "system:nodes", "system:nodes"))).toBe("401");
    expect(await identity(hub, expired(401 * day, "system:node:x", "system:nodes"))).toBe("401");
    const usages = ["digital signature", "server auth"];
    expect(await identity(hub, clientOf(hub.authority, { ...node, ...past, usages }))).toBe("401");
    const later = { notBefore: Date.now() + ahead + hour, notAfter: Date.now() + ahead + 2 * hour };
    expect(await identity(hub, clientOf(hub.authority, { ...node, ...later }))).toBe("401");
  });

  test("of a node that is revoked, or that is revoked itself, is 401 at the door", async () => {
    const one = expired(hour, "system:node:gone", "system:nodes");
    expect(await version(one)).toBe(200);
    await revoke({ user: "system:node:gone" });
    expect(await version(one)).toBe(401);
    const { dial } = await away();
    expect(await version(dial)).toBe(200);
    const { X509Certificate } = await import("node:crypto");
    const fingerprint = new X509Certificate(dial.cert ?? "").fingerprint256.replaceAll(":", "").toLowerCase();
    await revoke({ fingerprint });
    expect(await version(dial)).toBe(401);
  });

  test("lends nothing to another credential beside it, and takes nothing from it", async () => {
    const dial = expired(hour, "system:node:x", "system:nodes");
    const bearer = (token: string): [string, string][] => [["Authorization", `Bearer ${token}`]];
    expect(await version(dial, bearer("no-such-token"))).toBe(401);
    expect(await identity(hub, dial, bearer(hub.tokens["nobody"]))).toMatch(/^nobody/);
    expect(await version(dial)).toBe(200);
    expect(await identity(hub, dial, bearer(hub.tokens["nobody"]))).toMatch(/^nobody/);
  });

  test("is counted by the hub's clock, on a connection and session of before as well", async () => {
    const now = Date.now() + ahead;
    const dial = clientOf(hub.authority, {
      commonName: "system:node:short",
      organizations: ["system:nodes"],
      notAfter: now + 5 * 60_000,
    });
    expect(await identity(hub, dial)).toContain("system:node:short (system:nodes system:authenticated)");
    pass(6 * 60_000);
    expect(await identity(hub, dial)).toMatch(/^403 /);
    pass(401 * day);
    expect(await identity(hub, dial)).toBe("401");
    pass(-401 * day);
  });
});

describe("whoever comes back", () => {
  const name = "system:node:back";
  const dial = (): Dial => expired(hour, name, "system:nodes");

  test.each([
    ["GET", "/api/v1/nodes/back"],
    ["GET", "/api/v1/nodes"],
    ["GET", "/api/v1/secrets"],
    ["GET", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"],
    ["GET", "/api/v1/namespaces/kube-public/configmaps"],
    ["PUT", "/api/v1/namespaces/kube-public/configmaps/cluster-info"],
    ["GET", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/back"],
    ["GET", requests],
    ["GET", `${requests}?fieldSelector=metadata.name!%3Dx`],
    ["GET", `${requests}?fieldSelector=spec.signerName%3D${encodeURIComponent(clientSigner)}`],
    ["GET", `${requests}?watch=true`],
    ["GET", `${requests}/x/approval`],
    ["PUT", `${requests}/x/approval`],
    ["PATCH", `${requests}/x`],
    ["DELETE", `${requests}/x`],
    ["DELETE", requests],
    ["GET", `${access}/recoverypolicies`],
    ["GET", `${access}/accessrequests/x`],
    ["POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews"],
    ["POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"],
    ["POST", "/apis/authentication.k8s.io/v1/tokenreviews"],
    ["POST", "/api/v1/namespaces/default/serviceaccounts/default/token"],
    ["GET", "/metrics"],
    ["GET", "/apis"],
    ["GET", "/openapi/v2"],
    ["GET", "/revocations"],
  ])("may not %s %s", async (method, path) => {
    const body = method === "GET" || method === "DELETE" ? undefined : {};
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    expect((await call(hub, dial(), { method, path, body, type })).status).toBe(403);
  });

  test("may look at its requests by name, and at what everybody may see", async () => {
    const status = async (path: string): Promise<number> => (await call(hub, dial(), { path })).status;
    expect(await status(`${requests}/x`)).toBe(404);
    expect(await status(`${requests}?fieldSelector=metadata.name%3Dx`)).toBe(200);
    for (const path of ["/version", "/healthz", "/livez", "/readyz"]) expect(await status(path)).toBe(200);
    expect(await status("/api/v1/namespaces/kube-public/configmaps/cluster-info")).toBe(200);
  });

  test("is nobody else by headers", async () => {
    for (const [key, value] of [
      ["Impersonate-User", name],
      ["X-Remote-User", "kubernetes-admin"],
    ] as const) {
      const reply = await call(hub, dial(), { path: "/api/v1/nodes/back", headers: [[key, value]] });
      expect(reply.status).toBe(403);
    }
  });

  test("asks for its own client certificate only, with little beside it", async () => {
    const serving = { signerName: "kubernetes.io/kubelet-serving", usages: ["digital signature", "server auth"] };
    for (const csr of [
      { commonName: "system:node:other" },
      { commonName: "system:node:back " },
      { commonName: "system:node:BACK" },
      { commonName: `pratique:returning:${name}` },
      { organizations: ["system:nodes", "system:masters"] },
      { organizations: ["system:masters"] },
      { signerName: "kubernetes.io/kube-apiserver-client" },
      { signerName: "example.com/any" },
      { usages: ["digital signature", "client auth", "cert sign"] },
      { dnsNames: ["kubernetes.default"] },
      { ...serving, dnsNames: ["back"] },
    ])
      expect([csr, (await post(dial(), "back", csr)).status]).toEqual([csr, 403]);
    for (const metadata of [
      { finalizers: ["example.com/x"] },
      { labels: { a: "b" } },
      { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "a", uid: "u" }] },
      { annotations: { big: "x".repeat(40_000) } },
    ])
      expect((await post(dial(), "back", { metadata })).status).toBe(422);
  });

  test("has two requests open and no more, whatever certificate it brings", async () => {
    const statuses = [];
    for (let at = 0; at < 4; at += 1) statuses.push((await post(dial(), "back")).status);
    expect(statuses).toEqual([201, 201, 429, 429]);
    expect((await post(expired(hour, "system:node:front", "system:nodes"), "front")).status).toBe(201);
  });

  test("is nobody that names itself so", async () => {
    const valid = { notAfter: Date.now() + ahead + hour };
    const user = `pratique:returning:${name}`;
    expect(
      await identity(hub, clientOf(hub.authority, { commonName: user, organizations: ["system:nodes"], ...valid })),
    ).toBe("401");
    expect(
      await identity(
        hub,
        clientOf(hub.authority, { commonName: "x", organizations: ["pratique:returning"], ...valid }),
      ),
    ).toBe("401");
  });
});

describe("a policy", () => {
  test("is needed: without one a person decides, who is told the history", async () => {
    const { node, dial } = await away();
    const asked = await post(dial, node);
    expect(await outcome(asked.name)).toBe("NoPolicy");
    expect((await stored(asked.name)).conditions?.[0]?.message).toMatch(/known since .*, 1 issued, last seen /);
    const remove = await policy({ nodeNames: [node] });
    await answered(asked);
    await remove();
  });

  test("lets in nobody of whom there is no record, though the CA has signed", async () => {
    const remove = await policy({ nodeNames: ["*"] });
    const stranger = await post(expired(hour, "system:node:made-up", "system:nodes"), "made-up");
    expect(await outcome(stranger.name)).toBe("NoRecord");
    const { node, dial } = await away();
    // A record of the node, and not of this certificate.
    const forged = await post(expired(hour, `system:node:${node}`, "system:nodes"), node);
    expect(await outcome(forged.name)).toBe("NoRecord");
    await ask({ method: "DELETE", path: `${access}/issuedcredentials/client.node.${node}` });
    expect(await outcome((await post(dial, node)).name)).toBe("NoRecord");
    await remove();
  });

  test("counts the window by the hub's clock, the networks as the hub sees them, and other nodes not", async () => {
    const { node, dial } = await away(3 * hour);
    const removes = [
      await policy({ nodeNames: [node], windowSeconds: 3600 }),
      await policy({ nodeNames: [node], networks: ["10.20.0.0/16", "::/128"] }),
      await policy({ nodeNames: [`${node}x`, `x${node}`, `${node}*`, `*${node}`] }),
    ];
    const asked = await post(dial, node, {}, [
      ["X-Forwarded-For", "10.20.0.1"],
      ["Date", new Date(Date.now() - day).toUTCString()],
    ]);
    expect(await outcome(asked.name)).toBe("OutsidePolicy");
    const said = (await stored(asked.name)).conditions?.[0]?.message;
    expect(said).toMatch(/more than 60m ago/);
    expect(said).toMatch(/comes from 127\.0\.0\.1, which is in none of the allowed networks/);
    for (const remove of removes) await remove();
  });

  test("is good for its number of times, also for requests that come together", async () => {
    const { node, dial } = await away();
    const remove = await policy({ nodeNames: [node], times: 1 });
    const [one, other] = await Promise.all([post(dial, node), post(dial, node)]);
    const outcomes = [await outcome(one.name), await outcome(other.name)];
    expect(outcomes.filter((text) => text.length > 100)).toHaveLength(1);
    expect(outcomes.filter((text) => text === "OutsidePolicy")).toHaveLength(1);
    await ask({ method: "DELETE", path: `${requests}/${one.name}` });
    await ask({ method: "DELETE", path: `${requests}/${other.name}` });
    const again = await post(dial, node);
    expect(await outcome(again.name)).toBe("OutsidePolicy");
    await remove();
  });

  test("does not save what was revoked after it had asked, nor does a person's yes", async () => {
    const { node, dial } = await away();
    const asked = await post(dial, node);
    expect(await outcome(asked.name)).toBe("NoPolicy");
    await revoke({ user: `system:node:${node}` });
    const remove = await policy({ nodeNames: [node] });
    const conditions = [{ type: "Approved", status: "True", reason: "ByHand", message: "" }];
    const type = "application/merge-patch+json";
    await ask({ method: "PATCH", path: `${requests}/${asked.name}/approval`, type, body: { status: { conditions } } });
    expect(await outcome(asked.name)).toBe("RequesterRevoked");
    await remove();
  });

  test("approves nothing that somebody else repeats", async () => {
    const { node, dial } = await away();
    const remove = await policy({ nodeNames: [node] });
    const asked = await post(dial, node);
    const next = await answered(asked);
    // With the key of the real machine in the request and no credential, or another one.
    expect((await post({}, node, { key: asked.key })).status).toBe(403);
    const thief = await post(
      clientOf(hub.authority, { commonName: "thief", notAfter: Date.now() + ahead + hour }),
      node,
      { key: asked.key },
    );
    expect(thief.status).toBe(403);
    expect(await identity(hub, next)).toContain(`system:node:${node}`);
    await remove();
  });
});

describe("a key that was copied", () => {
  test("before a renewal locks out both, tells it, and leaves the name to whoever is set up anew", async () => {
    const { node, dial } = await enrolled();
    const next = await answered(await post(dial, node));
    expect(await identity(hub, next)).toContain(node);
    // The old one goes on with other things: programs hold old connections.
    expect(await identity(hub, dial)).toContain(node);
    // Within a minute programs of one machine may still speak by the one before.
    pass(2 * 60_000);
    const theft = await post(dial, node);
    expect(theft.status).toBe(201);
    await eventually("both to be out", async () =>
      (await version(dial)) === 401 && (await version(next)) === 401 ? true : undefined,
    );
    expect((await stored(theft.name)).certificate).toBeUndefined();
    const list = (await ask({ path: `${access}/credentialrevocations` })).json["items"] as readonly {
      readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
    }[];
    const clones = list.filter(
      ({ metadata }) => metadata.annotations?.["access.pratique.dev/cloned"] === `system:node:${node}`,
    );
    expect(clones).toHaveLength(2);
    // Told once both are out.
    await eventually("an Event", async () => {
      const { text } = await ask({ path: "/api/v1/namespaces/default/events" });
      return text.includes(`Two machines hold system:node:${node}`) || undefined;
    });
    expect((await ask({ path: "/metrics" })).text).toContain("pratique_cloned_identities 1");
    const anew = clientOf(hub.authority, {
      commonName: `system:node:${node}`,
      organizations: ["system:nodes"],
      notAfter: Date.now() + ahead + hour,
    });
    expect(await identity(hub, anew)).toContain(node);
    expect((await stored(theft.name)).certificate).toBeUndefined();
  });

  test("does not hide behind a certificate whose signature is written in its other form", async () => {
    const { node, dial } = await enrolled();
    const { cert = "" } = dial;
    const malleated = malleatedCertificate(parseCertificate(new X509Certificate(cert).raw), "p256") ?? new Uint8Array();
    const altered = { ...dial, cert: encodePem("CERTIFICATE", malleated) };
    // The records would not know with which certificate it asks.
    expect((await post(altered, node)).status).toBe(401);
    pass(2 * hour);
    expect((await post(altered, node)).status).toBe(401);
    expect((await post(dial, node)).status).toBe(201);
  });

  test("is not forgotten for requests of the machine itself that are repeated until its record is full", async () => {
    const { node, dial } = await enrolled();
    const request = await post(dial, node);
    const next = await answered(request);
    expect(await identity(hub, next)).toContain(node);
    // Any node may read the request, which proves a key that whoever repeats it has not.
    for (let round = 0; round < 9; round += 1) await answered(await post(dial, node, { key: request.key }));
    pass(2 * 60_000);
    const theft = await post(dial, node);
    await eventually("both to be out", async () =>
      (await version(dial)) === 401 && (await version(next)) === 401 ? true : undefined,
    );
    expect((await stored(theft.name)).certificate).toBeUndefined();
  });

  test("and whose machine was renewed since, comes back to nothing when it has expired, and locks out both", async () => {
    const { node, dial } = await enrolled();
    const remove = await policy({ nodeNames: [node] });
    const next = await answered(await post(dial, node));
    expect(await identity(hub, next)).toContain(node);
    pass(2 * hour);
    const theft = await post(dial, node);
    expect(theft.status).toBe(201);
    await eventually("both to be out", async () =>
      (await version(dial)) === 401 && (await version(next)) === 401 ? true : undefined,
    );
    expect((await stored(theft.name)).certificate).toBeUndefined();
    await remove();
  });

  test("or a name that two machines joined under is found when the first of them renews", async () => {
    const id = randomBytes(3).toString("hex");
    expect((await ask({ path: "/api/v1/namespaces/kube-system/secrets", body: bootstrapSecret(id) })).status).toBe(201);
    const node = `n-${(count += 1)}`;
    const bearer: [string, string][] = [["Authorization", `Bearer ${id}.0123456789abcdef`]];
    const first = await answered(await post({}, node, {}, bearer));
    expect(await identity(hub, first)).toContain(node);
    const other = await post({}, node, {}, bearer);
    await approveByHand(other.name);
    const second = await answered(other);
    expect(await identity(hub, second)).toContain(node);
    pass(2 * 60_000);
    await post(first, node);
    await eventually("both to be out", async () =>
      (await version(first)) === 401 && (await version(second)) === 401 ? true : undefined,
    );
  });

  test("one of the two can be let go on, and the other stays out", async () => {
    const { node, dial } = await enrolled();
    const next = await answered(await post(dial, node));
    expect(await identity(hub, next)).toContain(node);
    pass(2 * 60_000);
    await post(dial, node);
    await eventually("both to be out", async () =>
      (await version(dial)) === 401 && (await version(next)) === 401 ? true : undefined,
    );
    const { X509Certificate } = await import("node:crypto");
    const fingerprint = new X509Certificate(next.cert ?? "").fingerprint256.replaceAll(":", "").toLowerCase();
    await ask({ method: "DELETE", path: `${access}/credentialrevocations/clone-${fingerprint.slice(0, 40)}` });
    const third = await answered(await post(next, node));
    expect(await identity(hub, third)).toContain(node);
    expect(await version(dial)).toBe(401);
  });

  test("is not suspected while programs of one machine still move to the later one", async () => {
    const { node, dial } = await enrolled();
    const next = await answered(await post(dial, node));
    expect(await identity(hub, next)).toContain(node);
    const third = await answered(await post(dial, node));
    expect(await identity(hub, third)).toContain(node);
    expect([await version(dial), await version(next)]).toEqual([200, 200]);
  });

  test("is not suspected where an answer was lost, or the key with it", async () => {
    const { node, dial } = await enrolled();
    const lost = await post(dial, node);
    await answered(lost);
    // The same key again, though its answer was used once: the machine stopped before it wrote it down.
    expect(await version(await answered({ ...lost, ...(await post(dial, node, { key: lost.key })) }))).toBe(200);
    const another = await enrolled();
    await answered(await post(another.dial, another.node));
    await answered(await post(another.dial, another.node));
    expect(await version(another.dial)).toBe(200);
    expect(await version(dial)).toBe(200);
  });
});
