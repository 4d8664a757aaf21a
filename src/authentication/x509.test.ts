import { createHash, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createCa } from "../pki/ca.ts";
import { issueCertificate, type Issuer } from "../pki/certificate.ts";
import { generatePrivateKey, spkiOf } from "../pki/keys.ts";
import { buildName } from "../pki/names.ts";
import { loadTrustRoots } from "../pki/verify-chain.ts";
import { parseCertificate, malleatedCertificate } from "../pki/parse-certificate.ts";
import { authenticate } from "./authenticated.ts";
import { bearer } from "./bearer.ts";
import { firstAuthenticated } from "./union.ts";
import { x509 } from "./x509.ts";

const start = Date.UTC(2026, 10, 21);
const hour = 3_600_000;
const ca = newCa("hub");
const attacker = newCa("hub");
const roots = loadTrustRoots(ca.pem);

function newCa(commonName: string): ReturnType<typeof createCa> {
  return createCa({ commonName, key: generatePrivateKey(), now: start, years: 1, random: randomBytes });
}

function issue(what: {
  readonly issuer?: Issuer;
  readonly commonName?: string;
  readonly organizations?: readonly string[];
  readonly usages?: readonly string[];
}): Uint8Array {
  const { issuer = ca, commonName = "system:node:a", organizations = ["system:nodes", "racks"] } = what;
  return issueCertificate({
    issuer,
    rawSubject: buildName({ commonName, organizations }),
    spki: spkiOf(generatePrivateKey()),
    usages: what.usages ?? ["digital signature", "client auth"],
    notBefore: start,
    notAfter: start + hour,
    serial: randomBytes(16),
  }).der;
}

function throughIntermediate(): { readonly leaf: Uint8Array; readonly intermediate: Uint8Array } {
  const key = generatePrivateKey();
  const rawSubject = buildName({ commonName: "between", organizations: [] });
  const { der } = issueCertificate({
    issuer: ca,
    rawSubject,
    spki: spkiOf(key),
    usages: ["cert sign"],
    notBefore: start,
    notAfter: start + 2 * hour,
    serial: randomBytes(16),
    role: "ca",
  });
  const between: Issuer = { rawSubject, keyId: undefined, key, keyKind: "p256", notAfter: start + 2 * hour };
  return { leaf: issue({ issuer: between }), intermediate: der };
}

const ask = (judge: ReturnType<typeof x509>, ...peerCertificates: Uint8Array[]) =>
  judge({ authorization: undefined, peerCertificates });

