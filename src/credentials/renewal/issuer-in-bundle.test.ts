import { expect, test } from "vitest";
import { clientCertificate, testCa } from "../../../test/kits/fake-hub.ts";
import { generatePrivateKey, spkiOf } from "../../pki/keys.ts";
import { buildName } from "../../pki/names.ts";
import { decodePem } from "../../pki/pem.ts";
import { issuerInBundle } from "./issuer-in-bundle.ts";

const rawSubject = buildName({ commonName: "n1", organizations: [] });
const leafOf = (ca: ReturnType<typeof testCa>): Uint8Array =>
  decodePem(clientCertificate(ca, { rawSubject, spki: spkiOf(generatePrivateKey()) }))[0]?.bytes ?? new Uint8Array();

test("the issuer is the CA whose key has signed, also where another has its name", () => {
  const [one, namesake, other] = [testCa("a"), testCa("a"), testCa("b")];
  const bundle = `${namesake.pem}${one.pem}${other.pem}`;
  expect(issuerInBundle(leafOf(one), bundle)).toEqual({ pin: one.pin, notBefore: expect.any(Number) as number });
  expect(issuerInBundle(leafOf(other), bundle)?.pin).toBe(other.pin);
});

test("there is none where no CA of the bundle has signed, or nothing can be read", () => {
  const [one, namesake] = [testCa("a"), testCa("a")];
  expect(issuerInBundle(leafOf(one), namesake.pem)).toBeUndefined();
  expect(issuerInBundle(leafOf(one), "")).toBeUndefined();
  expect(issuerInBundle(new Uint8Array([48, 3, 2, 1]), one.pem)).toBeUndefined();
  const broken = leafOf(one);
  broken[broken.length - 1] = (broken.at(-1) ?? 0) ^ 1;
  expect(issuerInBundle(broken, one.pem)).toBeUndefined();
});
