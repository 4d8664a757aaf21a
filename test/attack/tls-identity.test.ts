import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startHub } from "../../src/server/hub.ts";
import type { HubOptions } from "../../src/server/hub-options.ts";
import { createCa, loadCa } from "../../src/pki/ca.ts";
import { issueCertificate, subjectKeyId, type Issuer } from "../../src/pki/certificate.ts";
import { exportSec1Pem, generatePrivateKey, keyKindOf, spkiOf } from "../../src/pki/keys.ts";
import { buildName } from "../../src/pki/names.ts";
import {
  openHttp2,
  openTls,
  parseReply,
  protocols,
  requestBytes,
  resumable,
  send,
  sendHttp2,
  speak,
  type Dial,
  type Protocol,
  type Target,
} from "../kits/wire.ts";
import { clientOf, identity, identityIn, startAttackedHub, type AttackedHub } from "./attacked-hub.ts";

const hour = 3_600_000;
const random = (size: number): Uint8Array => crypto.getRandomValues(new Uint8Array(size));
const whoami = {
  method: "POST",
  path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
  headers: [["Content-Type", "application/json"]],
  body: "{}",
} as const;

const masters = { commonName: "kubernetes-admin", organizations: ["system:masters"] } as const;

let hub: AttackedHub;
beforeAll(async () => {
  hub = await startAttackedHub();
});
afterAll(() => hub.close());

/** Who a connection is on a resumed session, and whether it was resumed at all. */
async function resumed(dial: Dial, over: Protocol): Promise<{ readonly reused: boolean; readonly who: string }> {
  const socket = await openTls(hub.target, over === "HTTP/2" ? "h2" : "http/1.1", dial);
  const reused = socket.isSessionReused();
  if (over === "HTTP/1.1") return { reused, who: identityIn(parseReply(await speak(socket, requestBytes(whoami)))) };
  const session = await openHttp2(hub.target, dial);
  const again = session.socket as unknown as { isSessionReused(): boolean };
  const both = reused && again.isSessionReused();
  socket.destroy();
  const who = identityIn(await sendHttp2(session, whoami));
  session.destroy();
  return { reused: both, who };
}

const alpn = { "HTTP/1.1": "http/1.1", "HTTP/2": "h2" } as const;

describe.each(["TLSv1.3", "TLSv1.2"] as const)("a resumed session of %s", (version) => {
  describe.each(protocols)("over %s", (over) => {
    test("without a certificate is anonymous", async () => {
      const session = await resumable(hub.target, { version }, alpn[over]);
      expect(await resumed({ version, session }, over)).toEqual({ reused: true, who: "anonymous" });
      const secrets = await send(hub.target, { path: "/api/v1/secrets" }, { version, session, over });
      expect(secrets.status).toBe(403);
      expect(secrets.text).toContain('User \\"system:anonymous\\" cannot list');
    });

    test("without a certificate stays anonymous when a certificate is offered only now", async () => {
      const session = await resumable(hub.target, { version }, alpn[over]);
      const { reused, who } = await resumed({ ...hub.admin, version, session }, over);
      expect(reused ? who : "").toBe("anonymous");
    });

    test("of a certificate is that of the certificate while it is valid", async () => {
      const dial = { ...hub.as("jane", "devs"), version };
      const session = await resumable(hub.target, dial, alpn[over]);
      const again = await resumed({ version, session }, over);
      expect(again).toEqual({ reused: true, who: "jane (devs system:authenticated)" });
    });

    test("of a certificate that has expired meanwhile is 401", async () => {
      const dial = { ...hub.as("jane", "system:masters"), version };
      const session = await resumable(hub.target, dial, alpn[over]);
      hub.shiftClock(2 * hour);
      try {
        expect(await resumed({ ...dial, session }, over)).toEqual({ reused: true, who: "401" });
        const secrets = await send(hub.target, { path: "/api/v1/secrets" }, { ...dial, session, over });
        expect(secrets.status).toBe(401);
      } finally {
        hub.shiftClock(-2 * hour);
      }
    });

    test("of a certificate that is not valid yet, the clock having been set back, is 401", async () => {
      const dial = { ...hub.as("jane", "system:masters"), version };
      const session = await resumable(hub.target, dial, alpn[over]);
      hub.shiftClock(-2 * hour);
      try {
        expect(await resumed({ ...dial, session }, over)).toEqual({ reused: true, who: "401" });
      } finally {
        hub.shiftClock(2 * hour);
      }
    });

    test("of a certificate with an intermediate CA is that of the certificate", async () => {
      const { dial } = throughIntermediate("jane");
      const session = await resumable(hub.target, { ...dial, version }, alpn[over]);
      const again = await resumed({ ...dial, version, session }, over);
      expect(again).toEqual({ reused: true, who: "jane (system:authenticated)" });
    });
  });
});

