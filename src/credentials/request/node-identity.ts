import { createHash } from "node:crypto";
import { dnsSubdomainProblems } from "../../apimachinery/names.ts";
import { JoinError, plainText } from "../join-error.ts";

/** The group of every node. */
export const nodesGroup = "system:nodes";

/**
 * What a kubelet asks for with an EC key. A Kubernetes older than 1.25 signs nothing without key encipherment, though such a key
 * cannot do it, and its kubelets left it out from 1.27 on; so it is asked for wherever the version is older or not known. `minor`
 * is the 27 of 1.27. @see kubernetes/kubernetes#109077
 */
export function nodeUsages(minor: number | undefined): readonly string[] {
  return minor !== undefined && minor >= 27
    ? ["digital signature", "client auth"]
    : ["digital signature", "key encipherment", "client auth"];
}

/** The same for a certificate to serve with. */
export function servingUsages(minor: number | undefined): readonly string[] {
  return nodeUsages(minor).map((usage) => (usage === "client auth" ? "server auth" : usage));
}

/** The user name of a node. */
export function nodeUser(nodeName: string): string {
  return `system:node:${nodeName}`;
}

/** The name, as a node may be called. @throws JoinError bad-node-name */
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
 * The name of a node's first certificate request: a digest of key, subject and usages, so that the same machine with the same key
 * finds its own request again. It is base64url and no DNS name. `spki` is the DER SubjectPublicKeyInfo.
 * @see pkg/kubelet/certificate/bootstrap digestedName
 */
export function nodeRequestName(input: {
  readonly spki: Uint8Array;
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly usages: readonly string[];
  /** What a serving certificate is asked for. */
  readonly names?: readonly string[];
}): string {
  const hash = createHash("sha512-256");
  for (const part of [input.spki, input.commonName, ...input.organizations, ...input.usages, ...(input.names ?? [])]) {
    hash.update(`${Buffer.from(part).toString("base64url")}|`);
  }
  return `node-csr-${hash.digest("base64url")}`;
}
