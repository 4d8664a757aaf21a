import { generateKeyPairSync, type KeyObject } from "node:crypto";
import type { RandomBytes } from "../apimachinery/clock.ts";
import type { CertificateAuthority } from "../pki/ca.ts";
import { issueCertificate } from "../pki/certificate.ts";
import { generatePrivateKey, keyKindOf, spkiOf } from "../pki/keys.ts";

const lifeMs = 24 * 3600 * 1000;

/**
 * PEM of a certificate that bears the CA's name and can vouch for nothing: its key is thrown away. A TLS server that is given it in
 * place of the CA sends the name to clients and finds none of their certificates valid of its own accord. The x509 authenticator alone
 * judges them; OpenSSL's attempt would cost a signature more for each connection, would end connections over forged signatures before
 * they get their 401, and makes some releases of Node 24 forget the intermediate CAs (nodejs/node#65579).
 */
export function nameOnlyCertificate(
  authority: Pick<CertificateAuthority, "rawSubject" | "keyKind">,
  at: { readonly now: number; readonly random: RandomBytes },
): string {
  const key = keyOfAnotherKind(authority);
  const { rawSubject } = authority;
  const notAfter = at.now + lifeMs;
  return issueCertificate({
    issuer: { rawSubject, keyId: undefined, key, keyKind: keyKindOf(key), notAfter },
    rawSubject,
    spki: spkiOf(key),
    usages: ["digital signature"],
    notBefore: at.now,
    notAfter,
    serial: at.random(16),
  }).pem;
}

/** OpenSSL tries a signature only against keys of the kind that it was made with, so this one is never tried. */
function keyOfAnotherKind({ keyKind }: Pick<CertificateAuthority, "keyKind">): KeyObject {
  return keyKind === "ed25519" ? generatePrivateKey() : generateKeyPairSync("ed25519").privateKey;
}
