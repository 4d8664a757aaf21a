import { createHash, type KeyObject } from "node:crypto";
import { rfc3339 } from "../apimachinery/clock.ts";
import { CertificateError } from "./certificate.ts";
import { DerError, sameBytes } from "./der.ts";
import { attributeTexts, subjectOf, type Subject } from "./names.ts";
import { oids } from "./oids.ts";
import { parseCertificate, type ParsedCertificate, malleatedCertificate } from "./parse-certificate.ts";
import { decodePem, PemError } from "./pem.ts";
import { importPublicKey, KeyError } from "./public-key.ts";
import { verifySignature } from "./signature.ts";
import { keyUsageBits } from "./usages.ts";

/** A certificate whose key is trusted to sign others. */
export interface TrustRoot {
  readonly certificate: ParsedCertificate;
  readonly publicKey: KeyObject;
}

/** The presented certificates and how to verify them. */
export interface ClientChainInput {
  /** DER of the client's own certificate. */
  readonly leaf: Uint8Array;
  /** DER of the other certificates it sent, in any order. */
  readonly intermediates: readonly Uint8Array[];
  readonly roots: readonly TrustRoot[];
  /** In milliseconds since the epoch. */
  readonly now: number;
  /** For how long after its expiry the leaf still identifies its holder, in milliseconds; default 0. CAs must be valid. */
  readonly leafGraceMs?: number;
}

/** The user that a certificate chain proves, or one sentence about why it proves none. */
export type ClientChainVerdict =
  | {
      readonly ok: true;
      /** An empty common name is possible; it names no user. */
      readonly subject: Subject;
      readonly uid: string | undefined;
      readonly leaf: ParsedCertificate;
      /** When the first certificate of the chain expires, in milliseconds since the epoch; of an expired leaf, when its grace ends. */
      readonly validUntil: number;
      /** Whether the leaf has expired and is within its grace. */
      readonly expired: boolean;
      /** Lower-case hexadecimal SHA-256 of the leaf's DER. */
      readonly fingerprint: string;
      /** As `fingerprint`, of the leaf with its signature in its other form; undefined where a signature has one form. */
      readonly malleatedFingerprint: string | undefined;
    }
  | { readonly ok: false; readonly error: string };

const maxPresented = 10;
const maxDepth = 5;
// One chain needs at most four; the rest is for CAs that share a name. It limits the cost of a hostile set of certificates.
const maxSignatureChecks = 24;

const understood: ReadonlySet<string> = new Set([
  oids.keyUsage,
  oids.extendedKeyUsage,
  oids.basicConstraints,
  oids.subjectAltName,
]);

/**
 * The trust roots of a PEM bundle, at least one certificate; text between them is skipped.
 * @throws CertificateError when the bundle contains anything but valid certificates
 */
export function loadTrustRoots(pem: string): readonly TrustRoot[] {
  try {
    return decodePem(pem, { surroundingText: "ignore", maxLength: 8_388_608 }).map((block) => {
      if (block.label !== "CERTIFICATE") {
        throw new CertificateError(
          "encoding",
          `a CA bundle holds certificates, not a PEM block of type ${block.label}`,
        );
      }
      return trustRootOf(parseCertificate(block.bytes));
    });
  } catch (error) {
    if (error instanceof PemError) throw new CertificateError("encoding", `CA bundle: ${error.message}`);
    throw error;
  }
}

/**
 * A trust root from a certificate.
 * @throws CertificateError when its key is not valid
 */
export function trustRootOf(certificate: ParsedCertificate): TrustRoot {
  const publicKey = publicKeyOf(certificate);
  if (publicKey === undefined) throw new CertificateError("publicKey", "certificate: the public key is not valid");
  return { certificate, publicKey };
}

