import { scrypt, timingSafeEqual } from "node:crypto";
import { wordlist } from "@scure/bip39/wordlists/english.js";

/** The facts of one request that both sides have, each from its own source. */
export interface PairingFacts {
  readonly name: string;
  /** Chosen by the hub after it received the key, so that an attacker cannot search for a key with the same words. */
  readonly uid: string;
  /** Of the machine's key, `SHA256:<base64>`. */
  readonly fingerprint: string;
  /** Of the hub's CA, `sha256:<hex>`. */
  readonly caPin: string;
}

const count = 6;
const bitsPerWord = 11;
/** About 40 milliseconds on either side; an attacker pays that for each try. */
const stretching = { N: 16_384, r: 8, p: 1 };

/**
 * Six words for two people to compare, 66 bits of a slow hash over all facts. They agree only where machine and approver have the
 * same key, the same CA and the same request: a man in the middle changes one of the three.
 * @see RFC 7914; the word list is that of BIP-39
 */
export async function pairingWords(facts: PairingFacts): Promise<readonly string[]> {
  const { name, uid, fingerprint, caPin } = facts;
  const statement = JSON.stringify(["pratique pairing words 1", name, uid, fingerprint, caPin]);
  const digest = await stretched(statement);
  let bits = BigInt(`0x${digest.toString("hex")}`);
  return Array.from({ length: count }, () => {
    const word = wordlist[Number(bits & ((1n << BigInt(bitsPerWord)) - 1n))] ?? "";
    bits >>= BigInt(bitsPerWord);
    return word;
  });
}

/** Whether the typed text is these words; case and separators do not matter. */
export function sameWords(words: readonly string[], typed: string): boolean {
  const given = Buffer.from(
    typed
      .toLowerCase()
      .split(/[^a-z]+/)
      .filter((word) => word !== "")
      .join(" "),
  );
  const expected = Buffer.from(words.join(" "));
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function stretched(statement: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(statement, "pratique", Math.ceil((count * bitsPerWord) / 8), stretching, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
}
