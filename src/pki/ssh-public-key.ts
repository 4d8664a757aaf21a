import { createHash, createPublicKey, type JsonWebKey, type KeyObject } from "node:crypto";
import { bitLength, isOdd } from "./public-key.ts";

/** The kinds of keys in a machine's request. */
export type SshKeyKind = "rsa" | "p256" | "ed25519";

/** A public key in OpenSSH's authorized-key form, checked. */
export interface SshPublicKey {
  readonly kind: SshKeyKind;
  readonly key: KeyObject;
  /** `ssh-ed25519 AAAA…`: type and key without the comment. Each key has exactly one such text. */
  readonly text: string;
  /** `SHA256:<base64>` of the wire form, as `ssh-keygen -l` shows it. */
  readonly fingerprint: string;
  /** The text after the key; its author is not verified, so it is for display only. */
  readonly comment: string;
}

interface SshKeyType {
  readonly name: string;
  readonly kind: SshKeyKind;
  readonly read: (reader: SshReader) => JsonWebKey;
  readonly write: (jwk: JsonWebKey) => readonly Uint8Array[];
}

const maxText = 16_384;
const minRsaBits = 2048;
const maxRsaBits = 8192;
const maxExponentBytes = 8;
const pointBytes = 65;

const keyTypes: readonly SshKeyType[] = [
  {
    name: "ssh-rsa",
    kind: "rsa",
    read: (reader) => {
      const exponent = reader.positive();
      const modulus = reader.positive();
      checkRsa(exponent, modulus);
      return { kty: "RSA", n: base64url(modulus), e: base64url(exponent) };
    },
    write: ({ n = "", e = "" }) => [sshPositive(fromBase64url(e)), sshPositive(fromBase64url(n))],
  },
  {
    name: "ecdsa-sha2-nistp256",
    kind: "p256",
    read: (reader) => {
      if (latin1(reader.bytes()) !== "nistp256")
        throw new SshKeyError("malformed", "the curve is not that of the type");
      const point = reader.bytes();
      if (point.length !== pointBytes || point[0] !== 4)
        throw new SshKeyError("malformed", "the point is not written in full");
      return { kty: "EC", crv: "P-256", x: base64url(point.subarray(1, 33)), y: base64url(point.subarray(33)) };
    },
    write: ({ x = "", y = "" }) => [
      Buffer.from("nistp256"),
      Buffer.concat([Buffer.from([4]), fromBase64url(x), fromBase64url(y)]),
    ],
  },
  {
    name: "ssh-ed25519",
    kind: "ed25519",
    read: (reader) => {
      const point = reader.bytes();
      if (point.length !== 32) throw new SshKeyError("malformed", "an Ed25519 key has 32 bytes");
      return { kty: "OKP", crv: "Ed25519", x: base64url(point) };
    },
    write: ({ x = "" }) => [fromBase64url(x)],
  },
];

/**
 * Reads one line `type base64 [comment]`, at most 16 KiB. Options before the type are rejected, and so is anything that OpenSSL does not
 * accept as a key of that type.
 * @throws SshKeyError with the reason
 * @see RFC 4253 section 6.6, RFC 5656, RFC 8709; sshd(8) AUTHORIZED_KEYS FILE FORMAT
 */
export function parseSshPublicKey(line: string): SshPublicKey {
  if (line.length > maxText) throw new SshKeyError("malformed", `longer than ${maxText} characters`);
  const [name = "", encoded = "", ...comment] = line.trim().split(/[ \t]+/);
  const type = keyTypes.find((one) => one.name === name);
  if (type === undefined) {
    const known = keyTypes.map((one) => one.name).join(", ");
    throw new SshKeyError("unsupported", `the key must begin with one of ${known}`);
  }
  if (/[\r\n]/.test(line.trim())) throw new SshKeyError("malformed", "the key must be one line");
  const wire = Buffer.from(encoded, "base64");
  if (wire.toString("base64") !== encoded)
    throw new SshKeyError("malformed", "the key is not in base64 as it should be");
  const reader = sshReader(wire);
  if (latin1(reader.bytes()) !== name) throw new SshKeyError("malformed", "the type inside the key is another one");
  const jwk = type.read(reader);
  reader.end();
  return described(type, importKey(jwk, name), { wire, comment: comment.join(" ") });
}

