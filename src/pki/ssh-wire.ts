import { SshKeyError } from "./ssh-key-error.ts";

const maxField = 8192;

/** Reads the fields of an SSH wire format in order; nothing may be left at the end. @see RFC 4251 section 5 */
export interface SshReader {
  /** The next `string` as bytes. @throws SshKeyError */
  bytes(): Uint8Array;
  /** The next `mpint`, which must be positive and minimal, as a magnitude without leading zeros. @throws SshKeyError */
  positive(): Uint8Array;
  /** @throws SshKeyError when there is more */
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
