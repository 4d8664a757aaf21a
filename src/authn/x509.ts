import { createHash } from "node:crypto";
import type { UserInfo } from "../core/user.ts";
import { credentialIdKey } from "../resources/revocation-index.ts";
import { type ClientChainVerdict, type TrustRoot, verifyClientChain } from "../pki/verify-chain.ts";
import type { Authentication, Authenticator } from "./authenticator.ts";

/** By what client certificates are judged. */
export interface X509Options {
  /** The CAs that vouch for clients, asked at each request; another list than before forgets what was verified. */
  readonly roots: () => readonly TrustRoot[];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** How many verified chains are kept; default 4096. */
  readonly capacity?: number;
}

interface Verified {
  /** The bounds, in milliseconds, within which the verdict holds. */
  readonly from: number;
  readonly until: number;
  readonly result: Authentication;
}

/**
 * Authenticates client certificates by the DER that was presented, never by what the TLS layer thinks of it: CN is the user,
 * each O a group. No certificate, or one with an empty CN, is absent; one that does not verify is rejected. Validity is checked at every
 * request, since a connection and a resumed session outlive certificates; signatures are verified once for each chain.
 * @see apiserver/pkg/authentication/request/x509
 */
export function x509(options: X509Options): Authenticator {
  const { capacity = 4096 } = options;
  const verified = new Map<string, Verified>();
  // A connection presents one and the same list with each of its requests.
  const keys = new WeakMap<readonly Uint8Array[], string>();
  // A resumed TLS session brings back the leaf alone: the rest of a chain that was proven once is remembered.
  const chains = new Map<string, readonly Uint8Array[]>();
  let roots: readonly TrustRoot[] | undefined;
  return async function x509Certificate({ peerCertificates }) {
    const [leaf, ...intermediates] = peerCertificates;
    if (leaf === undefined) {
      return { kind: "absent" };
    }
    const current = options.roots();
    if (current !== roots) {
      verified.clear();
      chains.clear();
      roots = current;
    }
    const key = keys.get(peerCertificates) ?? chainKey(peerCertificates);
    keys.set(peerCertificates, key);
    const now = options.now();
    const known = verified.get(key);
    if (known !== undefined && now >= known.from && now < known.until) {
      return known.result;
    }
    verified.delete(key);
    const verdict = verifyClientChain({ leaf, intermediates: chains.get(key) ?? intermediates, roots: current, now });
    if (!verdict.ok) {
      return { kind: "rejected", reason: `client certificate: ${verdict.error}` };
    }
    const result = resultOf(verdict);
    makeRoom(verified, capacity);
    // Not before this moment: of the CAs in the chain only the end is known here. The last second still belongs to the validity.
    verified.set(key, { from: now, until: verdict.validUntil + 1000, result });
    if (intermediates.length > 0) {
      makeRoom(chains, capacity);
      chains.set(chainKey([leaf]), intermediates);
    }
    return result;
  };
}

/** Forgets the oldest entry of a full map. */
function makeRoom(entries: Map<string, unknown>, capacity: number): void {
  const [oldest] = entries.keys();
  if (oldest !== undefined && entries.size >= capacity) {
    entries.delete(oldest);
  }
}

function resultOf(verdict: Extract<ClientChainVerdict, { ok: true }>): Authentication {
  const { commonName, organizations } = verdict.subject;
  if (commonName === "") {
    return { kind: "absent" };
  }
  const ids = [`X509SHA256=${verdict.fingerprint}`];
  const user: UserInfo = {
    username: commonName,
    ...(verdict.uid === undefined ? {} : { uid: verdict.uid }),
    groups: organizations,
    extra: { [credentialIdKey]: ids },
  };
  const { serialNumber, rawIssuer } = verdict.leaf;
  const issuer = createHash("sha256").update(rawIssuer).digest("hex");
  return { kind: "authenticated", user, credential: { username: commonName, ids, serialNumber, issuer } };
}

/** Each length is hashed before its bytes, so that no two lists of certificates give one key. */
function chainKey(certificates: readonly Uint8Array[]): string {
  const hash = createHash("sha256");
  for (const certificate of certificates) {
    hash.update(`${certificate.length}:`).update(certificate);
  }
  return hash.digest("base64");
}
