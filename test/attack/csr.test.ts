import { generateKeyPairSync, sign } from "node:crypto";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createCsr } from "../../src/pki/csr.ts";
import { derBitBytes, derElement, derOctets, derOid, derSequence, derUnsigned } from "../../src/pki/der-writer.ts";
import { generatePrivateKey, spkiOf } from "../../src/pki/keys.ts";
import { buildName } from "../../src/pki/names.ts";
import { oids } from "../../src/pki/oids.ts";
import { encodePem } from "../../src/pki/pem.ts";
import { parseCertificate } from "../../src/pki/parse-certificate.ts";
import { bootstrapSecret } from "../kits/bootstrap-secret.ts";
import { retryOnConflict } from "../kits/retry-on-conflict.ts";
import type { Dial } from "../kits/wire.ts";
import { call, identity, startAttackedHub, type ApiReply, type AttackedHub } from "./attacked-hub.ts";
import { checkHubAfterEach } from "./check-hub-after-each.ts";

const collection = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const client = "kubernetes.io/kube-apiserver-client";
const kubelet = "kubernetes.io/kube-apiserver-client-kubelet";
const serving = "kubernetes.io/kubelet-serving";
const clientUsages = ["digital signature", "client auth"];
const key = generatePrivateKey();

let hub: AttackedHub;
let bootstrap: readonly (readonly [string, string])[];

beforeAll(async () => {
  hub = await startAttackedHub();
  expectCreated(
    await call(hub, hub.admin, { path: "/api/v1/namespaces/kube-system/secrets", body: bootstrapSecret("abcdef") }),
  );
  bootstrap = [["Authorization", "Bearer abcdef.0123456789abcdef"]];
});
afterAll(() => hub.close());

function expectCreated(reply: ApiReply): void {
  expect([reply.status, reply.status === 201 ? "" : reply.text]).toEqual([201, ""]);
}

interface Asked {
  readonly name?: string;
  readonly commonName?: string;
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly signerName?: string;
  readonly usages?: readonly string[];
  readonly spec?: object;
  readonly request?: string;
}

let names = 0;

/** A request for the certificate of a node, unless told otherwise. */
function csrOf(asked: Asked = {}): { readonly name: string; readonly body: object } {
  names += 1;
  const {
    name = `csr-${names}`,
    commonName = "system:node:a",
    organizations = ["system:nodes"],
    dnsNames = [],
  } = asked;
  const pem = asked.request ?? createCsr({ key, commonName, organizations, dnsNames });
  const { signerName = kubelet, usages = clientUsages } = asked;
  return {
    name,
    body: {
      metadata: { name },
      spec: { request: Buffer.from(pem).toString("base64"), signerName, usages, ...asked.spec },
    },
  };
}

interface Stored {
  readonly spec: {
    readonly username: string;
    readonly groups: readonly string[];
    readonly uid?: string;
    readonly extra?: object;
    readonly signerName: string;
  };
  readonly status: {
    readonly certificate?: string;
    readonly conditions?: readonly { readonly type: string; readonly reason?: string; readonly message?: string }[];
  };
}

async function stored(name: string): Promise<Stored> {
  return (await call(hub, hub.admin, { path: `${collection}/${name}` })).json as unknown as Stored;
}

/** As the token user, or as whoever is given. */
async function ask(asked: Asked, dial?: Dial): Promise<{ readonly name: string; readonly reply: ApiReply }> {
  const { name, body } = csrOf(asked);
  return {
    name,
    reply: await call(hub, dial ?? {}, { path: collection, body, headers: dial === undefined ? bootstrap : [] }),
  };
}

/** Returns once a request that is made now has its certificate: whatever came before it was looked at. */
async function settled(): Promise<void> {
  const { name, reply } = await ask({ commonName: `system:node:settled-${names}` });
  expectCreated(reply);
  await expect.poll(async () => (await stored(name)).status.certificate).toBeDefined();
}

/** Returns once a request has its certificate, or the reason why it gets none. */
async function answered(name: string): Promise<void> {
  const isAnswered = async (): Promise<boolean> => {
    const found = await stored(name);
    return found.status.certificate !== undefined || types(found).includes("Failed");
  };
  await expect.poll(isAnswered).toBe(true);
}

function types({ status }: Stored): readonly string[] {
  return (status.conditions ?? []).map(({ type }) => type);
}

