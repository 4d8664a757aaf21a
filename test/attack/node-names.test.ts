import { X509Certificate, type KeyObject } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createCsr } from "../../src/pki/csr.ts";
import { exportSec1Pem, generatePrivateKey } from "../../src/pki/keys.ts";
import { bootstrapSecret } from "../kits/bootstrap-secret.ts";
import { eventually } from "../kits/peers-process.ts";
import { retryOnConflict } from "../kits/retry-on-conflict.ts";
import type { Dial } from "../kits/wire.ts";
import { call, identity, startAttackedHub, type ApiReply, type AttackedHub } from "./attacked-hub.ts";

const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const access = "/apis/access.pratique.dev/v1alpha1";
const kubelet = "kubernetes.io/kube-apiserver-client-kubelet";
const joining = "system:bootstrappers:kubeadm:default-node-token";
const minute = 60_000;

let hub: AttackedHub;
/** The Authorization header of a first token holder, and of a second one. */
let first: string;
let second: string;

beforeAll(async () => {
  hub = await startAttackedHub();
  first = await tokenHolder(hub, "aaaaaa");
  second = await tokenHolder(hub, "bbbbbb");
});
afterAll(() => hub.close());

/** As the operator, whose token does not end. */
function operator(at: AttackedHub, request: Parameters<typeof call>[2]): Promise<ApiReply> {
  return call(at, {}, { ...request, headers: [["Authorization", `Bearer ${at.tokens["operator"]}`]] });
}

async function tokenHolder(at: AttackedHub, id: string, group = joining): Promise<string> {
  const path = "/api/v1/namespaces/kube-system/secrets";
  expect((await operator(at, { path, body: bootstrapSecret(id, group) })).status).toBe(201);
  return `Bearer ${id}.0123456789abcdef`;
}

interface Wish {
  readonly key?: KeyObject;
  readonly organizations?: readonly string[];
  readonly commonName?: string;
  readonly usages?: readonly string[];
  readonly signerName?: string;
  readonly metadata?: object;
  readonly at?: AttackedHub;
}

let count = 0;

interface Asked extends ApiReply {
  readonly name: string;
  readonly key: KeyObject;
}

async function ask(by: string | Dial, node: string, wish: Wish = {}): Promise<Asked> {
  const { key = generatePrivateKey(), organizations = ["system:nodes"], signerName = kubelet, at = hub } = wish;
  const { commonName = `system:node:${node}`, usages = ["digital signature", "client auth"], metadata = {} } = wish;
  const pem = createCsr({ key, commonName, organizations });
  const name = `r-${(count += 1)}`;
  const body = {
    metadata: { name, ...metadata },
    spec: { request: Buffer.from(pem).toString("base64"), signerName, usages },
  };
  const [dial, headers]: [Dial, [string, string][]] = typeof by === "string" ? [{}, [["Authorization", by]]] : [by, []];
  const reply = await call(at, dial, { path: requests, body, headers });
  expect([reply.status, reply.status === 201 ? "" : reply.text]).toEqual([201, ""]);
  return { ...reply, name, key };
}

interface Stored {
  readonly status?: {
    readonly certificate?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
    }[];
  };
}

async function stored(name: string, at = hub): Promise<NonNullable<Stored["status"]>> {
  return ((await operator(at, { path: `${requests}/${name}` })).json as Stored).status ?? {};
}

/** `issued`, `failed`, or where it is left to an approver `in use` or `user revoked`. */
async function outcome(name: string, at = hub): Promise<string> {
  return eventually(`an outcome of ${name}`, async () => {
    const { certificate, conditions = [] } = await stored(name, at);
    if (certificate !== undefined) return "issued";
    const is = (type: string): boolean => conditions.some((one) => one.type === type && one.status === "True");
    if (is("Approved") && !is("Failed")) return undefined;
    if (is("Failed")) return "failed";
    if (conditions.some(({ reason }) => reason === "UserRevoked")) return "user revoked";
    return is("NameInUse") ? "in use" : undefined;
  });
}

async function credentialOf({ name, key }: Asked): Promise<Dial> {
  expect(await outcome(name)).toBe("issued");
  const { certificate = "" } = await stored(name);
  return { cert: Buffer.from(certificate, "base64").toString("latin1"), key: exportSec1Pem(key) };
}

let machines = 0;

/** A machine that is in, under a name that no other test uses. */
async function machine(): Promise<{ readonly node: string; readonly asked: Asked; readonly dial: Dial }> {
  const node = `worker-${(machines += 1)}`;
  const asked = await ask(first, node);
  return { node, asked, dial: await credentialOf(asked) };
}

