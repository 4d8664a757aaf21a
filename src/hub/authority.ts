import { join } from "node:path";
import { X509Certificate } from "node:crypto";
import { createCa, loadCa, CaError, type CertificateAuthority } from "../pki/ca.ts";
import { issueCertificate } from "../pki/certificate.ts";
import { buildName } from "../pki/names.ts";
import { exportPkcs8Pem, exportSec1Pem, generatePrivateKey, spkiOf } from "../pki/keys.ts";
import { buildSubjectAltNames } from "../pki/subject-alt-name.ts";
import { certificateValidity } from "../pki/validity.ts";
import type { RandomBytes } from "../core/clock.ts";
import { HubError } from "./hub-error.ts";
import { privateFolder, replaceFile, textIfThere } from "../agent/private-files.ts";

/** A certificate with the private key that belongs to it, both PEM. */
export interface KeyPair {
  readonly certPem: string;
  readonly keyPem: string;
}

export interface AuthorityOptions {
  /** The folder for ca.crt, ca.key and the serving certificate. */
  readonly dir: string;
  /** The operator's own CA in place of the one made here. */
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  readonly now: number;
  readonly random: RandomBytes;
}

const caYears = 10;
const certificateSeconds = 365 * 24 * 3600;
/** A serving certificate is made anew when less than this is left of it, in milliseconds. */
const renewalMs = 90 * 24 * 3600 * 1000;

/** The hub's CA: the operator's, or the one from `dir`, made there at the first start. @throws HubError with the file that is wrong. */
export async function openAuthority(options: AuthorityOptions): Promise<CertificateAuthority> {
  const { dir, now } = options;
  if ((options.certFile === undefined) !== (options.keyFile === undefined)) {
    throw new HubError(
      "options",
      "--cluster-signing-cert-file and --cluster-signing-key-file go together: give both or neither",
    );
  }
  const certFile = options.certFile ?? join(dir, "ca.crt");
  const keyFile = options.keyFile ?? join(dir, "ca.key");
  const [certificatePem, keyPem] = [await textIfThere(certFile), await textIfThere(keyFile)];
  if (certificatePem === undefined && keyPem === undefined && options.certFile === undefined)
    return makeAuthority(options);
  if (certificatePem === undefined || keyPem === undefined) {
    throw new HubError(
      "ca",
      `${certificatePem === undefined ? certFile : keyFile} is missing; a CA needs its certificate and its key`,
    );
  }
  try {
    return loadCa({ certificatePem, keyPem, now });
  } catch (error) {
    if (!(error instanceof CaError)) throw error;
    throw new HubError("ca", `${certFile}, ${keyFile}: ${error.message}`, { cause: error });
  }
}

async function makeAuthority({ dir, now, random }: AuthorityOptions): Promise<CertificateAuthority> {
  await privateFolder(dir);
  const key = generatePrivateKey();
  const authority = createCa({ commonName: "pratique", key, now, years: caYears, random });
  // The key first: a certificate without its key would be taken for a damaged CA.
  await replaceFile(join(dir, "ca.key"), exportPkcs8Pem(key));
  await replaceFile(join(dir, "ca.crt"), authority.pem, 0o644);
  return authority;
}

/** What a certificate issued by the hub for itself or its operator says. */
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
    maximumSeconds: certificateSeconds,
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

/** The serving certificate from `dir`, made anew when it is missing, near its end, of another CA, or lacks a name. */
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
    if (Date.parse(certificate.validTo) - now < renewalMs) return false;
    return (
      wanted.dnsNames.every((name) => certificate.checkHost(name) !== undefined) &&
      wanted.ipAddresses.every((ip) => certificate.checkIP(ip) !== undefined)
    );
  } catch {
    // Unreadable counts as missing: this certificate can be made again at no loss.
    return false;
  }
}