describe("x509", () => {
  it("gives CN, every O, and the fingerprint", async () => {
    const leaf = issue({});
    const hex = createHash("sha256").update(leaf).digest("hex");
    const malleated = malleatedCertificate(parseCertificate(leaf), "p256") ?? leaf;
    await expect(ask(x509({ roots: () => roots, now: () => start }), leaf)).resolves.toEqual({
      kind: "authenticated",
      user: {
        username: "system:node:a",
        groups: ["system:nodes", "racks"],
        extra: { "authentication.kubernetes.io/credential-id": [`X509SHA256=${hex}`] },
      },
      credential: {
        username: "system:node:a",
        ids: [`X509SHA256=${hex}`],
        malleated: `X509SHA256=${createHash("sha256").update(malleated).digest("hex")}`,
        serialNumber: parseCertificate(leaf).serialNumber,
        issuer: createHash("sha256").update(parseCertificate(leaf).rawIssuer).digest("hex"),
        until: start + hour + 1000,
      },
    });
  });

  it("is absent without a certificate, also after one was seen on the same server", async () => {
    const judge = x509({ roots: () => roots, now: () => start });
    await ask(judge, issue({}));
    await expect(ask(judge)).resolves.toEqual({ kind: "absent" });
  });

  it("is absent for an empty CN", async () => {
    const judge = x509({ roots: () => roots, now: () => start });
    await expect(ask(judge, issue({ commonName: "" }))).resolves.toEqual({ kind: "absent" });
  });

  it("checks validity at every request, for a chain that it has verified before too", async () => {
    let now = start;
    const judge = x509({ roots: () => roots, now: () => now });
    const leaf = issue({});
    await expect(ask(judge, leaf)).resolves.toMatchObject({ kind: "authenticated" });
    now = start + hour;
    await expect(ask(judge, leaf)).resolves.toMatchObject({ kind: "authenticated" });
    now = start + hour + 1000;
    await expect(ask(judge, leaf)).resolves.toMatchObject({
      kind: "rejected",
      reason: expect.stringContaining("expired"),
    });
    now = start - 1;
    await expect(ask(judge, leaf)).resolves.toMatchObject({ kind: "rejected" });
  });

  it("forgets what it verified when the roots change", async () => {
    let current = roots;
    const judge = x509({ roots: () => current, now: () => start });
    const leaf = issue({});
    await expect(ask(judge, leaf)).resolves.toMatchObject({ kind: "authenticated" });
    current = loadTrustRoots(attacker.pem);
    await expect(ask(judge, leaf)).resolves.toMatchObject({ kind: "rejected" });
    current = [];
    await expect(ask(judge, leaf)).resolves.toMatchObject({ kind: "rejected" });
  });

  it("answers the same however full its memory is", async () => {
    const judge = x509({ roots: () => roots, now: () => start, capacity: 1 });
    const [one, other] = [issue({ commonName: "one" }), issue({ commonName: "other" })];
    for (const [leaf, username] of [
      [one, "one"],
      [other, "other"],
      [one, "one"],
    ] as const) {
      await expect(ask(judge, leaf)).resolves.toMatchObject({ user: { username } });
    }
  });

  it("knows a leaf without its intermediate CA, as a resumed session brings it, once the chain was proven", async () => {
    let now = start;
    let current = roots;
    const judge = x509({ roots: () => current, now: () => now });
    const { leaf, intermediate } = throughIntermediate();
    await expect(ask(judge, leaf)).resolves.toMatchObject({ kind: "rejected" });
    await expect(ask(judge, leaf, intermediate)).resolves.toMatchObject({ kind: "authenticated" });
    await expect(ask(judge, leaf)).resolves.toMatchObject({ kind: "authenticated" });
    await expect(ask(judge, issue({ issuer: attacker }))).resolves.toMatchObject({ kind: "rejected" });
    now = start + hour + 1000;
    await expect(ask(judge, leaf)).resolves.toMatchObject({ kind: "rejected" });
    now = start;
    current = loadTrustRoots(ca.pem);
    await expect(ask(judge, leaf)).resolves.toMatchObject({ kind: "rejected" });
  });

  it("does not take a verified leaf for its neighbours in the list", async () => {
    const judge = x509({ roots: () => roots, now: () => start });
    const [good, forged] = [issue({}), issue({ issuer: attacker })];
    await ask(judge, good);
    await ask(judge, good, forged);
    await expect(ask(judge, forged, good)).resolves.toMatchObject({ kind: "rejected" });
  });

  it.each([
    ["another CA of the same name", () => [issue({ issuer: attacker })]],
    ["another CA that is sent along", () => [issue({ issuer: attacker }), attacker.certificate.raw]],
    ["a server certificate", () => [issue({ usages: ["digital signature", "server auth"] })]],
    ["the CA itself", () => [ca.certificate.raw]],
    ["a certificate signed by a leaf's CA name but cut short", () => [issue({}).slice(0, -1)]],
    ["one changed byte of the signature", () => [flipped(issue({}))]],
    ["bytes that are no certificate", () => [randomBytes(300)]],
    ["no bytes", () => [new Uint8Array(0)]],
    ["a giant", () => [new Uint8Array(1_000_000)]],
    ["too many certificates", () => Array.from({ length: 50 }, () => issue({}))],
  ] as const)("rejects %s", async (_name, chain) => {
    const judge = x509({ roots: () => roots, now: () => start });
    const presented = chain();
    await expect(ask(judge, ...presented)).resolves.toMatchObject({ kind: "rejected" });
    await expect(ask(judge, ...presented)).resolves.toMatchObject({ kind: "rejected" });
  });
});