/** Anew where the hub has marked the request meanwhile. */
async function decide(name: string, type: "Approved" | "Denied"): Promise<void> {
  const path = `${requests}/${name}`;
  const reply = await retryOnConflict(async () => {
    const { json } = await operator(hub, { path });
    const status = (json as Stored).status ?? {};
    const conditions = [...(status.conditions ?? []), { type, status: "True", reason: "Test", message: "by hand" }];
    const body = { ...json, status: { ...status, conditions } };
    return operator(hub, { method: "PUT", path: `${path}/approval`, body });
  });
  expect(reply.status).toBe(200);
}

/** Gives the path of the revocation. */
async function revoke(spec: object): Promise<string> {
  const body = { metadata: { name: `v-${(count += 1)}` }, spec };
  const path = `${access}/credentialrevocations`;
  expect((await operator(hub, { path, body })).status).toBe(201);
  return `${path}/${body.metadata.name}`;
}

async function recorded({ name }: Asked): Promise<void> {
  await eventually(`the record of ${name}`, async () => {
    const { text } = await operator(hub, { path: `${access}/issuedcredentials` });
    return text.includes(`"csr/${name}"`) || undefined;
  });
}

describe("a node name whose certificate is good is not given to another key", () => {
  const attacks: readonly (readonly [string, (node: string) => Promise<Asked>])[] = [
    ["by the same token", (node) => ask(first, node)],
    ["by another token", (node) => ask(second, node)],
    [
      "with the other set of usages",
      (node) => ask(second, node, { usages: ["key encipherment", "digital signature", "client auth"] }),
    ],
    ["in upper case", (node) => ask(second, node, { commonName: `system:node:${node.toUpperCase()}` })],
    ["with labels and annotations", (node) => ask(second, node, { metadata: { labels: { a: "b" } } })],
  ];
  test.each(attacks)("%s", async (_title, attack) => {
    const { node, asked } = await machine();
    expect(await outcome((await attack(node)).name)).toBe("in use");
    await recorded(asked);
    // The same once only the record tells of it.
    expect((await operator(hub, { method: "DELETE", path: `${requests}/${asked.name}` })).status).toBe(200);
    expect(await outcome((await attack(node)).name)).toBe("in use");
  });

  test("as a client certificate that is no kubelet's, which a person is warned of", async () => {
    const { node } = await machine();
    const asked = await ask(second, node, { signerName: "kubernetes.io/kube-apiserver-client" });
    expect(await outcome(asked.name)).toBe("in use");
  });

  test("with another group in the subject it is not approved either, in use or not", async () => {
    const { node } = await machine();
    const asked = await ask(second, node, { organizations: ["system:nodes", "system:masters"] });
    expect(await outcome(asked.name)).toBe("in use");
  });

  test("by a token of another group, which approves nothing by itself", async () => {
    const { node } = await machine();
    const binding = {
      metadata: { name: "others-may-ask" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "system:node-bootstrapper" },
      subjects: [{ kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: "system:bootstrappers:others" }],
    };
    const path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    expect((await operator(hub, { path, body: binding })).status).toBe(201);
    const other = await tokenHolder(hub, "cccccc", "system:bootstrappers:others");
    expect(await outcome((await ask(other, node)).name)).toBe("in use");
  });

  test("nor may who asks write the mark away, or that it is free", async () => {
    const { node } = await machine();
    const { name } = await ask(second, node);
    expect(await outcome(name)).toBe("in use");
    const path = `${requests}/${name}/status`;
    const { json } = await operator(hub, { path: `${requests}/${name}` });
    const headers: [string, string][] = [["Authorization", second]];
    const reply = await call(hub, {}, { method: "PUT", path, body: { ...json, status: {} }, headers });
    expect(reply.status).toBe(403);
    expect(await outcome(name)).toBe("in use");
  });
});

describe("the name is not taken from whoever holds it", () => {
  test("the node itself renews with another key", async () => {
    const { node, dial } = await machine();
    expect(await outcome((await ask(dial, node)).name)).toBe("issued");
  });

  test("the same key asks again", async () => {
    const { node, asked } = await machine();
    expect(await outcome((await ask(second, node, { key: asked.key })).name)).toBe("issued");
  });

  test("a person lets the other key in", async () => {
    const { node } = await machine();
    const asked = await ask(second, node);
    expect(await outcome(asked.name)).toBe("in use");
    await decide(asked.name, "Approved");
    expect(await identity(hub, await credentialOf(asked))).toContain(`system:node:${node} `);
  });
});

