import { constants, sign, verify, type KeyObject } from "node:crypto";
import type { SshKeyKind } from "../pki/ssh-public-key.ts";

/** What a machine signs to prove that it has its key: this key, under this name, for the hub of this CA. */
export interface PossessionFacts {
  readonly name: string;
  /** Of the key, `SHA256:<base64>`. */
  readonly fingerprint: string;
  /** Of the hub's CA, `sha256:<hex>`. */
  readonly caPin: string;
}

/** The signature of a private key over the facts, in base64: RSA-PSS or ECDSA with SHA-256, or Ed25519. */
export function provePossession(key: KeyObject, kind: SshKeyKind, facts: PossessionFacts): string {
  return sign(digests[kind], statement(facts), { key, ...forms[kind] }).toString("base64");
}

/** Whether `proof` is such a signature by the private key of `key`. Never throws. */
export function provesPossession(
  { key, kind }: { readonly key: KeyObject; readonly kind: SshKeyKind },
  facts: PossessionFacts,
  proof: string,
): boolean {
  const signature = Buffer.from(proof, "base64");
  // One encoding for each signature.
  if (signature.toString("base64") !== proof) return false;
  try {
    return verify(digests[kind], statement(facts), { key, ...forms[kind] }, signature);
  } catch {
    // A signature in a form that OpenSSL rejects is invalid.
    return false;
  }
}

const digests: Readonly<Record<SshKeyKind, "sha256" | null>> = { rsa: "sha256", p256: "sha256", ed25519: null };

const forms: Readonly<Record<SshKeyKind, object>> = {
  rsa: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 },
  p256: { dsaEncoding: "ieee-p1363" },
  ed25519: {},
};

/** Unambiguous: JSON delimits each part. */
function statement({ name, fingerprint, caPin }: PossessionFacts): Buffer {
  return Buffer.from(JSON.stringify(["pratique access request 1", name, fingerprint, caPin]));
}
