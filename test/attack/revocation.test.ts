import { createHash, X509Certificate } from "node:crypto";
import type { ClientHttp2Session } from "node:http2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseCertificate, malleatedCertificate } from "../../src/pki/parse-certificate.ts";
import { encodePem } from "../../src/pki/pem.ts";
import { csrObject } from "../kits/csr-object.ts";
import { openHttp2, openTls, parseReply, requestBytes, resumable, sendHttp2, speak, type Dial } from "../kits/wire.ts";
import {
  call,
  clientOf,
  identity,
  startAttackedHub,
  watchman,
  type AttackedHub,
  type Watchman,
} from "./attacked-hub.ts";

let hub: AttackedHub;
let guard: Watchman;

const group = "/apis/access.pratique.dev/v1alpha1/credentialrevocations";
const maps = "/api/v1/namespaces/default/configmaps";
const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

beforeAll(async () => {
  hub = await startAttackedHub();
  // Not system:masters, whose requests are of a level that is neither limited nor counted.
  const apiGroup = "rbac.authorization.k8s.io";
  const binding = {
    metadata: { name: "thieves" },
    roleRef: { apiGroup, kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ apiGroup, kind: "Group", name: "thieves" }],
  };
  await call(hub, hub.admin, { path: `/apis/${apiGroup}/v1/clusterrolebindings`, body: binding });
  guard = await watchman(hub);
});
afterAll(async () => {
  guard.close();
  await hub.close();
});

let count = 0;

async function revoke(spec: object): Promise<number> {
  const metadata = { name: `r${(count += 1)}` };
  return (await call(hub, hub.admin, { path: group, body: { metadata, spec } })).status;
}

/** A thief with every right, until it is revoked. */
function thief(): { readonly name: string; readonly dial: Dial } {
  const name = `thief-${(count += 1)}`;
  return { name, dial: hub.as(name, "thieves") };
}

function certificateOf({ cert = "" }: Dial): X509Certificate {
  return new X509Certificate(cert);
}

function fingerprintOf(dial: Dial): string {
  return createHash("sha256").update(certificateOf(dial).raw).digest("hex");
}

/** The same certificate with a signature that only looks different. */
function twinOf(dial: Dial): string {
  const malleated = malleatedCertificate(parseCertificate(certificateOf(dial).raw), "p256");
  return encodePem("CERTIFICATE", malleated ?? new Uint8Array());
}

describe("what is revoked is exactly what was named", () => {
  test("a prefix, a longer text, another case or blanks of a user name are somebody else", async () => {
    const { name, dial } = thief();
    for (const user of [name.slice(0, -1), `${name}0`, name.toUpperCase(), `${name} `, ` ${name}`, `${name}\u0000`])
      expect(await revoke({ user })).toBe(201);
    expect(await identity(hub, dial)).toContain(name);
    expect(await revoke({ user: name })).toBe(201);
    expect(await identity(hub, dial)).toBe("401");
  });

  test("a fingerprint or serial number has one spelling, and no part of it counts", async () => {
    const { dial, name } = thief();
    const fingerprint = fingerprintOf(dial);
    const serial = certificateOf(dial).serialNumber.toLowerCase();
    for (const text of [fingerprint.slice(0, 63), fingerprint.toUpperCase(), `${fingerprint} `, "", "*"])
      expect(await revoke({ fingerprint: text })).toBe(422);
    // Without a letter there is no other case.
    const upper = `${serial.slice(0, -2)}AB`;
    for (const serialNumber of [upper, `00${serial}`, `0x${serial}`, serial.slice(1), "", "-01", "*"]) {
      expect(await revoke({ certificate: { serialNumber } })).toBe(422);
    }
    // A part of it that is well formed is the number of another certificate.
    expect(await revoke({ certificate: { serialNumber: serial.slice(0, -2) } })).toBe(201);
    expect(await revoke({ certificate: { serialNumber: serial, issuer: "ab".repeat(32) } })).toBe(201);
    expect(await identity(hub, dial)).toContain(name);
    expect(await revoke({ certificate: { serialNumber: serial } })).toBe(201);
    expect(await identity(hub, dial)).toBe("401");
  });

  test("several targets, none, and keys of prototypes are refused", async () => {
    const { name } = thief();
    for (const spec of [
      {},
      { user: name, fingerprint: "ab".repeat(32) },
      { user: "" },
      JSON.parse('{"__proto__":{"user":"x"}}') as object,
      { constructor: "x" },
    ])
      expect([400, 422]).toContain(await revoke(spec));
    for (const user of ["__proto__", "constructor", "hasOwnProperty"]) expect(await revoke({ user })).toBe(201);
    expect(await identity(hub, hub.admin)).toContain("kubernetes-admin");
  });
});