describe("a name is held no longer than its credential", () => {
  test("not once the certificate is revoked", async () => {
    const { node, asked, dial } = await machine();
    const { certificate = "" } = await stored(asked.name);
    const { fingerprint256 } = new X509Certificate(Buffer.from(certificate, "base64"));
    await revoke({ fingerprint: fingerprint256.replaceAll(":", "").toLowerCase(), reason: "test" });
    expect(await identity(hub, dial)).toBe("401");
    expect(await outcome((await ask(second, node)).name)).toBe("issued");
  });

  test("but as long as it is good while the name alone is revoked, since that may be taken back", async () => {
    const { node } = await machine();
    const revocation = await revoke({ user: `system:node:${node}`, reason: "test" });
    expect(await outcome((await ask(second, node)).name)).toBe("user revoked");
    expect(await outcome((await ask(second, node.toUpperCase())).name)).toBe("user revoked");
    expect((await operator(hub, { method: "DELETE", path: revocation })).status).toBe(200);
    expect(await outcome((await ask(second, node)).name)).toBe("in use");
  });

  test("and the certificate of a revoked name is not issued by an approval either", async () => {
    const node = `worker-${(machines += 1)}`;
    await revoke({ user: `system:node:${node}`, reason: "test" });
    const asked = await ask(first, node);
    expect(await outcome(asked.name)).toBe("user revoked");
    await decide(asked.name, "Approved");
    expect(await outcome(asked.name)).toBe("failed");
    expect((await stored(asked.name)).certificate).toBeUndefined();
  });

  test("not by a request that was denied", async () => {
    const node = `worker-${(machines += 1)}`;
    const binding = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/kubeadm:node-autoapprove-bootstrap";
    const { json } = await operator(hub, { path: binding });
    expect((await operator(hub, { method: "DELETE", path: binding })).status).toBe(200);
    const denied = await ask(first, node);
    await decide(denied.name, "Denied");
    const { metadata, roleRef, subjects } = json as { metadata: { name: string }; roleRef: object; subjects: object };
    const again = { metadata: { name: metadata.name }, roleRef, subjects };
    const path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    expect((await operator(hub, { path, body: again })).status).toBe(201);
    expect(await outcome((await ask(second, node)).name)).toBe("issued");
  });
});

test("of many keys that ask for one name before any is approved, one alone is approved automatically", async () => {
  const at = await startAttackedHub({ nodeAutoapprove: false });
  try {
    const holders = await Promise.all(["eeeeee", "ffffff", "gggggg"].map((id) => tokenHolder(at, id)));
    const names: string[] = [];
    for (let number = 0; number < 24; number += 1) {
      const node = number % 2 === 0 ? "raced" : "RACED";
      names.push((await ask(holders[number % 3] ?? "", node, { at })).name);
    }
    // Now all of them may be approved, at once.
    const body = {
      metadata: { name: "autoapprove" },
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
      },
      subjects: [{ kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: joining }],
    };
    const path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    expect((await operator(at, { path, body })).status).toBe(201);
    const outcomes = await Promise.all(names.map((name) => outcome(name, at)));
    expect(outcomes.toSorted()).toEqual([...names.slice(1).map(() => "in use"), "issued"]);
  } finally {
    await at.close();
  }
});

test("requests of many keys that arrive together for one name let one in", async () => {
  const asked = await Promise.all(
    Array.from({ length: 24 }, (_, number) => ask(number % 2 === 0 ? first : second, "together")),
  );
  const outcomes = await Promise.all(asked.map(({ name }) => outcome(name)));
  expect(outcomes.toSorted()).toEqual([...asked.slice(1).map(() => "in use"), "issued"]);
});

test("a name is free once its certificate has ended", async () => {
  const { node } = await machine();
  hub.shiftClock(366 * 24 * 60 * minute);
  expect(await outcome((await ask(second, node)).name)).toBe("issued");
});

describe("a name that no Node can have, and that looks like that of another, is left to a person", () => {
  const lookAlikes: Readonly<Record<string, (node: string) => string>> = {
    "a blank at the end": (node) => `${node} `,
    "a dot at the end": (node) => `${node}.`,
    "a letter that is not seen": (node) => `${node}\u200b`,
    "a letter of another alphabet": (node) => node.replace("o", "\u043e"),
    "a mark that turns the direction of reading": (node) => `${node}\u202e`,
    "another subject behind it": (node) => `${node},O=system:masters`,
    "a path around it": (node) => `../${node}`,
    "a letter that becomes another in lower case": (node) => `free-${node.replace("k", "\u212a")}`,
    nothing: () => "",
  };
  test.each(Object.entries(lookAlikes))("%s", async (_title, alike) => {
    const { node } = await machine();
    const { name } = await ask(second, alike(node));
    const left = await eventually("a decision", async () => {
      const { certificate, conditions = [] } = await stored(name);
      if (certificate !== undefined) return "issued";
      return conditions.find(({ type }) => type === "NotApprovedAutomatically")?.message;
    });
    expect(left).toContain("no Node can have the name");
  });
});
