import { join } from "node:path";
import { X509Certificate } from "node:crypto";
import type { CertificateAuthority } from "../pki/ca.ts";
import { issueCertificate } from "../pki/certificate.ts";
import { buildName } from "../pki/names.ts";
import { exportSec1Pem, generatePrivateKey, spkiOf } from "../pki/keys.ts";
import { buildSubjectAltNames } from "../pki/subject-alt-name.ts";
import { certificateValidity, type Validity } from "../pki/validity.ts";
import type { RandomBytes } from "../apimachinery/clock.ts";
import { privateFolder, replaceFile, textIfThere } from "../host/private-files.ts";

/** A certificate with the private key that belongs to it, both PEM. */
export interface KeyPair {
  readonly certPem: string;
  readonly keyPem: string;
}

const certificateSeconds = 365 * 24 * 3600;
/** A serving certificate is renewed when less than this is left of it, in milliseconds. */
const renewalMs = 90 * 24 * 3600 * 1000;

/** The validity of the first certificate of a PEM text. @throws the error of OpenSSL for a text without one */
export function certificateTimes(pem: string): Validity {
  const { validFrom, validTo } = new X509Certificate(pem);
  return { notBefore: Date.parse(validFrom), notAfter: Date.parse(validTo) };
}

/**
 * Whether a certificate of the hub's own must be renewed at `now`: it is not valid yet, since the clock was ahead when it was issued, or less
 * than 90 days of it are left and a new one of the same CA would be valid for longer.
 */
export function isDue({ notBefore, notAfter }: Validity, now: number, caNotAfter: number): boolean {
  if (now < notBefore) return true;
  // Times in certificates are whole seconds.
  return notAfter - now < renewalMs && (now >= notAfter || caNotAfter - notAfter >= 1000);
}

/** The content of a certificate that the hub issues for itself or its operator. */
export interface OwnCertificate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly usage: "server auth" | "client auth";
}

/** Issues a certificate with a new key. */
export function issueOwn(
  authority: CertificateAuthority,
  wanted: OwnCertificate,
  at: { readonly now: number; readonly random: RandomBytes },
): KeyPair {
  const key = generatePrivateKey();
  const validity = certificateValidity({
    now: at.now,
    maxSeconds: certificateSeconds,
    caNotAfter: authority.notAfter,
  });
  const { pem } = issueCertificate({
    issuer: authority,
    rawSubject: buildName({ commonName: wanted.commonName, organizations: wanted.organizations }),
    spki: spkiOf(key),
    rawSans: buildSubjectAltNames({ dns: wanted.dnsNames, ip: wanted.ipAddresses }),
    usages: ["digital signature", "key encipherment", wanted.usage],
    ...validity,
    serial: at.random(16),
  });
  return { certPem: pem, keyPem: exportSec1Pem(key) };
}

/** The serving certificate from `dir`, renewed when it is missing, not valid yet, near its expiry, of another CA, or lacks a name. */
export async function servingCertificate(
  authority: CertificateAuthority,
  wanted: Pick<OwnCertificate, "dnsNames" | "ipAddresses">,
  at: { readonly dir: string; readonly now: number; readonly random: RandomBytes },
): Promise<KeyPair> {
  const [certFile, keyFile] = [join(at.dir, "apiserver.crt"), join(at.dir, "apiserver.key")];
  const [certPem, keyPem] = [await textIfThere(certFile), await textIfThere(keyFile)];
  if (
    certPem !== undefined &&
    keyPem !== undefined &&
    stillGood({ certPem, keyPem }, { authority, wanted, now: at.now })
  ) {
    return { certPem, keyPem };
  }
  const made = issueOwn(
    authority,
    { commonName: "kube-apiserver", organizations: [], usage: "server auth", ...wanted },
    at,
  );
  await privateFolder(at.dir);
  await replaceFile(keyFile, made.keyPem);
  await replaceFile(certFile, made.certPem, 0o644);
  return made;
}

function stillGood(
  pair: KeyPair,
  {
    authority,
    wanted,
    now,
  }: {
    readonly authority: CertificateAuthority;
    readonly wanted: Pick<OwnCertificate, "dnsNames" | "ipAddresses">;
    readonly now: number;
  },
): boolean {
  try {
    const certificate = new X509Certificate(pair.certPem);
    if (!certificate.verify(new X509Certificate(authority.pem).publicKey)) return false;
    if (isDue(certificateTimes(pair.certPem), now, authority.notAfter)) return false;
    return (
      wanted.dnsNames.every((name) => certificate.checkHost(name) !== undefined) &&
      wanted.ipAddresses.every((ip) => certificate.checkIP(ip) !== undefined)
    );
  } catch {
    // Unreadable counts as missing: this certificate can be issued again without loss.
    return false;
  }
}
