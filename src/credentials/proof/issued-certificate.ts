import { rfc3339 } from "../../apimachinery/clock.ts";
import { CertificateError } from "../../pki/certificate.ts";
import { DerError, sameBytes } from "../../pki/der.ts";
import { subjectOf } from "../../pki/names.ts";
import { parseCertificate, type ParsedCertificate } from "../../pki/parse-certificate.ts";
import { oids } from "../../pki/oids.ts";
import { decodePem, encodePem, PemError, type PemBlock } from "../../pki/pem.ts";
import { loadTrustRoots, verifyClientChain } from "../../pki/verify-chain.ts";
import { inWords, skewSentence, tolerableSkewMs } from "../../host/clock-skew.ts";
import { JoinError } from "../join-error.ts";
import { isSubjectOf, nodesGroup, nodeUser } from "../request/node-identity.ts";
import type { ServingNames } from "../request/certificate-request.ts";

/** A verified certificate: for this key, in this name, from the hub's CA, valid now. */
export interface OwnCertificate {
  /** The certificates alone, leaf first, in canonical PEM. */
  readonly pem: string;
  /** In milliseconds since the epoch. */
  readonly validUntil: number;
}

/** The requirements on a certificate; `now` in milliseconds since the epoch. */
export interface Expectation {
  /** DER SubjectPublicKeyInfo of this machine's key. */
  readonly spki: Uint8Array;
  readonly nodeName: string;
  readonly caPem: string;
  readonly now: number;
  /** How far this clock is ahead of the hub's, in milliseconds, where that is known. */
  readonly aheadMs?: number | undefined;
  /** The requested names of a serving certificate; absent: a client certificate. */
  readonly serving?: ServingNames | undefined;
}

/**
 * Verifies that the PEM (leaf first) is the certificate that this node requested. @throws JoinError bad-certificate, or clock-skew when
 * it is not valid at this machine's time
 */
export function ownCertificate(pem: string, expected: Expectation): OwnCertificate {
  try {
    return proven(pem, expected);
  } catch (error) {
    if (error instanceof PemError || error instanceof CertificateError || error instanceof DerError) {
      throw bad(`it cannot be read: ${error.message}`);
    }
    throw error;
  }
}

function proven(pem: string, expected: Expectation): OwnCertificate {
  const blocks = decodePem(pem, { surroundingText: "ignore" });
  const [first, ...others] = blocks;
  if (first === undefined || blocks.some((block) => block.label !== "CERTIFICATE")) {
    throw bad("it is not a list of certificates");
  }
  const leaf = parseCertificate(first.bytes);
  if (!sameBytes(leaf.publicKey.spki, expected.spki)) throw bad("it is for another key");
  if (!isSubjectOf(expected.nodeName, subjectOf(leaf.subject, "certificate: the subject"))) {
    throw bad(`it does not name ${nodeUser(expected.nodeName)} in the group ${nodesGroup}`);
  }
  requireValidNow(leaf, expected);
  if (expected.serving !== undefined) {
    requireServing(leaf, expected.serving);
    return { pem: canonical(blocks), validUntil: leaf.notAfter };
  }
  const verdict = verifyClientChain({
    leaf: first.bytes,
    intermediates: others.map((block) => block.bytes),
    roots: loadTrustRoots(expected.caPem),
    now: expected.now,
  });
  if (!verdict.ok) throw bad(verdict.error);
  return { pem: canonical(blocks), validUntil: verdict.validUntil };
}

function canonical(blocks: readonly PemBlock[]): string {
  return blocks.map((block) => encodePem("CERTIFICATE", block.bytes)).join("");
}

/** Its trust anchor is not known here: a cluster may sign serving certificates with another CA. */
function requireServing(leaf: ParsedCertificate, { dns, ip }: ServingNames): void {
  if (leaf.extendedKeyUsage?.includes(oids.serverAuth) !== true) throw bad("it is not for servers");
  const names = new Set([...leaf.sans.dns, ...leaf.sans.ip]);
  const missing = [...dns, ...ip].find((name) => !names.has(name));
  if (missing !== undefined) throw bad(`it does not name ${missing}`);
}

function requireValidNow(leaf: ParsedCertificate, { now, aheadMs }: Expectation): void {
  if (now < leaf.notBefore) {
    const clocks = aheadMs !== undefined && aheadMs < -tolerableSkewMs ? `: ${skewSentence(aheadMs)}` : "";
    throw new JoinError(
      "clock-skew",
      `the hub issued a certificate that will be valid in ${inWords(leaf.notBefore - now)} by this machine's clock${clocks}; set the clock (for example with NTP) and join again`,
    );
  }
  if (now >= leaf.notAfter + 1000) {
    const clocks = aheadMs !== undefined && aheadMs > tolerableSkewMs ? `: ${skewSentence(aheadMs)}` : "";
    throw new JoinError(
      "clock-skew",
      `the hub issued a certificate that expired ${inWords(now - leaf.notAfter)} ago by this machine's clock (${rfc3339(leaf.notAfter)})${clocks}; set the clock (for example with NTP) and join again with --force`,
    );
  }
}

function bad(why: string): JoinError {
  return new JoinError(
    "bad-certificate",
    `the hub issued a certificate that this machine does not accept: ${why}; nothing was written. If the hub signs clients with another CA than the one it shows, its operator must add that CA`,
  );
}
