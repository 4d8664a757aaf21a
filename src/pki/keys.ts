import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  X509Certificate,
} from "node:crypto";
import { DerError, parseDer } from "./der.ts";
import { decodePem, PemError, type PemBlock, encodePem } from "./pem.ts";
import { KeyError, type KeyKind, importPublicKey, parsePublicKey } from "./public-key.ts";

/** A new P-256 private key. */
export function generatePrivateKey(): KeyObject {
  return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
}

/** PEM `EC PRIVATE KEY` of an EC key, the form of a kubelet's key file. Source: RFC 5915. */
export function exportSec1Pem(key: KeyObject): string {
  return key.export({ type: "sec1", format: "pem" }).toString();
}

/** PEM `PRIVATE KEY` of any key. Source: RFC 5958. */
export function exportPkcs8Pem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

const derTypes: ReadonlyMap<string, "sec1" | "pkcs1" | "pkcs8"> = new Map([
  ["EC PRIVATE KEY", "sec1"],
  ["RSA PRIVATE KEY", "pkcs1"],
  ["PRIVATE KEY", "pkcs8"],
]);

/**
 * The only private key of a PEM text; certificates and `EC PARAMETERS` beside it are skipped, as in a kubelet's combined file.
 * @throws KeyError when there is none or more than one, it is encrypted, malformed, or of a kind that is not accepted
 */
export function loadPrivateKey(pem: string): KeyObject {
  const blocks = keyBlocks(pem);
  const [block] = blocks;
  if (block === undefined || blocks.length > 1) throw new KeyError("missing", "there must be exactly one private key");
  const type = derTypes.get(block.label);
  if (type === undefined) {
    throw new KeyError(
      block.label === "ENCRYPTED PRIVATE KEY" ? "encrypted" : "unsupported",
      `a PEM block of type ${block.label} is not accepted; use an unencrypted key in PKCS #8, SEC1 or PKCS #1`,
    );
  }
  const key = importPrivateKey(block.bytes, type);
  keyKindOf(key);
  return key;
}

/**
 * The kind of a private or public key.
 * @throws KeyError when it is not an accepted one
 */
export function keyKindOf(key: KeyObject): KeyKind {
  const details = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === "ed25519") return "ed25519";
  if (key.asymmetricKeyType === "rsa") return checkRsaSize(details.modulusLength ?? 0);
  const kind = key.asymmetricKeyType === "ec" ? curveKinds.get(details.namedCurve ?? "") : undefined;
  if (kind === undefined) {
    throw new KeyError("unsupported", "the key must be EC P-256, P-384 or P-521, RSA, or Ed25519");
  }
  return kind;
}

function checkRsaSize(bits: number): "rsa" {
  if (bits >= 2048 && bits <= 8192) return "rsa";
  throw new KeyError(bits < 2048 ? "weak" : "unsupported", "RSA keys must have 2048 to 8192 bits");
}

const curveKinds: ReadonlyMap<string, KeyKind> = new Map([
  ["prime256v1", "p256"],
  ["secp384r1", "p384"],
  ["secp521r1", "p521"],
]);

/** The DER SubjectPublicKeyInfo of a private or public key. */
export function spkiOf(key: KeyObject): Uint8Array {
  const publicKey = key.type === "private" ? createPublicKey(key) : key;
  return publicKey.export({ type: "spki", format: "der" });
}

/** `sha256:<hex>` over the DER SubjectPublicKeyInfo: the pin of kubeadm's `--discovery-token-ca-cert-hash`. */
export function spkiPin(spki: Uint8Array): `sha256:${string}` {
  return `sha256:${createHash("sha256").update(spki).digest("hex")}`;
}

/** `SHA256:<base64>` over the DER SubjectPublicKeyInfo: short enough for two people to compare. */
export function keyFingerprint(spki: Uint8Array): string {
  return `SHA256:${createHash("sha256").update(spki).digest("base64").replace(/=+$/, "")}`;
}

function keyBlocks(pem: string): readonly PemBlock[] {
  try {
    return decodePem(pem, { surroundingText: "ignore" }).filter((block) => block.label.endsWith("PRIVATE KEY"));
  } catch (error) {
    if (error instanceof PemError) {
      throw new KeyError(error.code === "headers" ? "encrypted" : "malformed", `private key: ${error.message}`);
    }
    throw error;
  }
}

function importPrivateKey(bytes: Uint8Array, type: "sec1" | "pkcs1" | "pkcs8"): KeyObject {
  try {
    parseDer(bytes);
    return createPrivateKey({ key: Buffer.from(bytes), format: "der", type });
  } catch (error) {
    const why = error instanceof DerError ? error.message : "it is not a key that OpenSSL understands";
    throw new KeyError("malformed", `private key: ${why}`);
  }
}

/**
 * All public keys of a PEM text, in its order: public keys, certificates (of which only the key counts), and private keys,
 * of which the public half is taken.
 * @throws KeyError when there is none, or one of them is malformed, encrypted or of a kind that is not accepted
 */
export function loadPublicKeys(pem: string): readonly KeyObject[] {
  const keys = blocksOf(pem).flatMap(keyIn);
  if (keys.length === 0) throw new KeyError("missing", "there is no key in it");
  return keys;
}

function blocksOf(pem: string): readonly PemBlock[] {
  try {
    return decodePem(pem, { surroundingText: "ignore" });
  } catch (error) {
    if (!(error instanceof PemError)) throw error;
    if (error.code === "empty") return [];
    throw new KeyError(error.code === "headers" ? "encrypted" : "malformed", error.message);
  }
}

function keyIn({ label, bytes }: PemBlock): readonly KeyObject[] {
  switch (label) {
    case "PUBLIC KEY":
      return [checked(() => importPublicKey(parsePublicKey(parseDer(bytes))))];
    case "RSA PUBLIC KEY":
      return [checked(() => createPublicKey({ key: Buffer.from(bytes), format: "der", type: "pkcs1" }))];
    case "CERTIFICATE":
      return [checked(() => new X509Certificate(bytes).publicKey)];
    default:
      return label.endsWith("PRIVATE KEY") ? [createPublicKey(loadPrivateKey(encodePem(label, bytes)))] : [];
  }
}

function checked(read: () => KeyObject): KeyObject {
  let key: KeyObject;
  try {
    key = read();
  } catch (error) {
    if (error instanceof KeyError) throw error;
    throw new KeyError(
      "malformed",
      error instanceof DerError ? error.message : "it is not a key that OpenSSL understands",
    );
  }
  keyKindOf(key);
  return key;
}