/** The public key of a key of an accepted kind in the same form. @throws SshKeyError for a key of another kind or too weak. */
export function sshPublicKeyOf(key: KeyObject, comment = ""): SshPublicKey {
  const publicKey = key.type === "private" ? createPublicKey(key) : key;
  const jwk = publicKey.export({ format: "jwk" });
  const kind = jwk.kty === "RSA" ? "rsa" : jwk.crv === "P-256" ? "p256" : jwk.crv === "Ed25519" ? "ed25519" : undefined;
  const type = keyTypes.find((one) => one.kind === kind);
  if (type === undefined) throw new SshKeyError("unsupported", "the key must be RSA, EC P-256 or Ed25519");
  if (jwk.kty === "RSA") checkRsa(fromBase64url(jwk.e ?? ""), fromBase64url(jwk.n ?? ""));
  const wire = sshFields(Buffer.from(type.name), ...type.write(jwk));
  return described(type, publicKey, { wire, comment });
}

function described(
  { name, kind }: SshKeyType,
  key: KeyObject,
  { wire, comment }: { readonly wire: Buffer; readonly comment: string },
): SshPublicKey {
  const digest = createHash("sha256").update(wire).digest("base64").replace(/=+$/, "");
  return { kind, key, text: `${name} ${wire.toString("base64")}`, fingerprint: `SHA256:${digest}`, comment };
}

/** @throws SshKeyError for a weak modulus or exponent */
function checkRsa(exponent: Uint8Array, modulus: Uint8Array): void {
  const bits = bitLength(modulus);
  if (bits < minRsaBits) throw new SshKeyError("weak", `an RSA key of ${bits} bits; at least ${minRsaBits} are needed`);
  if (bits > maxRsaBits)
    throw new SshKeyError("unsupported", `an RSA key of ${bits} bits; at most ${maxRsaBits} are accepted`);
  const isOne = exponent.length === 1 && exponent[0] === 1;
  if (!isOdd(exponent) || isOne || exponent.length > maxExponentBytes) {
    throw new SshKeyError("weak", "the exponent of the RSA key must be odd, above 1, and of at most 64 bits");
  }
  if (!isOdd(modulus)) throw new SshKeyError("weak", "the modulus of the RSA key is even");
}

function importKey(jwk: JsonWebKey, name: string): KeyObject {
  try {
    return createPublicKey({ key: jwk, format: "jwk" });
  } catch {
    throw new SshKeyError("malformed", `not a valid ${name} key`);
  }
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}

function fromBase64url(text: string): Buffer {
  return Buffer.from(text, "base64url");
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}

/** Why a public key in OpenSSH form is rejected. */
export type SshKeyErrorCode = "malformed" | "unsupported" | "weak";

/** A public key that cannot be used. The message contains no part of the key. */
export class SshKeyError extends Error {
  override readonly name = "SshKeyError";
  readonly code: SshKeyErrorCode;

  constructor(code: SshKeyErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

const maxField = 8192;

/** Reads the fields of an SSH wire format in order; nothing may be left at the end. @see RFC 4251 section 5 */
export interface SshReader {
  /** The next `string` as bytes. @throws SshKeyError */
  bytes(): Uint8Array;
  /** The next `mpint`, which must be positive and minimal, as a magnitude without leading zeros. @throws SshKeyError */
  positive(): Uint8Array;
  /** @throws SshKeyError when bytes are left */
  end(): void;
}

/** A reader at the start of `wire`. */
export function sshReader(wire: Uint8Array): SshReader {
  const view = new DataView(wire.buffer, wire.byteOffset, wire.byteLength);
  let at = 0;
  function bytes(): Uint8Array {
    if (wire.length - at < 4) throw new SshKeyError("malformed", "the key ends too early");
    const length = view.getUint32(at);
    if (length > maxField || length > wire.length - at - 4) {
      throw new SshKeyError("malformed", "a field of the key is longer than the key");
    }
    at += 4 + length;
    return wire.subarray(at - length, at);
  }
  return {
    bytes,
    positive: () => {
      const field = bytes();
      const [first = 0, second = 0] = field;
      const isPadded = first === 0;
      if (field.length === 0 || first >= 0x80 || (isPadded && (field.length === 1 || second < 0x80))) {
        throw new SshKeyError("malformed", "a number of the key is not positive and minimal");
      }
      return isPadded ? field.subarray(1) : field;
    },
    end: () => {
      if (at !== wire.length) throw new SshKeyError("malformed", "there are bytes after the key");
    },
  };
}

/** The wire form of fields: each with its length before it. */
export function sshFields(...fields: readonly Uint8Array[]): Buffer {
  return Buffer.concat(
    fields.flatMap((field) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(field.length);
      return [length, field];
    }),
  );
}

/** A magnitude as an `mpint` field. */
export function sshPositive(magnitude: Uint8Array): Uint8Array {
  return (magnitude[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), magnitude]) : magnitude;
}