describe("a user of a bootstrap token", () => {
  test("gets the certificate of a node and nothing more", async () => {
    const { name, reply } = await ask({ commonName: "system:node:one" });
    expectCreated(reply);
    await answered(name);
    const { spec, status } = await stored(name);
    expect([spec.username, spec.groups]).toEqual([
      "system:bootstrap:abcdef",
      ["system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token", "system:authenticated"],
    ]);
    const pem = Buffer.from(status.certificate ?? "", "base64").toString();
    const dial = { cert: pem, key: key.export({ type: "pkcs8", format: "pem" }).toString() };
    expect(await identity(hub, dial)).toBe("system:node:one (system:nodes system:authenticated)");
  });

  test("cannot be somebody else in spec, nor bring its own approval or certificate", async () => {
    const { name, body } = csrOf({
      commonName: "system:node:two",
      signerName: serving,
      usages: ["digital signature", "server auth"],
      dnsNames: ["two"],
      spec: { username: "kubernetes-admin", uid: "0", groups: ["system:masters"], extra: { scopes: ["all"] } },
    });
    const conditions = [{ type: "Approved", status: "True", reason: "x", message: "y" }];
    const certificate = Buffer.from(hub.authority.pem).toString("base64");
    const reply = await call(
      hub,
      {},
      { path: collection, body: { ...body, status: { conditions, certificate } }, headers: bootstrap },
    );
    expectCreated(reply);
    await settled();
    const { spec, status } = await stored(name);
    expect([spec.username, spec.uid, spec.groups.includes("system:masters"), spec.extra]).toEqual([
      "system:bootstrap:abcdef",
      undefined,
      false,
      undefined,
    ]);
    expect(status).toEqual({});
  });

  test("cannot read secrets, approve, sign, change or delete requests, its own among them", async () => {
    const { name, reply } = await ask({ signerName: client, commonName: "jane", organizations: [] });
    expectCreated(reply);
    const before = await stored(name);
    const approved = {
      ...before,
      status: { conditions: [{ type: "Approved", status: "True", reason: "a", message: "b" }] },
    };
    const attempts: readonly (readonly [string, string, unknown])[] = [
      ["GET", "/api/v1/namespaces/kube-system/secrets", undefined],
      ["GET", "/api/v1/namespaces/kube-system/secrets/bootstrap-token-abcdef", undefined],
      ["GET", "/api/v1/secrets", undefined],
      ["PUT", `${collection}/${name}/approval`, approved],
      ["PUT", `${collection}/${name}/status`, approved],
      ["PUT", `${collection}/${name}`, approved],
      ["PATCH", `${collection}/${name}`, { metadata: { labels: { a: "b" } } }],
      ["PATCH", `${collection}/${name}/approval`, { status: approved.status }],
      ["DELETE", `${collection}/${name}`, undefined],
      ["DELETE", collection, undefined],
      ["POST", `${collection}/${name}/approval`, approved],
    ];
    for (const [method, path, body] of attempts) {
      const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
      const { status } = await call(hub, {}, { method, path, body, type, headers: bootstrap });
      expect([method, path, status]).toEqual([method, path, 403]);
    }
    expect(await stored(name)).toEqual(before);
  });

  test("cannot ask for system:masters, in any spelling", async () => {
    for (const organizations of [["system:masters"], ["devs", "system:masters"]]) {
      const { reply } = await ask({ signerName: client, commonName: "jane", organizations });
      expect([reply.status, reply.json["message"]]).toEqual([
        403,
        expect.stringContaining("system:masters group is not allowed"),
      ]);
    }
    // The same letters in other string types of ASN.1, and two attributes in one relative name.
    const utf16 = Buffer.from("system:masters", "utf16le").swap16();
    for (const value of [
      derElement(0x1e, utf16),
      derElement(0x16, Buffer.from("system:masters")),
      derElement(0x14, Buffer.from("system:masters")),
    ]) {
      const organization = derSequence(derOid(oids.organization), value);
      const common = derSequence(derOid(oids.commonName), derElement(0x0c, Buffer.from("jane")));
      for (const subject of [
        derSequence(derElement(0x31, organization), derElement(0x31, common)),
        derSequence(derElement(0x31, organization, common)),
      ]) {
        const { reply } = await ask({ signerName: client, request: forged({ subject }) });
        expect([403, 422]).toContain(reply.status);
      }
    }
  });

  test("cannot take a name that is taken", async () => {
    const first = await ask(
      { name: "node-csr-of-somebody", commonName: "system:node:somebody" },
      hub.as("somebody", "system:bootstrappers:kubeadm:default-node-token"),
    );
    expectCreated(first.reply);
    const second = await ask({ name: "node-csr-of-somebody", commonName: "system:node:other" });
    expect([second.reply.status, second.reply.json["reason"]]).toEqual([409, "AlreadyExists"]);
    expect((await stored("node-csr-of-somebody")).spec.username).toBe("somebody");
    const put = await call(
      hub,
      {},
      {
        method: "PUT",
        path: `${collection}/node-csr-of-somebody`,
        body: csrOf({ name: "node-csr-of-somebody" }).body,
        headers: bootstrap,
      },
    );
    expect(put.status).toBe(403);
  });

  test.each([
    ["a serving certificate", { signerName: serving, usages: ["digital signature", "server auth"], dnsNames: ["a"] }],
    ["a certificate of the general client signer", { signerName: client }],
    ["a node without the prefix", { commonName: "node:a" }],
    ["a user in place of a node", { commonName: "kubernetes-admin" }],
    ["another group", { organizations: ["system:masters"] }],
    ["two groups", { organizations: ["system:nodes", "system:masters"] }],
    ["the group twice", { organizations: ["system:nodes", "system:nodes"] }],
    ["no group", { organizations: [] }],
    ["names for servers", { dnsNames: ["kubernetes.default"] }],
    ["the usage of servers", { usages: ["digital signature", "client auth", "server auth"] }],
    ["the usage of a CA", { usages: ["digital signature", "client auth", "cert sign"] }],
    ["too few usages", { usages: ["client auth"] }],
    ["another signer", { signerName: "example.com/signer" }],
  ] as const)("is not approved by itself for %s", async (_name, asked) => {
    const { name, reply } = await ask(asked);
    expectCreated(reply);
    await settled();
    // Requests for other signers are not this approver's to mark.
    const marks = "signerName" in asked ? [] : ["NotApprovedAutomatically"];
    await expect.poll(async () => types(await stored(name))).toEqual(marks);
    expect((await stored(name)).status.certificate).toBeUndefined();
  });
});

