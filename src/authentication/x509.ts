import { createHash } from "node:crypto";
import { isReturning, returningUser } from "../apimachinery/expired-credential.ts";
import { nodesGroup, nodeUserPrefix, type UserInfo } from "../apimachinery/user.ts";
import { credentialIdKey } from "../apis/revocation-index.ts";
import { type ClientChainVerdict, type TrustRoot, verifyClientChain } from "../pki/verify-chain.ts";
import type { Authentication, Authenticator } from "./authenticator.ts";

/** The options for client certificates. */
export interface X509Options {
  /** The trusted client CAs, called for each request; a new list clears the cache of verified chains. */
  readonly roots: () => readonly TrustRoot[];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** How many verified chains are cached; default 4096. */
  readonly capacity?: number;
  /**
   * For how long after its expiry a node's certificate still proves that this machine was accepted once, in milliseconds:
   * its holder is a user that may request the next one and nothing else. Default 0.
   */
  readonly returningMs?: number;
}

interface Verified {
  /** The bounds, in milliseconds, within which the verdict is valid. */
  readonly from: number;
  readonly until: number;
  /** Whether the certificate is expired and within its grace. */
  readonly expired: boolean;
  readonly result: Authentication;
}

/**
 * Authenticates client certificates by the presented DER, never by the verdict of the TLS layer: CN is the user,
 * each O a group. No certificate, or one with an empty CN, is absent; one that does not verify is rejected. Validity is checked at every
 * request, since a connection and a resumed session outlive certificates; signatures are verified once for each chain.
 * @see apiserver/pkg/authentication/request/x509
 */
export function x509(options: X509Options): Authenticator {
  const { capacity = 4096, returningMs = 0 } = options;
  const verified = new Map<string, Verified>();
  // All requests of a connection have the same list object.
  const keys = new WeakMap<readonly Uint8Array[], string>();
  // A resumed TLS session has the leaf alone: the rest of a verified chain is cached.
  const chains = new Map<string, readonly Uint8Array[]>();
  let roots: readonly TrustRoot[] | undefined;
  return async function x509Certificate({ peerCertificates, authorization }) {
    const [leaf, ...intermediates] = peerCertificates;
    if (leaf === undefined) return { kind: "absent" };
    const current = options.roots();
    if (current !== roots) {
      verified.clear();
      chains.clear();
      roots = current;
    }
    const key = keys.get(peerCertificates) ?? chainKey(peerCertificates);
    keys.set(peerCertificates, key);
    // A request with another credential as well is authenticated by that one.
    const leafGraceMs = authorization === undefined ? returningMs : 0;
    const now = options.now();
    const known = verified.get(key);
    if (isCurrent(known, now, leafGraceMs)) return known.result;
    verified.delete(key);
    const presented = { leaf, intermediates: chains.get(key) ?? intermediates };
    const verdict = verifyClientChain({ ...presented, roots: current, now, leafGraceMs });
    if (!verdict.ok) return { kind: "rejected", reason: `client certificate: ${verdict.error}` };
    const result = resultOf(verdict);
    if (result.kind === "rejected") return result;
    makeRoom(verified, capacity);
    // Not before this moment: of the CAs in the chain only the expiry is known here.
    verified.set(key, { from: now, until: endOf(verdict), expired: verdict.expired, result });
    if (intermediates.length > 0) {
      makeRoom(chains, capacity);
      chains.set(chainKey([leaf]), intermediates);
    }
    return result;
  };
}

function isCurrent(known: Verified | undefined, now: number, leafGraceMs: number): known is Verified {
  return known !== undefined && now >= known.from && now < known.until && (!known.expired || leafGraceMs > 0);
}

/** Evicts the oldest entry of a full map. */
function makeRoom(entries: Map<string, unknown>, capacity: number): void {
  const [oldest] = entries.keys();
  if (oldest !== undefined && entries.size >= capacity) entries.delete(oldest);
}

/** The last second is part of the validity. */
function endOf({ validUntil }: Extract<ClientChainVerdict, { ok: true }>): number {
  return validUntil + 1000;
}

function resultOf(verdict: Extract<ClientChainVerdict, { ok: true }>): Authentication {
  const { commonName, organizations } = verdict.subject;
  if (commonName === "") return { kind: "absent" };
  const ids = [`X509SHA256=${verdict.fingerprint}`];
  const { serialNumber, rawIssuer } = verdict.leaf;
  const issuer = createHash("sha256").update(rawIssuer).digest("hex");
  const { malleatedFingerprint } = verdict;
  const malleated = malleatedFingerprint === undefined ? {} : { malleated: `X509SHA256=${malleatedFingerprint}` };
  const credential = { username: commonName, ids, ...malleated, serialNumber, issuer, until: endOf(verdict) };
  if (verdict.expired) {
    const [organization, another] = organizations;
    const isNode = commonName.startsWith(nodeUserPrefix) && commonName.length > nodeUserPrefix.length;
    // Only nodes can request their next certificate this way; an expired one of a person has no use.
    return isNode && organization === nodesGroup && another === undefined
      ? { kind: "authenticated", user: returningUser(commonName, { [credentialIdKey]: ids }), credential }
      : { kind: "rejected", reason: "client certificate: certificate has expired" };
  }
  if (isReturning({ username: commonName, groups: organizations })) {
    return { kind: "rejected", reason: "client certificate: it claims to be of a machine that comes back" };
  }
  const user: UserInfo = {
    username: commonName,
    ...(verdict.uid === undefined ? {} : { uid: verdict.uid }),
    groups: organizations,
    extra: { [credentialIdKey]: ids },
  };
  return { kind: "authenticated", user, credential };
}

/** Each length is hashed before its bytes, so that no two lists of certificates have the same key. */
function chainKey(certificates: readonly Uint8Array[]): string {
  const hash = createHash("sha256");
  for (const certificate of certificates) {
    hash.update(`${certificate.length}:`).update(certificate);
  }
  return hash.digest("base64");
}
