import { CertificateError } from "../pki/certificate.ts";
import { parseCertificate } from "../pki/parse-certificate.ts";
import { decodePem, PemError } from "../pki/pem.ts";
import { importPublicKey, KeyError, type KeyKind } from "../pki/public-key.ts";
import { signData, verifyData } from "../pki/signature.ts";
import type { KeyObject } from "node:crypto";
import type { CaPin } from "./pins.ts";

/** The path of the hub's time. The client sends a nonce, so that an old response cannot be replayed. */
export const signedTimePath = "/.well-known/pratique/time";

/** What is signed. */
export interface SignedMoment {
  /** Chosen by the client: 22 to 64 characters of base64url. */
  readonly nonce: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
}

/** The response: each trusted CA signs it, so that a machine that knows one of them can verify it. */
export interface SignedTime extends SignedMoment {
  readonly signatures: readonly { readonly pin: string; readonly signature: string }[];
}

/** Whether a text may be a nonce. */
export function isNonce(text: string | null | undefined): text is string {
  return typeof text === "string" && /^[A-Za-z0-9_-]{22,64}$/.test(text);
}

/** The time with a signature by each CA. */
export function signTime(
  moment: SignedMoment,
  authorities: readonly { readonly pin: string; readonly key: KeyObject; readonly keyKind: KeyKind }[],
): SignedTime {
  const data = statement(moment);
  const signatures = authorities.map(({ pin, key, keyKind }) => ({
    pin,
    signature: Buffer.from(signData(keyKind, key, data)).toString("base64"),
  }));
  return { nonce: moment.nonce, time: moment.time, signatures };
}

/**
 * The time in a response, in milliseconds since the epoch, where it contains this nonce and one of these CAs, given as PEM certificates
 * with their pins, has signed it; undefined otherwise. Neither the validity of the certificates nor TLS is checked: this is for a machine
 * whose clock is wrong. Never throws.
 */
export function verifiedTime(
  answer: unknown,
  nonce: string,
  trusted: readonly { readonly pem: string; readonly pin: CaPin }[],
): number | undefined {
  if (typeof answer !== "object" || answer === null) return undefined;
  const { time, nonce: answered, signatures } = answer as Partial<Record<keyof SignedTime, unknown>>;
  if (answered !== nonce || typeof time !== "number" || !Number.isSafeInteger(time)) return undefined;
  if (!Array.isArray(signatures) || signatures.length > 10) return undefined;
  const data = statement({ nonce, time });
  const isRight = trusted.some(({ pem, pin }) =>
    signatures.some((one: unknown) => isSignature(one) && one.pin === pin && isBy(pem, data, one.signature)),
  );
  return isRight ? time : undefined;
}

function isSignature(one: unknown): one is SignedTime["signatures"][number] {
  if (typeof one !== "object" || one === null) return false;
  const { pin, signature } = one as Partial<Record<string, unknown>>;
  return typeof pin === "string" && typeof signature === "string";
}

function isBy(pem: string, data: Uint8Array, signature: string): boolean {
  try {
    const [block] = decodePem(pem, { surroundingText: "ignore" });
    if (block === undefined) return false;
    const { publicKey } = parseCertificate(block.bytes);
    return verifyData(publicKey.kind, importPublicKey(publicKey), {
      data,
      signature: Buffer.from(signature, "base64"),
    });
  } catch (error) {
    if (error instanceof PemError || error instanceof CertificateError || error instanceof KeyError) return false;
    throw error;
  }
}

/** Unambiguous: JSON delimits each part. No certificate begins like this, so the signature is never one of a certificate. */
function statement({ nonce, time }: SignedMoment): Buffer {
  return Buffer.from(JSON.stringify(["pratique time 1", nonce, time]));
}