describe("a node", () => {
  test("renews its own certificate, and is not given that of another node", async () => {
    const dial = hub.as("system:node:worker", "system:nodes");
    const own = await ask({ commonName: "system:node:worker" }, dial);
    const other = await ask({ commonName: "system:node:control-plane" }, dial);
    expectCreated(own.reply);
    expect([other.reply.status, other.reply.text]).toEqual([
      403,
      expect.stringContaining("can only create a node CSR with CN=system:node:worker"),
    ]);
    await answered(own.name);
    expect(types(await stored(own.name))).toEqual(["Approved"]);
  });
});

describe("an approver", () => {
  const approvedBy = (before: Stored): object => ({
    ...before,
    status: { ...before.status, conditions: [{ type: "Approved", status: "True", reason: "a", message: "b" }] },
  });

  /** Approves as the admin; anew where the hub's approver has written why it leaves the request to people meanwhile. */
  async function approved(name: string): Promise<void> {
    const { status } = await retryOnConflict(async () => {
      const body = approvedBy(await stored(name));
      return call(hub, hub.admin, { method: "PUT", path: `${collection}/${name}/approval`, body });
    });
    expect(status).toBe(200);
  }

  beforeAll(async () => {
    const rbac = "/apis/rbac.authorization.k8s.io/v1";
    const group = "certificates.k8s.io";
    const rules: Readonly<Record<string, readonly object[]>> = {
      clerk: [
        {
          apiGroups: [group],
          resources: [
            "certificatesigningrequests",
            "certificatesigningrequests/approval",
            "certificatesigningrequests/status",
          ],
          verbs: ["get", "update", "patch"],
        },
      ],
      "serving-approver": [
        { apiGroups: [group], resources: ["certificatesigningrequests/approval"], verbs: ["update", "patch"] },
        { apiGroups: [group], resources: ["signers"], resourceNames: [serving], verbs: ["approve"] },
      ],
      signer: [
        { apiGroups: [group], resources: ["certificatesigningrequests/status"], verbs: ["update", "patch"] },
        { apiGroups: [group], resources: ["signers"], resourceNames: ["kubernetes.io/*"], verbs: ["sign"] },
      ],
    };
    for (const [name, held] of Object.entries(rules)) {
      expectCreated(
        await call(hub, hub.admin, { path: `${rbac}/clusterroles`, body: { metadata: { name }, rules: held } }),
      );
      const subjects = [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name }];
      const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name };
      expectCreated(
        await call(hub, hub.admin, {
          path: `${rbac}/clusterrolebindings`,
          body: { metadata: { name }, subjects, roleRef },
        }),
      );
    }
  });

  test("without the right to the signer approves nothing: not through approval, nor status, nor the object", async () => {
    const { name, reply } = await ask({ signerName: client, commonName: "jane", organizations: [] });
    expectCreated(reply);
    const before = await stored(name);
    const clerk = hub.as("clerk");
    const body = approvedBy(before);
    expect((await call(hub, clerk, { method: "PUT", path: `${collection}/${name}/approval`, body })).status).toBe(403);
    expect(
      (await call(hub, clerk, { method: "PUT", path: `${collection}/${name}/status`, body })).status,
    ).toBeGreaterThanOrEqual(403);
    await call(hub, clerk, { method: "PUT", path: `${collection}/${name}`, body });
    await call(hub, clerk, {
      method: "PATCH",
      path: `${collection}/${name}`,
      type: "application/merge-patch+json",
      body: { status: (body as { readonly status: object }).status, spec: { signerName: serving } },
    });
    await call(hub, clerk, {
      method: "PATCH",
      path: `${collection}/${name}`,
      type: "application/json-patch+json",
      body: [{ op: "replace", path: "/status", value: (body as { readonly status: object }).status }],
    });
    await settled();
    expect(await stored(name)).toEqual(before);
  });

  test("of one signer does not approve for another, whatever signer the body names", async () => {
    const { name, reply } = await ask({ signerName: client, commonName: "jane", organizations: [] });
    expectCreated(reply);
    const before = await stored(name);
    const approver = hub.as("serving-approver");
    const body = approvedBy({ ...before, spec: { ...before.spec, signerName: serving } });
    expect((await call(hub, approver, { method: "PUT", path: `${collection}/${name}/approval`, body })).status).toBe(
      403,
    );
    const patch = { spec: { signerName: serving }, status: (body as { readonly status: object }).status };
    expect(
      (
        await call(hub, approver, {
          method: "PATCH",
          path: `${collection}/${name}/approval`,
          type: "application/merge-patch+json",
          body: patch,
        })
      ).status,
    ).toBe(403);
    expect(await stored(name)).toEqual(before);
  });

  test("who may sign cannot approve through status, nor replace a certificate", async () => {
    const { name, reply } = await ask({ signerName: client, commonName: "jane", organizations: [] });
    expectCreated(reply);
    const before = await stored(name);
    const path = `${collection}/${name}/status`;
    await call(hub, hub.as("signer"), { method: "PUT", path, body: approvedBy(before) });
    expect(types(await stored(name))).toEqual([]);
    const issued = await ask({ commonName: "system:node:issued" });
    await answered(issued.name);
    const whole = await stored(issued.name);
    const certificate = Buffer.from(hub.authority.pem).toString("base64");
    const replaced = await call(hub, hub.as("signer"), {
      method: "PUT",
      path: `${collection}/${issued.name}/status`,
      body: { ...whole, status: { ...whole.status, certificate } },
    });
    expect(replaced.status).toBe(422);
    expect(await stored(issued.name)).toEqual(whole);
  });

  test("with every right makes no CA, no master and no other node out of a request that asks for it", async () => {
    const ca = derSequence(
      derOid(oids.basicConstraints),
      derOctets(derSequence(derElement(0x01, Uint8Array.of(0xff)))),
    );
    const usage = derSequence(derOid(oids.keyUsage), derOctets(Uint8Array.of(0x03, 0x02, 0x02, 0x04)));
    const { name, reply } = await ask(
      {
        signerName: client,
        request: forged({ extensions: [ca, usage], subject: buildName({ commonName: "jane", organizations: [] }) }),
      },
      hub.admin,
    );
    expectCreated(reply);
    await approved(name);
    await answered(name);
    const { status } = await stored(name);
    const pem = Buffer.from(status.certificate ?? "", "base64").toString();
    const certificate = parseCertificate(Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ""), "base64"));
    expect([certificate.basicConstraints?.isCa, [...(certificate.keyUsage ?? [])]]).toEqual([false, [0]]);
    const masters = await ask(
      { signerName: kubelet, commonName: "system:node:m", organizations: ["system:masters"] },
      hub.admin,
    );
    await approved(masters.name);
    await answered(masters.name);
    const failed = await stored(masters.name);
    expect([types(failed), failed.status.certificate]).toEqual([["Approved", "Failed"], undefined]);
  });
});

