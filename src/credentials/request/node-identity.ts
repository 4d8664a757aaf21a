import type { Subject } from "../../pki/names.ts";
import { createHash, type KeyObject } from "node:crypto";
import { dnsSubdomainProblems } from "../../apimachinery/names.ts";
import { JoinError, plainText } from "../join-error.ts";
import type { RemoteClient } from "../../client/remote.ts";
import { parsedJson } from "../../client/replies.ts";
import { stringAt } from "../../apis/json-fields.ts";
import {
  exportSec1Pem,
  generatePrivateKey,
  keyFingerprint,
  keyKindOf,
  loadPrivateKey,
  spkiOf,
} from "../../pki/keys.ts";
import { KeyError } from "../../pki/public-key.ts";

/** The group of every node. */
export const nodesGroup = "system:nodes";

/**
 * The usages that a kubelet requests with an EC key. A Kubernetes older than 1.25 signs nothing without key encipherment, though such a
 * key cannot do it, and its kubelets left it out from 1.27 on; so it is included wherever the version is older or not known. `minor` is
 * the 27 of 1.27. @see kubernetes/kubernetes#109077
 */
export function nodeUsages(minor: number | undefined): readonly string[] {
  return minor !== undefined && minor >= 27
    ? ["digital signature", "client auth"]
    : ["digital signature", "key encipherment", "client auth"];
}

/** The usages of a serving certificate. */
export function servingUsages(minor: number | undefined): readonly string[] {
  return nodeUsages(minor).map((usage) => (usage === "client auth" ? "server auth" : usage));
}

/** The user name of a node. */
export function nodeUser(nodeName: string): string {
  return `system:node:${nodeName}`;
}

/** Whether a subject is that of a node. */
export function isSubjectOf(nodeName: string, { commonName, organizations }: Subject): boolean {
  return commonName === nodeUser(nodeName) && organizations.length === 1 && organizations[0] === nodesGroup;
}

/** Validates a node name. @throws JoinError bad-node-name */
export function requireNodeName(text: string): string {
  const [problem] = text === "" ? ["it is empty"] : dnsSubdomainProblems(text);
  if (problem !== undefined) {
    throw new JoinError(
      "bad-node-name",
      `${JSON.stringify(plainText(text, 100))} cannot be the name of a node: ${problem}; choose one with --node-name`,
    );
  }
  return text;
}

/**
 * The name of a node's first certificate request: a digest of key, subject and usages, so that the same machine with the same key finds
 * its own request again. It is base64url and no DNS name. `spki` is the DER SubjectPublicKeyInfo. @see pkg/kubelet/certificate/bootstrap
 * digestedName
 */
export function nodeRequestName(input: {
  readonly spki: Uint8Array;
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly usages: readonly string[];
  /** The subject and names of a serving certificate. */
  readonly names?: readonly string[];
}): string {
  const hash = createHash("sha512-256");
  for (const part of [input.spki, input.commonName, ...input.organizations, ...input.usages, ...(input.names ?? [])]) {
    hash.update(`${Buffer.from(part).toString("base64url")}|`);
  }
  return `node-csr-${hash.digest("base64url")}`;
}

/** The minor version of the hub's Kubernetes, 27 of 1.27; undefined when it reports none, or is no version 1. @throws ConnectionError */
export async function kubernetesMinor(client: RemoteClient): Promise<number | undefined> {
  const reply = await client.raw("GET", "/version");
  if (reply.status !== 200) return undefined;
  const version = parsedJson(reply.body);
  // Some vendors report `27+`.
  const minor = /^(\d{1,4})\+?$/.exec(stringAt(version, "minor"))?.[1];
  return minor === undefined || stringAt(version, "major") !== "1" ? undefined : Number(minor);
}

/** The private key file of a pending request. */
export interface PendingKeyFile {
  readonly pendingKey: string;
  /** The text of a file, or undefined where there is none. */
  read(path: string): Promise<string | undefined>;
  /** Replaces a file that only its owner may read. @throws JoinError write-failed */
  replace(path: string, content: string): Promise<void>;
}

/** The private key of a pending request. It never leaves this machine. */
export interface NodeKey {
  readonly key: KeyObject;
  /** DER SubjectPublicKeyInfo. */
  readonly spki: Uint8Array;
  /** `SHA256:<base64>`, for two people to compare. */
  readonly fingerprint: string;
  /** Created by an earlier join that did not end. */
  readonly reused: boolean;
}

/**
 * The P-256 key in the file of a pending request, or a new one that is on disk before this returns. A file that contains no such key is
 * replaced, and with `replace` any. @throws JoinError write-failed
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
