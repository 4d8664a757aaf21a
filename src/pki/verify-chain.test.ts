import { generateKeyPairSync, randomBytes, sign, type KeyObject } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createCa } from "./ca.ts";
import { CertificateError } from "./certificate.ts";
import {
  derBitBytes,
  derElement,
  derNamedBits,
  derOctets,
  derOid,
  derSequence,
  derTime,
  derTrue,
  derUnsigned,
} from "./der-writer.ts";
import { generatePrivateKey, spkiOf } from "./keys.ts";
import { buildName } from "./names.ts";
import { oids } from "./oids.ts";
import { parseCertificate } from "./parse-certificate.ts";
import { encodePem } from "./pem.ts";
import { loadTrustRoots, trustRootOf, verifyClientChain, type ClientChainVerdict } from "./verify-chain.ts";

const now = Date.UTC(2026, 10, 21, 2, 5, 49);
const hour = 3_600_000;

interface Party {
  readonly name: Uint8Array;
  readonly key: KeyObject;
  readonly der: Uint8Array;
}

interface Shape {
  readonly name?: Uint8Array;
  readonly key?: KeyObject;
  readonly issuer?: { readonly name: Uint8Array; readonly key: KeyObject };
  readonly from?: number;
  readonly to?: number;
  readonly extensions: readonly Uint8Array[];
  readonly hash?: "sha256" | "sha1";
}

const name = (commonName: string): Uint8Array => buildName({ commonName, organizations: ["dev"] });
const extension = (oid: string, value: Uint8Array): Uint8Array => derSequence(derOid(oid), derOctets(value));
const critical = (oid: string, value: Uint8Array): Uint8Array => derSequence(derOid(oid), derTrue(), derOctets(value));
const purposes = (...list: string[]): Uint8Array => extension(oids.extendedKeyUsage, derSequence(...list.map(derOid)));
const isCa = (pathLength?: number): Uint8Array =>
  critical(
    oids.basicConstraints,
    pathLength === undefined ? derSequence(derTrue()) : derSequence(derTrue(), derUnsigned(Uint8Array.of(pathLength))),
  );
const certSign = critical(oids.keyUsage, derNamedBits([5]));
const forClients = [critical(oids.keyUsage, derNamedBits([0])), purposes(oids.clientAuth)];
const ca = [isCa(), certSign];

function make(commonName: string, shape: Shape): Party {
  const key = shape.key ?? generatePrivateKey();
  const own = { name: shape.name ?? name(commonName), key };
  const issuer = shape.issuer ?? own;
  const algorithm = derSequence(derOid(shape.hash === "sha1" ? "1.2.840.10045.4.1" : oids.ecdsaWithSha256));
  const tbs = derSequence(
    derElement(0xa0, derUnsigned(Uint8Array.of(2))),
    derUnsigned(randomBytes(8)),
    algorithm,
    issuer.name,
    derSequence(derTime(shape.from ?? now - hour), derTime(shape.to ?? now + hour)),
    own.name,
    spkiOf(key),
    ...(shape.extensions.length === 0 ? [] : [derElement(0xa3, derSequence(...shape.extensions))]),
  );
  return { ...own, der: derSequence(tbs, algorithm, derBitBytes(sign(shape.hash ?? "sha256", tbs, issuer.key))) };
}

const root = make("root", { extensions: ca });
const client = (changes: Partial<Shape> = {}): Party =>
  make("user", { issuer: root, extensions: forClients, ...changes });

function judge(
  leaf: Party,
  options: { via?: readonly Party[]; roots?: readonly Party[]; at?: number } = {},
): ClientChainVerdict {
  return verifyClientChain({
    leaf: leaf.der,
    intermediates: (options.via ?? []).map((party) => party.der),
    roots: (options.roots ?? [root]).map((party) => trustRootOf(parseCertificate(party.der))),
    now: options.at ?? now,
  });
}

const errorOf = (verdict: ClientChainVerdict): string => (verdict.ok ? "accepted" : verdict.error);

