import { createPublicKey, X509Certificate } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { DerError, parseDer } from "./der.ts";
import { loadPrivateKey, keyKindOf } from "./keys.ts";
import { decodePem, encodePem, PemError } from "./pem.ts";
import type { PemBlock } from "./pem.ts";
import { importPublicKey, KeyError, parsePublicKey } from "./public-key.ts";

/**
 * All public keys of a PEM text, in its order: public keys, certificates (of which nothing but the key counts), and private keys,
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
