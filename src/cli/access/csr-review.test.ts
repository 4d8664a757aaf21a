import { sign } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tags } from "../../pki/der.ts";
import { derBitBytes, derElement, derOid, derSequence, derTrue, derUnsigned } from "../../pki/der-writer.ts";
import { buildExtension } from "../../pki/extensions.ts";
import { keyFingerprint, spkiOf } from "../../pki/keys.ts";
import { buildName } from "../../pki/names.ts";
import { oids } from "../../pki/oids.ts";
import { encodePem } from "../../pki/pem.ts";
import { type AskedCsr, csrKey as key, csrObject } from "../../../test/kits/csr-object.ts";
import { isUndecided, reviewCsr } from "./csr-review.ts";

const clientKubelet = "kubernetes.io/kube-apiserver-client-kubelet";
const serving = "kubernetes.io/kubelet-serving";
const client = "kubernetes.io/kube-apiserver-client";
const bootstrap = "system:bootstrap:abcdef";

/** A node's request with one more extension. */
function withExtension(oid: string, value: Uint8Array): string {
  const extensions = derSequence(buildExtension({ oid, critical: true, value }));
  const info = derSequence(
    derUnsigned(Uint8Array.of(0)),
    buildName({ commonName: "system:node:m1", organizations: ["system:nodes"] }),
    spkiOf(key),
    derElement(0xa0, derSequence(derOid(oids.extensionRequest), derElement(tags.set, extensions))),
  );
  const signature = derBitBytes(sign("sha256", info, key));
  return encodePem("CERTIFICATE REQUEST", derSequence(info, derSequence(derOid(oids.ecdsaWithSha256)), signature));
}