describe("a certificate beside a token", () => {
  const hub = authenticate(
    firstAuthenticated(
      x509({ roots: () => roots, now: () => start }),
      bearer({ audiences: ["api"] }, async (token) =>
        token === "good" ? { kind: "authenticated", user: { username: "by-token", groups: [] } } : { kind: "absent" },
      ),
    ),
    { allowAnonymous: () => true },
  );
  const good = issue({});
  const bad = issue({ issuer: attacker });

  it.each([
    ["a good certificate wins over a bad token", "Bearer bad", [good], { user: { username: "system:node:a" } }],
    ["a good certificate wins over a good token", "Bearer good", [good], { user: { username: "system:node:a" } }],
    ["a good token makes up for a bad certificate", "Bearer good", [bad], { user: { username: "by-token" } }],
    ["a bad certificate alone is never anonymous", undefined, [bad], { kind: "rejected" }],
    ["a bad certificate with an ignored header is never anonymous", "Basic x", [bad], { kind: "rejected" }],
    ["two bad credentials are never anonymous", "Bearer bad", [bad], { kind: "rejected" }],
    ["nothing is anonymous", undefined, [], { user: { username: "system:anonymous" } }],
    ["an empty CN is nothing", undefined, [issue({ commonName: "" })], { user: { username: "system:anonymous" } }],
  ] as const)("%s", async (_name, authorization, peerCertificates, expected) => {
    await expect(hub({ authorization, peerCertificates })).resolves.toMatchObject(expected);
  });
});

function flipped(der: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(der);
  copy[copy.length - 5] = (copy[copy.length - 5] ?? 0) ^ 1;
  return copy;
}

describe("a certificate that has expired", () => {
  const day = 86_400_000;
  const node = (): Uint8Array => issue({ organizations: ["system:nodes"] });
  const judge = (now: () => number, returningMs = 10 * day) => x509({ roots: () => roots, now, returningMs });

  it("makes its holder one who comes back, with the name of the node for what is revoked", async () => {
    const leaf = node();
    const hex = createHash("sha256").update(leaf).digest("hex");
    await expect(
      ask(
        judge(() => start + day),
        leaf,
      ),
    ).resolves.toMatchObject({
      kind: "authenticated",
      user: {
        username: "pratique:returning:system:node:a",
        groups: ["pratique:returning"],
        extra: { "authentication.kubernetes.io/credential-id": [`X509SHA256=${hex}`] },
      },
      credential: { username: "system:node:a", ids: [`X509SHA256=${hex}`] },
    });
  });

  it("turns into that, and into nothing, at its time, whatever was remembered", async () => {
    let now = start + hour;
    const one = judge(() => now);
    const leaf = node();
    const name = async (): Promise<string> => {
      const result = await ask(one, leaf);
      return result.kind === "authenticated" ? result.user.username : result.kind;
    };
    expect(await name()).toBe("system:node:a");
    now = start + hour + 999;
    expect(await name()).toBe("system:node:a");
    now += 1;
    expect([await name(), await name()]).toEqual(Array(2).fill("pratique:returning:system:node:a"));
    now += 10 * day - 1;
    expect(await name()).toBe("pratique:returning:system:node:a");
    now += 1;
    expect(await name()).toBe("rejected");
  });

  it("is nothing beside another credential, also once it was remembered", async () => {
    const one = judge(() => start + day);
    const leaf = node();
    expect((await ask(one, leaf)).kind).toBe("authenticated");
    expect((await one({ authorization: "Bearer x", peerCertificates: [leaf] })).kind).toBe("rejected");
    expect((await ask(one, leaf)).kind).toBe("authenticated");
  });

  it.each([
    ["of another CA", { issuer: attacker, organizations: ["system:nodes"] }],
    ["of a node in other groups", {}],
    ["of a person", { commonName: "ann", organizations: ["system:nodes"] }],
    ["of no node", { commonName: "system:node:", organizations: ["system:nodes"] }],
    ["of a server", { usages: ["server auth"], organizations: ["system:nodes"] }],
  ])("is nothing %s", async (_, what) => {
    expect(
      (
        await ask(
          judge(() => start + day),
          issue(what),
        )
      ).kind,
    ).toBe("rejected");
  });

  it("is nothing once its CA has expired, and where nobody may come back", async () => {
    expect(
      (
        await ask(
          judge(() => start + 366 * day, 400 * day),
          node(),
        )
      ).kind,
    ).toBe("rejected");
    expect(
      (
        await ask(
          judge(() => start + day, 0),
          node(),
        )
      ).kind,
    ).toBe("rejected");
  });

  it("cannot be claimed by a name or group in one that is good", async () => {
    const one = judge(() => start);
    expect((await ask(one, issue({ commonName: "pratique:returning:system:node:a" }))).kind).toBe("rejected");
    expect((await ask(one, issue({ organizations: ["pratique:returning"] }))).kind).toBe("rejected");
  });
});
