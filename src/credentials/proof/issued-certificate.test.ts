import { randomBytes } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { clientCertificate, testCa } from "../../../test/kits/fake-hub.ts";
import { issueCertificate } from "../../pki/certificate.ts";
import { generatePrivateKey, spkiOf } from "../../pki/keys.ts";
import { buildName } from "../../pki/names.ts";
import { ownCertificate, type Expectation } from "./issued-certificate.ts";
import { JoinError } from "../join-error.ts";

const ca = testCa();
const spki = spkiOf(generatePrivateKey());
const rawSubject = buildName({ commonName: "system:node:n1", organizations: ["system:nodes"] });
const expected: Expectation = { spki, nodeName: "n1", caPem: ca.pem, now: Date.now() };
const good = clientCertificate(ca, { rawSubject, spki });

function refusal(pem: string, change: Partial<Expectation> = {}): JoinError {
  try {
    ownCertificate(pem, { ...expected, ...change });
  } catch (error) {
    if (error instanceof JoinError) return error;
    throw error;
  }
  throw new TypeError("it was accepted");
}

describe("a certificate that was issued", () => {
  test("is ours when key, name, CA and time fit; words around it are dropped", () => {
    expect(ownCertificate(`hello\n${good}bye\n`, expected).pem).toBe(good);
  });

  test("is ours when it comes with its chain, whichever CA of a bundle it is from", () => {
    const caPem = testCa("other").pem + ca.pem;
    expect(ownCertificate(good + ca.pem, { ...expected, caPem }).pem).toBe(good + ca.pem);
  });

  const subject = (commonName: string, organizations: readonly string[]): string =>
    clientCertificate(ca, { rawSubject: buildName({ commonName, organizations }), spki });
  const server = issueCertificate({
    issuer: ca,
    rawSubject,
    spki,
    usages: ["digital signature", "server auth"],
    notBefore: Date.now() - 1000,
    notAfter: Date.now() + 60_000,
    serial: randomBytes(16),
  }).pem;

  test.each([
    [
      "for another key",
      clientCertificate(ca, { rawSubject, spki: spkiOf(generatePrivateKey()) }),
      "it is for another key",
    ],
    ["of another node", subject("system:node:n2", ["system:nodes"]), "it does not name system:node:n1"],
    ["of a person", subject("system:node:n1", ["system:masters"]), "it does not name system:node:n1"],
    ["with a group more", subject("system:node:n1", ["system:nodes", "system:masters"]), "it does not name"],
    ["without a group", subject("system:node:n1", []), "it does not name"],
    ["of another CA", clientCertificate(testCa(), { rawSubject, spki }), "certificate signature does not verify"],
    ["for servers", server, "certificate is not for client authentication"],
    ["that is empty", "", "it cannot be read: there is no PEM block"],
    ["that is a key", good.replaceAll("CERTIFICATE", "EC PRIVATE KEY"), "it is not a list of certificates"],
    ["that is cut off", good.slice(0, 200), "it cannot be read"],
  ])("bad-certificate: one %s is refused", (_, pem, why) => {
    const error = refusal(pem);
    expect(error.code).toBe("bad-certificate");
    expect(error.message).toContain(why);
    expect(error.message).toContain("nothing was written");
  });

  test("clock-skew: says by how much the certificate lies in the future or the past", () => {
    const { now } = expected;
    const early = refusal(good, { now: now - 3_600_000 });
    expect(early.code).toBe("clock-skew");
    expect(early.message).toMatch(
      /^the hub issued a certificate that will be valid in 55 minutes by this machine's clock; set/,
    );
    const late = refusal(good, { now: now + 10_800_000, aheadMs: 10_800_000 });
    expect(late.code).toBe("clock-skew");
    expect(late.message).toContain("expired 2 hours ago by this machine's clock");
    expect(late.message).toContain("this machine's clock is 3 hours ahead of the hub's");
  });

  test("is refused, never a crash, with any byte of it changed", () => {
    const body = Buffer.from(good.split("\n").slice(1, -2).join(""), "base64");
    fc.assert(
      fc.property(fc.nat(body.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const changed = Buffer.from(body);
        changed[at] = (changed[at] ?? 0) ^ flip;
        const pem = `-----BEGIN CERTIFICATE-----\n${changed.toString("base64")}\n-----END CERTIFICATE-----\n`;
        expect(["bad-certificate", "clock-skew"]).toContain(refusal(pem).code);
      }),
      { numRuns: 200 },
    );
  });
});