describe("reviewCsr", () => {
  test("tells who asks for what, with which key", () => {
    expect(reviewCsr(csrObject())).toEqual({
      name: "r",
      created: "2026-11-21T00:00:00Z",
      requestor: bootstrap,
      groups: ["system:bootstrappers"],
      tokenId: "abcdef",
      signer: clientKubelet,
      usages: ["digital signature", "client auth"],
      subject: { commonName: "system:node:m1", organizations: ["system:nodes"] },
      sans: [],
      key: "p256",
      fingerprint: keyFingerprint(spkiOf(key)),
      nameMarks: [],
      warnings: [],
    });
  });

  const harmless: Readonly<Record<string, AskedCsr>> = {
    "a node's first client certificate": {},
    "a node's renewal": { username: "system:node:m1" },
    "a node's serving certificate": {
      signerName: serving,
      usages: ["digital signature", "server auth"],
      username: "system:node:m1",
      dnsNames: ["m1"],
      ipAddresses: ["10.0.0.1"],
    },
    "a person's client certificate": {
      signerName: client,
      usages: ["client auth"],
      commonName: "Ada Lovelace",
      organizations: ["developers"],
      username: "admin",
    },
  };
  test.each(Object.entries(harmless))("finds nothing that needs care in %s", (_title, asked) => {
    expect(reviewCsr(csrObject(asked)).warnings).toEqual([]);
  });

  const person: AskedCsr = { signerName: client, usages: ["client auth"], organizations: [], username: "admin" };
  const server: AskedCsr = { signerName: serving, usages: ["digital signature", "server auth"], dnsNames: ["m1"] };
  const dangerous: Readonly<Record<string, readonly [AskedCsr, readonly string[]]>> = {
    "the group that may do everything": [
      { ...person, commonName: "ada", organizations: ["developers", "system:masters"] },
      ["asks for the group system:masters, which may do everything"],
    ],
    "a user of the system": [
      { ...person, commonName: "system:kube-controller-manager" },
      ['asks to be "system:kube-controller-manager", a user of the system itself'],
    ],
    "the name of a token's user": [
      { ...person, commonName: "system:bootstrap:abcdef" },
      ['asks to be "system:bootstrap:abcdef", a user of the system itself'],
    ],
    "another group of the system": [
      { ...person, commonName: "ada", organizations: ["system:serviceaccounts"] },
      ['asks for the group "system:serviceaccounts", a group of the system itself'],
    ],
    "usages of a CA": [
      { signerName: "example.com/own", usages: ["cert sign"] },
      ["asks for a CA: a certificate that could sign others"],
    ],
    "wildcard names": [
      { ...server, username: "system:node:m1", dnsNames: ["*.example.com", "m1"] },
      ['asks for wildcard names: "*.example.com"'],
    ],
    "a serving certificate in another's name": [
      { ...server, username: "system:node:m2" },
      [
        'asks for a serving certificate of "system:node:m1" in the name of another, "system:node:m2"',
        'a node, "system:node:m2", asks to be another, "system:node:m1"',
      ],
    ],
    "a node that asks to be another": [
      { username: "system:node:m2" },
      ['a node, "system:node:m2", asks to be another, "system:node:m1"'],
    ],
    "letters that look like others": [
      { ...person, commonName: "аdmin" },
      ['the name "аdmin" holds characters that look like others, or like none'],
    ],
    "blanks that cannot be seen": [
      { ...person, commonName: "admin " },
      ['the name "admin " holds characters that look like others, or like none'],
    ],
    "a request that the signer would refuse": [
      { organizations: ["system:nodes", "x"] },
      ["its signer will refuse it: subject organization is not system:nodes"],
    ],
    "a request that cannot be read": [
      { request: "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n" },
      [expect.stringMatching(/^the request cannot be read: certificate request: /)],
    ],
    "no request at all": [{ request: "" }, [expect.stringMatching(/^the request cannot be read: /)]],
  };
  test.each(Object.entries(dangerous))("points at %s", (_title, [asked, warnings]) => {
    expect(reviewCsr(csrObject(asked)).warnings).toEqual(warnings);
  });

  test.each([
    ["basic constraints", oids.basicConstraints, derSequence(derTrue())],
    ["key usage", oids.keyUsage, Uint8Array.of(3, 2, 2, 4)],
  ])("points at a CA that is asked for by %s", (_title, oid, value) => {
    expect(reviewCsr(csrObject({ request: withExtension(oid, value) })).warnings).toEqual([
      "asks for a CA: a certificate that could sign others",
    ]);
  });

  test("reads any request without throwing", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.array(fc.string()), (request, username, usages) => {
        expect(reviewCsr(csrObject({ request, username, usages })).warnings).not.toEqual([]);
      }),
      { numRuns: 100 },
    );
  });
});

describe("isUndecided", () => {
  const cases: Readonly<Record<string, readonly [readonly object[] | undefined, boolean]>> = {
    "without a status": [undefined, true],
    "without conditions": [[], true],
    "with a condition of another type": [[{ type: "Seen", status: "True" }], true],
    approved: [[{ type: "Approved", status: "True" }], false],
    denied: [[{ type: "Denied", status: "True" }], false],
    failed: [[{ type: "Failed", status: "True" }], false],
  };
  test.each(Object.entries(cases))("of a request %s", (_title, [conditions, expected]) => {
    expect(isUndecided({ ...csrObject(), ...(conditions === undefined ? {} : { status: { conditions } }) })).toBe(
      expected,
    );
  });
});

test("what the hub says of a request is among its facts, and below the tables of pending", () => {
  const left = { type: "NotApprovedAutomatically", status: "True", reason: "RequesterRevoked", message: "revoked" };
  const object = { ...csrObject(), status: { conditions: [left] } };
  expect(reviewCsr(object).waitsFor).toBe("RequesterRevoked: revoked");
});

test("a request that its signer fails because the user is revoked is one that needs care", () => {
  const left = { type: "NotApprovedAutomatically", status: "True", reason: "UserRevoked", message: "revoked" };
  const object = { ...csrObject(), status: { conditions: [left] } };
  expect(reviewCsr(object).warnings).toEqual([
    'asks for a certificate of "system:node:m1", which was revoked: while it is, an approval ends in the condition Failed',
  ]);
});