test("a connection that is kept open loses its identity when its certificate expires", async () => {
  const session = await openHttp2(hub.target, hub.as("jane"));
  try {
    expect(identityIn(await sendHttp2(session, whoami))).toBe("jane (system:authenticated)");
    hub.shiftClock(2 * hour);
    expect((await sendHttp2(session, whoami)).status).toBe(401);
  } finally {
    hub.shiftClock(-2 * hour);
    session.destroy();
  }
});

test("a session is not resumable at another hub, nor is its certificate worth anything there", async () => {
  const other = await startAttackedHub();
  try {
    const dial = { ...other.admin, version: "TLSv1.3" as const };
    const session = await resumable(other.target, dial);
    expect(await identity(other, dial)).toBe("kubernetes-admin (system:masters system:authenticated)");
    const socket = await openTls(hub.target, "http/1.1", { ...dial, session });
    expect(socket.isSessionReused()).toBe(false);
    expect(identityIn(parseReply(await speak(socket, requestBytes(whoami))))).toBe("401");
  } finally {
    await other.close();
  }
});

test("a certificate of the hub that lay in a data directory before is 401 once another is begun there", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "pratique-attack-"));
  const options: HubOptions = {
    dataDir,
    bindAddress: "127.0.0.1",
    securePort: 0,
    tlsSans: [],
    authorizationModes: ["RBAC"],
    anonymousAuth: true,
    clusterSigningDurationSeconds: 3600,
    nodeAutoapprove: true,
    maxRequestsInflight: 400,
    release: "0.0.0-test",
    log: () => undefined,
  };
  const targetOf = async (url: string): Promise<{ readonly target: Target }> => ({
    target: { port: Number(new URL(url).port), caPem: await readFile(join(dataDir, "pki", "ca.crt"), "utf8") },
  });
  try {
    const before = await startHub(options);
    const pki = (file: string): Promise<string> => readFile(join(dataDir, "pki", file), "utf8");
    const old = loadCa({ certificatePem: await pki("ca.crt"), keyPem: await pki("ca.key"), now: Date.now() });
    const dial = clientOf(old, masters);
    expect(await identity(await targetOf(before.url), dial)).toBe(
      "kubernetes-admin (system:masters system:authenticated)",
    );
    await before.close();
    await rm(dataDir, { recursive: true });
    const after = await startHub(options);
    const target = await targetOf(after.url);
    for (const over of protocols) expect(await identity(target, { ...dial, over })).toBe("401");
    await after.close();
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
});

/** An issuer in the name of the hub's CA with a key of the attacker. */
function forgedAuthority(key: KeyObject = generatePrivateKey()): Issuer & { readonly pem: string } {
  return createCa({ commonName: "pratique", key, now: Date.now(), years: 1, random });
}

/** A CA certificate, or what is none, that the hub's own CA signed; and the issuer that its key makes. */
function below(role: "ca" | "leaf", usages: readonly string[]): { readonly pem: string; readonly issuer: Issuer } {
  const key = generatePrivateKey();
  const rawSubject = buildName({ commonName: "between", organizations: [] });
  const notAfter = Date.now() + 4 * hour;
  const { pem } = issueCertificate({
    issuer: hub.authority,
    rawSubject,
    spki: spkiOf(key),
    usages,
    notBefore: Date.now() - hour,
    notAfter,
    serial: random(16),
    role,
  });
  return { pem, issuer: { rawSubject, keyId: subjectKeyId(spkiOf(key)), key, keyKind: keyKindOf(key), notAfter } };
}

function throughIntermediate(commonName: string): { readonly dial: Dial } {
  const { pem, issuer } = below("ca", ["digital signature", "cert sign"]);
  return { dial: clientOf(issuer, { commonName, chain: pem }) };
}

