import type { KeyObject } from "node:crypto";
import {
  exportSec1Pem,
  generatePrivateKey,
  keyFingerprint,
  keyKindOf,
  loadPrivateKey,
  spkiOf,
} from "../../pki/keys.ts";
import { KeyError } from "../../pki/public-key.ts";

/** The private file of the key of a request under way. */
export interface PendingKeyFile {
  readonly pendingKey: string;
  /** The text of a file, or undefined where there is none. */
  read(path: string): Promise<string | undefined>;
  /** Replaces a file that only its owner may read. @throws JoinError write-failed */
  replace(path: string, content: string): Promise<void>;
}

/** The private key of a request under way. It never leaves this machine. */
export interface NodeKey {
  readonly key: KeyObject;
  /** DER SubjectPublicKeyInfo. */
  readonly spki: Uint8Array;
  /** `SHA256:<base64>`, for two people to compare. */
  readonly fingerprint: string;
  /** Made by an earlier join that did not end. */
  readonly reused: boolean;
}

/**
 * The P-256 key in the file for the one of a request under way, or a new one that is safely there before this returns. A file that holds no such key
 * is replaced, and with `replace` any. @throws JoinError write-failed
 */
export async function nodeKey(folder: PendingKeyFile, pending: "keep" | "replace"): Promise<NodeKey> {
  const text = pending === "replace" ? undefined : await folder.read(folder.pendingKey);
  const earlier = text === undefined ? undefined : usableKey(text);
  if (earlier !== undefined) return described(earlier, true);
  const key = generatePrivateKey();
  await folder.replace(folder.pendingKey, exportSec1Pem(key));
  return described(key, false);
}

function usableKey(pem: string): KeyObject | undefined {
  try {
    const key = loadPrivateKey(pem);
    return keyKindOf(key) === "p256" ? key : undefined;
  } catch (error) {
    if (error instanceof KeyError) return undefined;
    throw error;
  }
}

function described(key: KeyObject, reused: boolean): NodeKey {
  const spki = spkiOf(key);
  return { key, spki, fingerprint: keyFingerprint(spki), reused };
}