/**
 * Verifies a client certificate: parsed strictly, valid now, for client authentication, not a CA, and linked by names and
 * signatures, through at most three intermediate CAs, to one of the roots. Each CA must be valid now, allowed to sign
 * certificates, allowed its number of CAs below, and not restricted to other purposes. Critical extensions that are not
 * supported, and name constraints of any kind, reject the chain. Revocation is not checked. An expired leaf is rejected except
 * within the requested grace.
 * @see RFC 5280 section 6; the purpose is required, where Go accepts a certificate without any
 */
export function verifyClientChain(input: ClientChainInput): ClientChainVerdict {
  if (input.intermediates.length + 1 > maxPresented) {
    return { ok: false, error: `more than ${maxPresented} certificates were presented` };
  }
  try {
    const leaf = parseCertificate(input.leaf);
    const intermediates = input.intermediates.map(parseCertificate);
    const { now, leafGraceMs = 0 } = input;
    const expired = now >= leaf.notAfter + 1000;
    const graceMs = expired ? leafGraceMs : 0;
    const error = leafError(leaf, { now, graceMs });
    if (error !== undefined) return { ok: false, error };
    const found = findChain(leaf, { intermediates, roots: input.roots, now });
    return typeof found === "string" ? { ok: false, error: found } : proven(found, { leaf, expired, graceMs });
  } catch (error) {
    if (error instanceof CertificateError || error instanceof DerError) return { ok: false, error: error.message };
    throw error;
  }
}

interface ProvenLeaf {
  readonly leaf: ParsedCertificate;
  readonly expired: boolean;
  readonly graceMs: number;
}

function proven(chain: readonly ParsedCertificate[], { leaf, expired, graceMs }: ProvenLeaf): ClientChainVerdict {
  const uids = attributeTexts(leaf.subject, oids.userUid, "subject");
  if (uids.length > 1) return { ok: false, error: "certificate: the subject has more than one uid" };
  const issuer = chain[1];
  const malleated = issuer === undefined ? undefined : malleatedCertificate(leaf, issuer.publicKey.kind);
  return {
    ok: true,
    subject: subjectOf(leaf.subject, "certificate: the subject"),
    uid: uids[0],
    leaf,
    validUntil: Math.min(...chain.map((one) => one.notAfter + (one === leaf ? graceMs : 0))),
    expired,
    fingerprint: fingerprintOf(leaf.raw),
    malleatedFingerprint: malleated === undefined ? undefined : fingerprintOf(malleated),
  };
}

function fingerprintOf(der: Uint8Array): string {
  return createHash("sha256").update(der).digest("hex");
}

/** A step from the last certificate of a chain to its issuer, which is a root when its key is given. */
interface Link {
  readonly issuer: ParsedCertificate;
  readonly chain: readonly ParsedCertificate[];
  readonly rootKey: KeyObject | undefined;
}

interface Candidates {
  readonly intermediates: readonly ParsedCertificate[];
  readonly roots: readonly TrustRoot[];
  readonly now: number;
}

/** The chain from leaf to root, or the reason of the last candidate that failed. */
function findChain(leaf: ParsedCertificate, candidates: Candidates): readonly ParsedCertificate[] | string {
  let reason = "certificate is signed by an unknown authority";
  let checksLeft = maxSignatureChecks;
  const accepts = (link: Link): boolean => {
    const error = issuerError(link, candidates.now) ?? (checksLeft-- > 0 ? linkError(link) : tooManyChecks);
    reason = error ?? reason;
    return error === undefined;
  };
  const extend = (chain: readonly ParsedCertificate[]): readonly ParsedCertificate[] | undefined => {
    const last = chain.at(-1);
    if (last === undefined || chain.length >= maxDepth) {
      reason = `the certificate chain is longer than ${maxDepth}`;
      return undefined;
    }
    const root = candidates.roots.find(
      ({ certificate, publicKey }) =>
        isNamedIssuer(certificate, last) && accepts({ issuer: certificate, chain, rootKey: publicKey }),
    );
    if (root !== undefined) return [...chain, root.certificate];
    for (const issuer of candidates.intermediates) {
      const isNew = !chain.some((one) => sameBytes(one.raw, issuer.raw));
      if (isNew && isNamedIssuer(issuer, last) && accepts({ issuer, chain, rootKey: undefined })) {
        const longer = extend([...chain, issuer]);
        if (longer !== undefined) return longer;
      }
    }
    return undefined;
  };
  return extend([leaf]) ?? reason;
}

