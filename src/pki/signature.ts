import { constants, sign, verify, type KeyObject, type SigningOptions } from "node:crypto";
import {
  childrenOf,
  contentOf,
  DerError,
  expectNode,
  readOid,
  readSmallInteger,
  sequenceOf,
  tags,
  type DerNode,
} from "./der.ts";
import { derElement, derOid, derSequence } from "./der-writer.ts";
import { oids } from "./oids.ts";
import type { KeyKind } from "./public-key.ts";

/** An accepted signature algorithm; SHA-1 and MD5 have no entry and are therefore rejected. */
export interface SignatureAlgorithm {
  readonly scheme: "rsa" | "rsaPss" | "ecdsa" | "ed25519";
  readonly hash: "sha256" | "sha384" | "sha512" | undefined;
}

const algorithms: ReadonlyMap<string, SignatureAlgorithm> = new Map([
  [oids.sha256WithRsa, { scheme: "rsa", hash: "sha256" }],
  [oids.sha384WithRsa, { scheme: "rsa", hash: "sha384" }],
  [oids.sha512WithRsa, { scheme: "rsa", hash: "sha512" }],
  [oids.ecdsaWithSha256, { scheme: "ecdsa", hash: "sha256" }],
  [oids.ecdsaWithSha384, { scheme: "ecdsa", hash: "sha384" }],
  [oids.ecdsaWithSha512, { scheme: "ecdsa", hash: "sha512" }],
  [oids.ed25519, { scheme: "ed25519", hash: undefined }],
]);

const pssHashes: ReadonlyMap<string, { readonly hash: "sha256" | "sha384" | "sha512"; readonly bytes: number }> =
  new Map([
    [oids.sha256, { hash: "sha256", bytes: 32 }],
    [oids.sha384, { hash: "sha384", bytes: 48 }],
    [oids.sha512, { hash: "sha512", bytes: 64 }],
  ]);

const signingOids: Readonly<Record<KeyKind, string>> = {
  rsa: oids.sha256WithRsa,
  p256: oids.ecdsaWithSha256,
  p384: oids.ecdsaWithSha384,
  p521: oids.ecdsaWithSha512,
  ed25519: oids.ed25519,
};

/**
 * The algorithm that an AlgorithmIdentifier names, or undefined when it is not an accepted one (SHA-1, MD5, unknown).
 * @throws DerError when it is malformed or its parameters are not the only valid ones
 * @see RFC 4055, RFC 5758, RFC 8410
 */
export function parseSignatureAlgorithm(node: DerNode | undefined): SignatureAlgorithm | undefined {
  const [type, parameters, extra] = sequenceOf(node, "the signature algorithm");
  const oid = readOid(type, "the signature algorithm");
  if (extra !== undefined) throw new DerError("value", "the signature algorithm has unexpected parts");
  if (oid === oids.rsaPss) return parsePss(parameters);
  const algorithm = algorithms.get(oid);
  if (algorithm === undefined) return undefined;
  const accepted = parameters === undefined || (algorithm.scheme === "rsa" && isNull(parameters));
  if (!accepted) throw new DerError("value", "the signature algorithm has parameters that do not belong to it");
  return algorithm;
}

/** Whether the signature over `data` is valid; false as well when key and algorithm do not match. */
export function verifySignature(
  algorithm: SignatureAlgorithm,
  key: KeyObject,
  signed: { readonly data: Uint8Array; readonly signature: Uint8Array },
): boolean {
  if (key.asymmetricKeyType !== keyTypes[algorithm.scheme]) return false;
  const options: SigningOptions =
    algorithm.scheme === "rsaPss"
      ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
      : {};
  try {
    return verify(algorithm.hash, signed.data, { key, ...options }, signed.signature);
  } catch {
    return false;
  }
}

/** The AlgorithmIdentifier under which keys of this kind sign here. */
export function signingAlgorithm(kind: KeyKind): Uint8Array {
  const oid = derOid(signingOids[kind]);
  return kind === "rsa" ? derSequence(oid, derElement(tags.null)) : derSequence(oid);
}

/** Signs with the algorithm that `signingAlgorithm` names for this kind of key. */
export function signData(kind: KeyKind, key: KeyObject, data: Uint8Array): Uint8Array {
  return sign(algorithms.get(signingOids[kind])?.hash, data, key);
}

/** Whether `signData` created the signature, with the private key of this public key of that kind. */
export function verifyData(
  kind: KeyKind,
  key: KeyObject,
  signed: { readonly data: Uint8Array; readonly signature: Uint8Array },
): boolean {
  const algorithm = algorithms.get(signingOids[kind]);
  return algorithm !== undefined && verifySignature(algorithm, key, signed);
}

/** Whether a private key belongs to a public key of the same kind: it signs, and the public key verifies. */
export function keysMatch(kind: KeyKind, privateKey: KeyObject, publicKey: KeyObject): boolean {
  const data = Buffer.from("pratique: does this private key belong to this public key");
  return verifyData(kind, publicKey, { data, signature: signData(kind, privateKey, data) });
}

const keyTypes: Readonly<Record<SignatureAlgorithm["scheme"], string>> = {
  rsa: "rsa",
  rsaPss: "rsa",
  ecdsa: "ec",
  ed25519: "ed25519",
};

// Go accepts the same three: one hash throughout, salt as long as the hash, trailer 1. The defaults are SHA-1 and thus rejected.
function parsePss(parameters: DerNode | undefined): SignatureAlgorithm | undefined {
  const [hashPart, maskPart, saltPart, trailer] = sequenceOf(parameters, "the RSA-PSS parameters");
  if (!hasTag(hashPart, 0xa0) || !hasTag(maskPart, 0xa1) || !hasTag(saltPart, 0xa2)) return undefined;
  const hash = hashOf(onlyChild(hashPart));
  const [maskType, maskHash] = sequenceOf(onlyChild(maskPart), "the RSA-PSS mask function");
  const isMgf1 = readOid(maskType, "the RSA-PSS mask function") === oids.mgf1;
  const salt = readSmallInteger(onlyChild(saltPart), "the RSA-PSS salt length");
  const known = pssHashes.get(hash);
  if (known === undefined || !isMgf1 || hashOf(maskHash) !== hash || salt !== known.bytes || trailer !== undefined) {
    return undefined;
  }
  return { scheme: "rsaPss", hash: known.hash };
}

function hashOf(node: DerNode | undefined): string {
  const [type, parameters, extra] = sequenceOf(node, "the RSA-PSS hash");
  if (extra !== undefined || (parameters !== undefined && !isNull(parameters))) {
    throw new DerError("value", "the RSA-PSS hash has unexpected parameters");
  }
  return readOid(type, "the RSA-PSS hash");
}

function hasTag(node: DerNode | undefined, tag: number): node is DerNode {
  return node?.tag === tag;
}

function onlyChild(node: DerNode): DerNode {
  const [child, extra] = childrenOf(node);
  if (child === undefined || extra !== undefined) {
    throw new DerError("value", "the RSA-PSS parameters have unexpected parts");
  }
  return child;
}

function isNull(node: DerNode): boolean {
  return contentOf(expectNode(node, tags.null, "the algorithm's parameters")).length === 0;
}