describe("a revoked certificate", () => {
  test("is refused on the connection that was open before, over HTTP/2", async () => {
    const { dial, name } = thief();
    const session = await openHttp2(hub.target, dial);
    expect((await sendHttp2(session, { path: maps })).status).toBe(200);
    await revoke({ user: name });
    expect((await sendHttp2(session, { path: maps })).status).toBe(401);
    expect((await sendHttp2(session, { path: "/version" })).status).toBe(401);
    session.destroy();
  });

  test("is refused in requests that come behind a watch on the same connection", async () => {
    const { dial, name } = thief();
    const socket = await openTls(hub.target, "http/1.1", dial);
    const headers = [["Connection", "keep-alive"]] as const;
    const replies = speak(socket, requestBytes({ path: `${maps}?watch=true&timeoutSeconds=60`, headers }));
    await watching(hub, 1);
    await revoke({ user: name });
    // What was pipelined before was answered before; only the reply had to wait its turn.
    socket.write(requestBytes({ path: maps }));
    const text = (await replies).toString("latin1");
    expect(text.match(/HTTP\/1\.1 \d{3}/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 401"]);
  });

  test("writes nothing with a request whose body was under way", async () => {
    const { dial, name } = thief();
    const socket = await openTls(hub.target, "http/1.1", dial);
    const body = JSON.stringify({ metadata: { name: "late" } });
    const whole = requestBytes({ method: "POST", path: maps, headers: [["Content-Type", "application/json"]], body });
    const reply = speak(socket, whole.subarray(0, whole.length - 5));
    await expect.poll(() => inFlight(hub)).toBeGreaterThan(0);
    await revoke({ user: name });
    socket.write(whole.subarray(whole.length - 5));
    expect(parseReply(await reply).status).toBe(401);
    expect((await call(hub, hub.admin, { path: `${maps}/late` })).status).toBe(404);
  });

  test.each(["http/1.1", "h2"] as const)("is no other certificate in a resumed session, over %s", async (protocol) => {
    const { dial, name } = thief();
    const session = await resumable(hub.target, dial, protocol);
    await revoke({ fingerprint: fingerprintOf(dial) });
    const over = protocol === "h2" ? "HTTP/2" : "HTTP/1.1";
    expect(await identity(hub, { ...dial, session, over })).toBe("401");
    expect(await identity(hub, { session, over })).not.toContain(name);
  });

  test("does not help a good token beside it, nor become anonymous", async () => {
    const { dial, name } = thief();
    await revoke({ user: name });
    const token = [["Authorization", `Bearer ${hub.tokens.operator}`]] as const;
    expect(await identity(hub, dial, token)).toBe("401");
    expect((await call(hub, dial, { path: "/healthz" })).status).toBe(401);
  });

  test("impersonates nobody, and what it began as somebody else ends", async () => {
    const { dial, name } = thief();
    const session = await openHttp2(hub.target, dial);
    const as = [
      ["Impersonate-User", "ann"],
      ["Impersonate-Group", "thieves"],
    ] as const;
    const watch = sendHttp2(session, { path: `${maps}?watch=true`, headers: as });
    await watching(hub, 1);
    await revoke({ user: name });
    expect((await watch).status).toBe(200);
    expect((await sendHttp2(session, { path: maps, headers: as })).status).toBe(401);
    session.destroy();
    // Who is impersonated is not revoked by it, and who impersonates a revoked user is himself.
    const asThief = [["Impersonate-User", name]] as const;
    expect(await identity(hub, hub.admin, asThief)).toContain(name);
  });

  test("does not delete or end its own revocation", async () => {
    const { dial, name } = thief();
    await revoke({ user: name });
    const path = `${group}/r${count}`;
    expect((await call(hub, dial, { method: "DELETE", path })).status).toBe(401);
    expect((await call(hub, dial, { method: "DELETE", path: group })).status).toBe(401);
    const patch = { method: "PATCH", path, type: "application/merge-patch+json" };
    expect((await call(hub, dial, { ...patch, body: { spec: { expiresAt: "2020-01-01T00:00:00Z" } } })).status).toBe(
      401,
    );
    expect((await call(hub, hub.admin, { path })).status).toBe(200);
  });

  test("does not get another one: what it asked for in time is not signed", async () => {
    const { dial, name } = thief();
    const signerName = "kubernetes.io/kube-apiserver-client";
    const asked = csrObject({ name: "before", commonName: "somebody-else", organizations: [], signerName });
    expect((await call(hub, dial, { path: requests, body: asked })).status).toBe(201);
    await revoke({ fingerprint: fingerprintOf(dial) });
    const later = csrObject({ name: "after", commonName: name, organizations: [], signerName });
    expect((await call(hub, dial, { path: requests, body: later })).status).toBe(401);
    const conditions = [{ type: "Approved", status: "True", reason: "Test", message: "by mistake" }];
    const found = (await call(hub, hub.admin, { path: `${requests}/before` })).json;
    const approved = { method: "PUT", path: `${requests}/before/approval`, body: { ...found, status: { conditions } } };
    expect((await call(hub, hub.admin, approved)).status).toBe(200);
    await expect
      .poll(async () => (await call(hub, hub.admin, { path: `${requests}/before` })).text)
      .toContain("RequesterRevoked");
    expect((await call(hub, hub.admin, { path: `${requests}/before` })).text).not.toContain('"certificate":');
    await call(hub, hub.admin, { method: "DELETE", path: `${requests}/before` });
  });

  test("is no other certificate when its signature is written in its other form", async () => {
    const { dial, name } = thief();
    const malleated = { ...dial, cert: twinOf(dial) };
    expect(fingerprintOf(malleated)).not.toBe(fingerprintOf(dial));
    expect(certificateOf(malleated).verify(new X509Certificate(hub.target.caPem).publicKey)).toBe(true);
    expect(await identity(hub, malleated)).toContain(name);
    await revoke({ fingerprint: fingerprintOf(dial) });
    expect(await identity(hub, dial)).toBe("401");
    expect(await identity(hub, malleated)).toBe("401");
  });

  test("is revoked by whoever else presents the same certificate, and another of that name is not", async () => {
    const { name, dial } = thief();
    await revoke({ fingerprint: fingerprintOf(dial) });
    expect(await identity(hub, { ...dial, over: "HTTP/2" })).toBe("401");
    // The same certificate with others sent along is the same certificate.
    const foreign = clientOf(hub.authority, { commonName: "other" }).cert ?? "";
    expect(await identity(hub, { cert: `${dial.cert ?? ""}${foreign}`, key: dial.key })).toBe("401");
    expect(await identity(hub, hub.as(name, "thieves"))).toContain(name);
  });
});

describe("a watch that is opened at the moment of the revocation", () => {
  test("ends, in whatever order the two arrive", async () => {
    for (let round = 0; round < 20; round += 1) {
      const { dial, name } = thief();
      const session: ClientHttp2Session = await openHttp2(hub.target, dial);
      const watch = (): Promise<{ readonly status: number }> => sendHttp2(session, { path: `${maps}?watch=true` });
      const revoking = (): Promise<number> => revoke({ user: name });
      const [opened] = await Promise.all(
        round % 2 === 0 ? [watch(), revoking()] : [Promise.resolve().then(watch), revoking()],
      );
      // It has ended, for the reply is whole.
      expect([200, 401]).toContain(opened.status);
      session.destroy();
    }
  });
});

describe("many revocations", () => {
  test("cost a request nothing to speak of, and are many only for who may make them", async () => {
    const session = await openHttp2(hub.target, hub.admin);
    const headers = [["Content-Type", "application/json"]] as const;
    for (let batch = 0; batch < 10; batch += 1) {
      const replies = await Promise.all(
        Array.from({ length: 100 }, (_, at) => {
          const metadata = { name: `flood-${batch}-${at}` };
          const body = JSON.stringify({ metadata, spec: { user: `flood-${at % 3}` } });
          return sendHttp2(session, { method: "POST", path: group, headers, body });
        }),
      );
      expect(replies.every(({ status }) => status === 201)).toBe(true);
    }
    const { name, dial } = thief();
    expect(await identity(hub, dial)).toContain(name);
    expect(await identity(hub, hub.as("flood-1"))).toBe("401");
    const nobody = [["Authorization", `Bearer ${hub.tokens.nobody}`]] as const;
    const refused = await call(hub, {}, { path: group, body: { spec: { user: "x" } }, headers: nobody });
    expect(refused.status).toBe(403);
    session.destroy();
  });
});

test("the hub is well after all of it", async () => {
  expect(await guard.troubles()).toEqual([]);
});

async function metric(of: AttackedHub, name: string): Promise<number> {
  const { text } = await call(of, of.admin, { path: "/metrics" });
  const lines = text.split("\n").filter((line) => line.startsWith(name));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

async function watching(of: AttackedHub, least: number): Promise<void> {
  await expect.poll(() => metric(of, "apiserver_longrunning_requests{")).toBeGreaterThanOrEqual(least);
}

function inFlight(of: AttackedHub): Promise<number> {
  return metric(of, "pratique_request_bodies{");
}
