import {
  constants,
  createCipheriv,
  createDecipheriv,
  privateDecrypt,
  publicEncrypt,
  type KeyObject,
} from "node:crypto";
import type { RandomBytes } from "../apimachinery/clock.ts";
import { hpkeNames, hpkeOpen, hpkeSeal } from "./hpke.ts";
import type { SshKeyKind, SshPublicKey } from "../pki/ssh-public-key.ts";

/** The algorithms of a sealed answer, part of it. */
export interface SealParameters {
  readonly scheme: "rsa-oaep-sha512" | "hpke";
  readonly kem?: string;
  readonly kdf?: string;
  /** The cipher of token and CA, and for HPKE also of the key. */
  readonly aead: string;
  /** The binding of the sealed key; base64. Absent for RSA, whose label is empty. */
  readonly info?: string;
}

/** What is sealed together. */
export interface PlainAnswer {
  readonly token: string;
  /** In PEM. */
  readonly ca: string;
  readonly bootstrapToken?: string;
}

/** A token and a CA that only the holder of one private key can read; base64 each. */
export interface SealedAnswer {
  readonly key: string;
  readonly token: string;
  readonly ca: string;
  readonly bootstrapToken?: string;
  readonly seal: SealParameters;
}

/** A sealed answer that cannot be opened. The message discloses nothing of the content. */
export class SealError extends Error {
  override readonly name = "SealError";
  readonly code: "form" | "key" | "content";

  constructor(code: SealError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

const aead = "AES-256-GCM";
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Seals token and CA to a public key: a fresh key of 32 bytes under RSA-OAEP with SHA-512, or under HPKE bound to `binding`, and the
 * texts under AES-256-GCM with that key and a nonce each. Rejects for a key that cannot be sealed to.
 * @see RFC 8017 section 7.1, RFC 9180
 */
export async function sealAnswer(
  recipient: Pick<SshPublicKey, "kind" | "key">,
  answer: PlainAnswer,
  terms: { readonly binding: string; readonly random: RandomBytes },
): Promise<SealedAnswer> {
  const { random } = terms;
  const secret = random(keyBytes);
  const info = Buffer.from(terms.binding);
  return {
    key: (await sealedKey(recipient, info, secret)).toString("base64"),
    token: encrypted(secret, random(nonceBytes), answer.token),
    ca: encrypted(secret, random(nonceBytes), answer.ca),
    ...(answer.bootstrapToken === undefined
      ? {}
      : { bootstrapToken: encrypted(secret, random(nonceBytes), answer.bootstrapToken) }),
    seal: parametersOf(recipient.kind, info),
  };
}

/**
 * Opens a sealed answer with the private key; `binding` must be the one at sealing, whatever the answer states.
 * @throws SealError
 */
export async function openAnswer(
  recipient: { readonly kind: SshKeyKind; readonly key: KeyObject },
  sealed: Omit<SealedAnswer, "seal">,
  binding: string,
): Promise<PlainAnswer> {
  const secret = await openedKey(recipient, Buffer.from(binding), Buffer.from(sealed.key, "base64"));
  if (secret.length !== keyBytes) throw new SealError("key", "the sealed key is not of 32 bytes");
  return {
    token: decrypted(secret, sealed.token, "token"),
    ca: decrypted(secret, sealed.ca, "CA"),
    ...(sealed.bootstrapToken === undefined
      ? {}
      : { bootstrapToken: decrypted(secret, sealed.bootstrapToken, "bootstrap token") }),
  };
}

function parametersOf(kind: SshKeyKind, info: Buffer): SealParameters {
  if (kind === "rsa") return { scheme: "rsa-oaep-sha512", aead };
  return { scheme: "hpke", ...hpkeNames[kind], info: info.toString("base64") };
}

/** SHA-512 is the hash of the mask generation function as well. */
const oaep = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha512" } as const;

async function sealedKey(
  { kind, key }: { readonly kind: SshKeyKind; readonly key: KeyObject },
  info: Buffer,
  secret: Uint8Array,
): Promise<Buffer> {
  return kind === "rsa" ? publicEncrypt({ key, ...oaep }, secret) : hpkeSeal({ kind, key }, info, secret);
}

async function openedKey(
  { kind, key }: { readonly kind: SshKeyKind; readonly key: KeyObject },
  info: Buffer,
  sealed: Buffer,
): Promise<Buffer> {
  try {
    return kind === "rsa" ? privateDecrypt({ key, ...oaep }, sealed) : await hpkeOpen({ kind, key }, info, sealed);
  } catch (error) {
    throw new SealError("key", "the answer is not sealed to this key, or for another request", { cause: error });
  }
}

function encrypted(secret: Uint8Array, nonce: Uint8Array, text: string): string {
  const cipher = createCipheriv("aes-256-gcm", secret, nonce);
  return Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]).toString("base64");
}

function decrypted(secret: Uint8Array, sealed: string, what: string): string {
  const bytes = Buffer.from(sealed, "base64");
  if (bytes.length < nonceBytes + tagBytes) throw new SealError("form", `the sealed ${what} is too short`);
  const decipher = createDecipheriv("aes-256-gcm", secret, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
  decipher.setAuthTag(bytes.subarray(-tagBytes));
  try {
    const body = bytes.subarray(nonceBytes, -tagBytes);
    return Buffer.concat([decipher.update(body), decipher.final()]).toString("utf8");
  } catch (error) {
    throw new SealError("content", `the sealed ${what} was changed, or sealed with another key`, { cause: error });
  }
}