describe("a client chain is accepted", () => {
  it("when a root signed the leaf, and tells who it is", () => {
    const leaf = client({ to: now + 60_000 });
    const verdict = judge(leaf);
    expect(verdict).toMatchObject({
      ok: true,
      subject: { commonName: "user", organizations: ["dev"] },
      uid: undefined,
      validUntil: now + 60_000,
    });
    expect(verdict.ok && verdict.fingerprint).toMatch(/^[0-9a-f]{64}$/);
  });

  it("through intermediates in any order, up to five certificates", () => {
    const one = make("one", { issuer: root, extensions: ca });
    const two = make("two", { issuer: one, extensions: ca, to: now + 1000 });
    const three = make("three", { issuer: two, extensions: ca });
    const verdict = judge(client({ issuer: three }), { via: [one, three, two] });
    expect(verdict).toMatchObject({ ok: true, validUntil: now + 1000 });
    const four = make("four", { issuer: three, extensions: ca });
    expect(errorOf(judge(client({ issuer: four }), { via: [one, two, three, four] }))).toMatch(/longer than 5/);
  });

  it("with anyExtendedKeyUsage, and by a root without keyUsage", () => {
    expect(judge(client({ extensions: [purposes(oids.anyExtendedKeyUsage)] })).ok).toBe(true);
    const bare = make("bare", { extensions: [isCa()] });
    expect(judge(client({ issuer: bare }), { roots: [root, bare] }).ok).toBe(true);
  });

  it("by the right one of two roots of the same name", () => {
    const renewed = make("root", { extensions: ca });
    expect(judge(client({ issuer: renewed }), { roots: [root, renewed] }).ok).toBe(true);
    expect(judge(client(), { roots: [renewed, root] }).ok).toBe(true);
  });

  it("beside unrelated certificates, and at both ends of its validity", () => {
    const leaf = client();
    expect(judge(leaf, { via: [make("other", { extensions: ca }), root, leaf] }).ok).toBe(true);
    expect(judge(leaf, { at: now - hour }).ok).toBe(true);
    expect(judge(leaf, { at: now + hour + 999 }).ok).toBe(true);
  });

  it("with the uid attribute of Kubernetes", () => {
    const attribute = (oid: string, text: string): Uint8Array =>
      derElement(0x31, derSequence(derOid(oid), derElement(0x0c, Buffer.from(text))));
    const cn = attribute(oids.commonName, "u");
    const uid = attribute(oids.userUid, "id-1");
    expect(judge(client({ name: derSequence(cn, uid) }))).toMatchObject({ ok: true, uid: "id-1" });
    expect(errorOf(judge(client({ name: derSequence(cn, uid, uid) })))).toMatch(/more than one uid/);
    expect(errorOf(judge(client({ name: derSequence(cn, attribute(oids.userUid, "")) })))).toMatch(/must have 1 to/);
  });

  it("with an empty common name, which names nobody", () => {
    expect(judge(client({ name: derSequence() }))).toMatchObject({ ok: true, subject: { commonName: "" } });
  });
});