/** A request with parts that no honest client sends; its signature is right unless told otherwise. */
function forged(parts: {
  readonly subject?: Uint8Array;
  readonly spki?: Uint8Array;
  readonly extensions?: readonly Uint8Array[];
  readonly signature?: Uint8Array;
  readonly trailing?: Uint8Array;
}): string {
  const extensions = parts.extensions ?? [];
  const info = derSequence(
    derUnsigned(Uint8Array.of(0)),
    parts.subject ?? buildName({ commonName: "system:node:a", organizations: ["system:nodes"] }),
    parts.spki ?? spkiOf(key),
    derElement(
      0xa0,
      ...(extensions.length === 0
        ? []
        : [derSequence(derOid(oids.extensionRequest), derElement(0x31, derSequence(...extensions)))]),
    ),
  );
  const signature = parts.signature ?? sign("sha256", info, key);
  const der = derSequence(info, derSequence(derOid(oids.ecdsaWithSha256)), derBitBytes(signature));
  return encodePem("CERTIFICATE REQUEST", Buffer.concat([der, parts.trailing ?? new Uint8Array(0)]));
}

describe("a malformed request is refused with 4xx and leaves nothing", () => {
  checkHubAfterEach(() => hub);

  async function refused(asked: Asked & { readonly spec?: object }): Promise<ApiReply> {
    const { reply } = await ask({ ...asked, spec: { ...asked.spec } });
    expect([reply.status >= 400 && reply.status < 500, reply.json["kind"]]).toEqual([true, "Status"]);
    expect(reply.text.length).toBeLessThan(64 * 1024);
    return reply;
  }

  const good = createCsr({ key, commonName: "system:node:a", organizations: ["system:nodes"] });
  const san = derSequence(derOid(oids.subjectAltName), derOctets(derSequence(derElement(0x82, Buffer.from("a")))));
  const other = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const text = (value: Buffer, tag = 0x0c): Uint8Array =>
    derSequence(derElement(0x31, derSequence(derOid(oids.commonName), derElement(tag, value))));

  const malformed: Readonly<Record<string, string>> = {
    "no PEM": "hello",
    "an empty request": "",
    "another label": good.replaceAll("CERTIFICATE REQUEST", "CERTIFICATE"),
    "a private key": key.export({ type: "pkcs8", format: "pem" }).toString(),
    "the older label": good.replaceAll("CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"),
    "labels that differ": good.replace("-----END CERTIFICATE REQUEST", "-----END CERTIFICATE"),
    "two requests": good + good,
    "text before it": `hello\n${good}`,
    "text after it": `${good}hello\n`,
    "PEM headers": good.replace("-----\n", "-----\nProc-Type: 4,ENCRYPTED\n\n"),
    "no end": good.slice(0, good.indexOf("-----END")),
    "base64 with rubbish": good.replace(/\n[A-Za-z0-9+/]{4}/, "\n****"),
    "a NUL": good.replace("\n", "\n\0"),
    "trailing data": forged({ trailing: Uint8Array.of(0) }),
    "a second structure": forged({ trailing: derSequence() }),
    "a wrong signature": forged({ signature: sign("sha256", Buffer.from("other"), key) }),
    "an empty signature": forged({ signature: new Uint8Array(0) }),
    "the signature of another key": forged({ spki: other.publicKey.export({ type: "spki", format: "der" }) }),
    "an extension twice": forged({ extensions: [san, san] }),
    "a name for nobody in the SANs": forged({
      extensions: [derSequence(derOid(oids.subjectAltName), derOctets(derSequence(derElement(0xa0, derOid("1.2.3")))))],
    }),
    "a common name with a NUL": forged({ subject: text(Buffer.from("system:node:a\0.evil")) }),
    "a common name with a line end": forged({ subject: text(Buffer.from("system:node:a\nx")) }),
    "a common name that is not UTF-8": forged({ subject: text(Buffer.from([0xff, 0xfe, 0x41])) }),
    "a common name of an odd length in UTF-16": forged({ subject: text(Buffer.from([0, 0x41, 0]), 0x1e) }),
    "a common name of half a character": forged({ subject: text(Buffer.from([0xd8, 0x00]), 0x1e) }),
    "two common names": forged({
      subject: derSequence(
        ...[1, 2].map((n) =>
          derElement(0x31, derSequence(derOid(oids.commonName), derElement(0x0c, Buffer.from(`system:node:${n}`)))),
        ),
      ),
    }),
    "a giant": encodePem("CERTIFICATE REQUEST", new Uint8Array(200_000)),
    "a key of a kind that is not accepted": forged({
      spki: derSequence(derSequence(derOid("1.2.840.10040.4.1")), derBitBytes(new Uint8Array(40))),
    }),
  };

  test.each(Object.keys(malformed))("%s", async (name) => {
    const reply = await refused({ request: malformed[name] ?? "" });
    // A machine with a bootstrap token may send 64 KiB and a thousand values.
    expect(reply.status).toBe(name === "a giant" ? 413 : 422);
  });

  test.each([
    ["a request that is no base64", { request: "%%%" }],
    ["a request that is a number", { request: 5 }],
    ["a request that is null", { request: null }],
    ["no usages", { usages: [] }],
    ["an unknown usage", { usages: ["client auth", "world domination"] }],
    ["a usage twice", { usages: ["client auth", "client auth"] }],
    ["usages that are no list", { usages: "client auth" }],
    ["nine hundred usages", { usages: Array.from({ length: 900 }, (_, index) => `usage ${index}`) }],
    ["no signer", { signerName: "" }],
    ["a signer without a slash", { signerName: "kubernetes" }],
    ["a signer with two slashes", { signerName: "kubernetes.io/a/b" }],
    ["a signer with a star", { signerName: "kubernetes.io/*" }],
    ["a signer of 600 letters", { signerName: `example.com/${"a".repeat(600)}` }],
    ["the legacy signer", { signerName: "kubernetes.io/legacy-unknown" }],
    ["a signer with upper case", { signerName: "Kubernetes.io/kubelet-serving" }],
    ["a lifetime of a second", { expirationSeconds: 1 }],
    ["a negative lifetime", { expirationSeconds: -3600 }],
    ["a lifetime beyond 32 bits", { expirationSeconds: 2 ** 40 }],
    ["half a second", { expirationSeconds: 3600.5 }],
  ] as const)("%s", async (_name, spec) => {
    const reply = await refused({ spec });
    expect([400, 422]).toContain(reply.status);
  });

  test.each([
    ["a slash", "a/b"],
    ["a dot", "."],
    ["two dots", ".."],
    ["a percent sign", "a%2fb"],
    ["a NUL", "a\0b"],
    ["600 letters", "a".repeat(600)],
    ["half a character", "\ud800"],
  ])("a name with %s", async (_name, name) => {
    expect((await refused({ name })).status).toBe(422);
  });

  test("any change to the bytes of a good request", async () => {
    const der = Buffer.from(good.replaceAll(/-----[^-]+-----|\s/g, ""), "base64");
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat({ max: der.length - 1 }), fc.integer({ min: 1, max: 255 })), {
          minLength: 1,
          maxLength: 4,
        }),
        async (changes) => {
          const changed = Buffer.from(der);
          // Each position once, so that no change takes back another.
          for (const [at, by] of new Map(changes)) changed[at] = (changed[at] ?? 0) ^ by;
          expect((await refused({ request: encodePem("CERTIFICATE REQUEST", changed) })).status).toBe(422);
        },
      ),
      { numRuns: 150, seed: 20261121 },
    );
  });

  test("any text in the place of a request", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string({ unit: "binary", maxLength: 200 }),
          fc.string({ maxLength: 50 }).map((inner) => good.replace("\n", `\n${inner} `)),
        ),
        async (request) => {
          expect((await refused({ request })).status).toBe(422);
        },
      ),
      { numRuns: 100, seed: 20261121 },
    );
  });
});