const tooManyChecks = "the presented certificates allow too many chains";

function isNamedIssuer(issuer: ParsedCertificate, certificate: ParsedCertificate): boolean {
  return sameBytes(issuer.subject.raw, certificate.rawIssuer);
}

function linkError({ issuer, chain, rootKey }: Link): string | undefined {
  const certificate = chain.at(-1);
  const key = rootKey ?? publicKeyOf(issuer);
  if (certificate?.signatureAlgorithm === undefined) {
    return "certificate is signed with an algorithm that is not accepted";
  }
  const signed = { data: certificate.tbs, signature: certificate.signature };
  return key !== undefined && verifySignature(certificate.signatureAlgorithm, key, signed)
    ? undefined
    : "certificate signature does not verify with the key of its issuer";
}

function leafError(
  leaf: ParsedCertificate,
  { now, graceMs }: { readonly now: number; readonly graceMs: number },
): string | undefined {
  if (leaf.basicConstraints?.isCa === true) return "a CA certificate is not a client certificate";
  if (leaf.extendedKeyUsage === undefined || !allowsClients(leaf.extendedKeyUsage)) {
    return "certificate is not for client authentication";
  }
  const isForgiven = graceMs > 0 && now < leaf.notAfter + 1000 + graceMs;
  return (isForgiven ? undefined : validityError(leaf, now, "certificate")) ?? extensionError(leaf);
}

function issuerError({ issuer, chain, rootKey }: Link, now: number): string | undefined {
  const { basicConstraints, keyUsage, extendedKeyUsage } = issuer;
  // A root without keyUsage is trusted by configuration; a presented CA must state that it may sign.
  const maySign = keyUsage === undefined ? rootKey !== undefined : keyUsage.has(keyUsageBits.keyCertSign);
  if (basicConstraints?.isCa !== true || !maySign) return "certificate is signed by one that is not a CA";
  // Self-issued certificates do not count. Source: RFC 5280 section 6.1.4 (l).
  const below = chain.slice(1).filter((one) => !isNamedIssuer(one, one)).length;
  if (basicConstraints.pathLength !== undefined && below > basicConstraints.pathLength) {
    return "a CA certificate has more CAs below it than it allows";
  }
  if (extendedKeyUsage !== undefined && !allowsClients(extendedKeyUsage)) {
    return "a CA certificate is not for client authentication";
  }
  return validityError(issuer, now, "a CA certificate") ?? extensionError(issuer);
}

function validityError(certificate: ParsedCertificate, now: number, what: string): string | undefined {
  // NotAfter is a whole second, which is part of the validity.
  if (now >= certificate.notAfter + 1000) return `${what} has expired on ${rfc3339(certificate.notAfter)}`;
  return now < certificate.notBefore
    ? `${what} is not valid before ${rfc3339(certificate.notBefore)}; check both clocks`
    : undefined;
}

function extensionError(certificate: ParsedCertificate): string | undefined {
  if (certificate.extensions.has(oids.nameConstraints)) return "name constraints are not supported";
  for (const { oid, critical } of certificate.extensions.values()) {
    if (critical && !understood.has(oid)) return `critical extension ${oid} is not supported`;
  }
  return undefined;
}

function allowsClients(purposes: readonly string[]): boolean {
  return purposes.includes(oids.clientAuth) || purposes.includes(oids.anyExtendedKeyUsage);
}

function publicKeyOf(certificate: ParsedCertificate): KeyObject | undefined {
  try {
    return importPublicKey(certificate.publicKey);
  } catch (error) {
    if (error instanceof KeyError) return undefined;
    throw error;
  }
}