describe("a client chain is refused", () => {
  it("when it is forged: the right issuer name, the wrong key", () => {
    const forger = { name: root.name, key: generatePrivateKey() };
    expect(errorOf(judge(client({ issuer: forger })))).toMatch(/does not verify/);
    const fakeCa = make("one", { issuer: forger, extensions: ca });
    expect(judge(client({ issuer: fakeCa }), { via: [fakeCa] }).ok).toBe(false);
  });

  it("when the client brings its own root under a trusted name", () => {
    const impostor = make("root", { extensions: ca });
    expect(judge(client({ issuer: impostor }), { via: [impostor] }).ok).toBe(false);
  });

  it("when nobody known signed it, or it signed itself", () => {
    const stranger = make("stranger", { extensions: ca });
    expect(errorOf(judge(client({ issuer: stranger }), { via: [stranger] }))).toMatch(/unknown authority/);
    expect(errorOf(judge(make("user", { extensions: forClients })))).toMatch(/unknown authority/);
    expect(judge(client(), { roots: [] }).ok).toBe(false);
  });

  it("when it signed itself, even if it stands among the roots", () => {
    const own = make("user", { extensions: forClients });
    expect(errorOf(judge(own, { roots: [own] }))).toMatch(/not a CA/);
  });

  it("when it has expired or is not valid yet", () => {
    expect(errorOf(judge(client({ to: now - 1000 })))).toBe("certificate has expired on 2026-11-21T02:05:48Z");
    expect(errorOf(judge(client({ from: now + 1000 })))).toMatch(/^certificate is not valid before/);
  });

  it("when an intermediate or the root has expired or is not valid yet", () => {
    for (const shape of [{ to: now - 1000 }, { from: now + 1000 }]) {
      const one = make("one", { issuer: root, extensions: ca, ...shape });
      expect(errorOf(judge(client({ issuer: one }), { via: [one] }))).toMatch(/^a CA certificate (has expired|is not)/);
      const old = make("old", { extensions: ca, ...shape });
      expect(errorOf(judge(client({ issuer: old }), { roots: [old] }))).toMatch(
        /^a CA certificate (has expired|is not)/,
      );
    }
  });

  it("when it is for servers only, or for nothing in particular", () => {
    expect(errorOf(judge(client({ extensions: [purposes(oids.serverAuth)] })))).toMatch(/not for client auth/);
    expect(errorOf(judge(client({ extensions: [] })))).toMatch(/not for client authentication/);
  });

  it("when it is a CA itself", () => {
    expect(errorOf(judge(client({ extensions: [isCa(), purposes(oids.clientAuth)] })))).toMatch(/is not a client/);
    expect(judge(root).ok).toBe(false);
  });

  it.each([
    ["is a client certificate", forClients],
    ["has CA:FALSE", [extension(oids.basicConstraints, derSequence()), certSign]],
    ["has no basicConstraints", [certSign]],
    ["has no keyUsage", [isCa()]],
    ["may not sign certificates", [isCa(), critical(oids.keyUsage, derNamedBits([0, 6]))]],
  ])("when an intermediate %s", (_what, extensions) => {
    const one = make("one", { issuer: root, extensions });
    expect(errorOf(judge(client({ issuer: one }), { via: [one] }))).toMatch(/not a CA/);
  });

  it("when an intermediate is for servers only", () => {
    const one = make("one", { issuer: root, extensions: [...ca, purposes(oids.serverAuth)] });
    expect(errorOf(judge(client({ issuer: one }), { via: [one] }))).toMatch(/CA certificate is not for client/);
  });

  it("when more CAs stand below one than it allows", () => {
    const narrow = make("narrow", { extensions: [isCa(0), certSign] });
    const one = make("one", { issuer: narrow, extensions: ca });
    expect(judge(client({ issuer: narrow }), { roots: [narrow] }).ok).toBe(true);
    expect(errorOf(judge(client({ issuer: one }), { via: [one], roots: [narrow] }))).toMatch(/more CAs below/);
    const middle = make("middle", { issuer: root, extensions: [isCa(0), certSign] });
    const two = make("two", { issuer: middle, extensions: ca });
    expect(errorOf(judge(client({ issuer: two }), { via: [two, middle] }))).toMatch(/more CAs below/);
  });

  it("when a critical extension is unknown, or there are name constraints", () => {
    const unknown = critical("1.2.3.4", derOctets(new Uint8Array(1)));
    expect(errorOf(judge(client({ extensions: [...forClients, unknown] })))).toMatch(/critical extension 1\.2\.3\.4/);
    const strict = make("strict", { issuer: root, extensions: [...ca, unknown] });
    expect(errorOf(judge(client({ issuer: strict }), { via: [strict] }))).toMatch(/critical extension/);
    for (const constraints of [critical, extension]) {
      const bound = make("bound", {
        issuer: root,
        extensions: [...ca, constraints(oids.nameConstraints, derSequence())],
      });
      expect(errorOf(judge(client({ issuer: bound }), { via: [bound] }))).toMatch(/name constraints/);
    }
  });

  it("when a link is signed with SHA-1", () => {
    expect(errorOf(judge(client({ hash: "sha1" })))).toMatch(/algorithm that is not accepted/);
    const one = make("one", { issuer: root, extensions: ca, hash: "sha1" });
    expect(errorOf(judge(client({ issuer: one }), { via: [one] }))).toMatch(/algorithm that is not accepted/);
  });

  it("when its algorithm is not of its issuer's key", () => {
    const { privateKey } = generateKeyPairSync("ed25519");
    const edwards = createCa({ commonName: "ed", key: privateKey, now, years: 1, random: randomBytes });
    const verdict = verifyClientChain({
      leaf: client({ issuer: { name: edwards.rawSubject, key: generatePrivateKey() } }).der,
      intermediates: [],
      roots: [trustRootOf(edwards.certificate)],
      now,
    });
    expect(errorOf(verdict)).toMatch(/does not verify/);
  });

  it("when its common name is repeated", () => {
    const cn = (text: string): Uint8Array =>
      derElement(0x31, derSequence(derOid(oids.commonName), derElement(0x0c, Buffer.from(text))));
    expect(errorOf(judge(client({ name: derSequence(cn("user"), cn("admin")) })))).toMatch(/more than one common name/);
  });

  it("when more than ten certificates are presented, or one of them is rubbish", () => {
    expect(errorOf(judge(client(), { via: Array.from({ length: 10 }, () => root) }))).toMatch(/more than 10/);
    const verdict = verifyClientChain({ leaf: client().der, intermediates: [new Uint8Array(3)], roots: [], now });
    expect(verdict.ok).toBe(false);
  });

  it("within a bounded number of signature checks, however the presented CAs refer to each other", () => {
    const key = generatePrivateKey();
    const loop = { name: name("loop"), key };
    const loops = Array.from({ length: 9 }, () => make("loop", { key, issuer: loop, extensions: ca }));
    expect(errorOf(judge(client({ issuer: loop }), { via: loops }))).toMatch(/too many chains|longer than 5/);
  });

  it("for any change of a byte in the leaf", () => {
    const leaf = client();
    const roots = [trustRootOf(parseCertificate(root.der))];
    fc.assert(
      fc.property(fc.nat({ max: leaf.der.length - 1 }), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const changed = Uint8Array.from(leaf.der);
        changed[at] = (changed[at] ?? 0) ^ flip;
        expect(verifyClientChain({ leaf: changed, intermediates: [], roots, now }).ok).toBe(false);
      }),
      { numRuns: 200 },
    );
  });
});

describe("loadTrustRoots", () => {
  it("reads a bundle with text in it and refuses anything that is not a certificate", () => {
    const pem = encodePem("CERTIFICATE", root.der);
    expect(loadTrustRoots(`first\n${pem}second\n${pem}`)).toHaveLength(2);
    for (const bad of [
      "",
      "text",
      encodePem("PRIVATE KEY", root.der),
      encodePem("CERTIFICATE", root.der.subarray(1)),
    ]) {
      expect(() => loadTrustRoots(bad)).toThrow(CertificateError);
    }
  });
});