/** Credentials that prove nobody, by what is wrong with them. */
const worthless: Readonly<Record<string, () => Dial | Promise<Dial>>> = {
  "an expired certificate": () =>
    clientOf(hub.authority, { ...masters, notBefore: Date.now() - 2 * hour, notAfter: Date.now() - 1000 }),
  "a certificate that is not valid yet": () => clientOf(hub.authority, { ...masters, notBefore: Date.now() + 60_000 }),
  "a certificate for servers": () =>
    clientOf(hub.authority, { ...masters, usages: ["digital signature", "server auth"] }),
  "a certificate without any purpose": () => clientOf(hub.authority, { ...masters, usages: ["digital signature"] }),
  "the hub's own serving certificate": async () => ({
    cert: await readFile(join(hub.dataDir, "pki", "apiserver.crt"), "utf8"),
    key: await readFile(join(hub.dataDir, "pki", "apiserver.key"), "utf8"),
  }),
  "the hub's own CA certificate": async () => ({
    cert: await readFile(join(hub.dataDir, "pki", "ca.crt"), "utf8"),
    key: await readFile(join(hub.dataDir, "pki", "ca.key"), "utf8"),
  }),
  "the right issuer's name under another key": () => clientOf(forgedAuthority(), masters),
  "the right issuer's name and key identifier under another key": () =>
    clientOf({ ...forgedAuthority(), keyId: hub.authority.keyId }, masters),
  "the right issuer's name under an Ed25519 key": () =>
    clientOf(forgedAuthority(generateKeyPairSync("ed25519").privateKey), masters),
  "another CA that is sent along": () => {
    const authority = forgedAuthority();
    return clientOf(authority, { ...masters, chain: authority.pem });
  },
  "another CA, with the hub's CA sent along as well": () => {
    const authority = forgedAuthority();
    return clientOf(authority, { ...masters, chain: authority.pem + hub.authority.pem });
  },
  "an issuer that is no CA": () => {
    const { pem, issuer } = below("leaf", ["digital signature", "cert sign", "client auth"]);
    return clientOf(issuer, { ...masters, chain: pem });
  },
  "a client certificate as issuer": () => {
    const { pem, issuer } = below("leaf", ["digital signature", "client auth"]);
    return clientOf(issuer, { ...masters, chain: pem });
  },
  "an intermediate CA that may not sign": () => {
    const { pem, issuer } = below("ca", ["digital signature"]);
    return clientOf(issuer, { ...masters, chain: pem });
  },
  "an intermediate CA that is not sent along": () =>
    clientOf(below("ca", ["digital signature", "cert sign"]).issuer, masters),
  "a certificate that is a CA": () =>
    clientOf(hub.authority, { ...masters, usages: ["cert sign", "client auth"], role: "ca" }),
  "a self-signed certificate": () => {
    const key = generatePrivateKey();
    const rawSubject = buildName(masters);
    const issuer = { rawSubject, keyId: undefined, key, keyKind: keyKindOf(key), notAfter: Date.now() + 4 * hour };
    const { pem } = issueCertificate({
      issuer,
      rawSubject,
      spki: spkiOf(key),
      usages: ["digital signature", "client auth"],
      notBefore: Date.now() - hour,
      notAfter: Date.now() + hour,
      serial: random(16),
    });
    return { cert: pem, key: exportSec1Pem(key) };
  },
};

/** Here OpenSSL finds a key to try, and may end the connection before the hub has said 401. */
const hungUp = "the right issuer's name under an Ed25519 key";

test("a certificate over which OpenSSL stumbles gets its own connection closed and nobody else's", async () => {
  const forged = await worthless[hungUp]?.();
  const good = { ...hub.as("jane"), over: "HTTP/2" } as const;
  const asked = await Promise.all(
    Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? identity(hub, good) : identity(hub, forged ?? {}))),
  );
  expect(new Set(asked.filter((_, index) => index % 2 === 0))).toEqual(new Set(["jane (system:authenticated)"]));
  expect(asked.filter((_, index) => index % 2 === 1).every((who) => who === "401" || who === "closed")).toBe(true);
});

describe.each(protocols)("over %s", (over) => {
  test.each(Object.keys(worthless))("%s is 401, everywhere", async (name) => {
    const dial = { ...(await worthless[name]?.()), over };
    expect(dial.cert).toContain("BEGIN CERTIFICATE");
    const refusals: readonly (string | number)[] = name === hungUp ? ["401", "closed", 401, 400, 0] : ["401", 401];
    expect(refusals).toContain(await identity(hub, dial));
    for (const path of ["/api/v1/secrets", "/api/v1/namespaces/kube-public/configmaps/cluster-info", "/version"]) {
      const { status } = await send(hub.target, { path }, dial);
      expect([path, refusals.includes(status)]).toEqual([path, true]);
    }
  });

  test("an intermediate CA of the hub's CA is accepted when it is sent along", async () => {
    expect(await identity(hub, { ...throughIntermediate("jane").dial, over })).toBe("jane (system:authenticated)");
  });

  test("a certificate with an empty common name is nobody, whatever its groups", async () => {
    const dial = { ...hub.as("", "system:masters"), over };
    expect(await identity(hub, dial)).toBe("anonymous");
    expect((await send(hub.target, { path: "/api/v1/secrets" }, dial)).status).toBe(403);
  });

  test("a certificate with an empty common name leaves the word to the token", async () => {
    const dial = { ...hub.as("", "system:masters"), over };
    expect(await identity(hub, dial, [["Authorization", `Bearer ${hub.tokens.nobody}`]])).toBe(
      "nobody (system:authenticated)",
    );
    expect(await identity(hub, dial, [["Authorization", "Bearer wrong"]])).toBe("401");
  });

  test("a certificate wins over a token, good or bad", async () => {
    const dial = { ...hub.as("jane"), over };
    for (const token of ["wrong", hub.tokens.operator]) {
      expect(await identity(hub, dial, [["Authorization", `Bearer ${token}`]])).toBe("jane (system:authenticated)");
    }
  });

  test("a bad certificate does not spoil a good token, as in Kubernetes, and lends it nothing", async () => {
    const dial = { ...clientOf(forgedAuthority(), masters), over };
    expect(await identity(hub, dial, [["Authorization", `Bearer ${hub.tokens.nobody}`]])).toBe(
      "nobody (system:authenticated)",
    );
    expect(await identity(hub, dial, [["Authorization", "Bearer wrong"]])).toBe("401");
  });
});
