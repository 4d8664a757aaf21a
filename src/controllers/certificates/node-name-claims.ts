import { nodeReturningAs } from "../../apimachinery/expired-credential.ts";
import { nodeUserPrefix, type UserInfo } from "../../apimachinery/user.ts";
import type { CsrContents } from "../../pki/csr.ts";
import { keyFingerprint } from "../../pki/keys.ts";
import type { CsrView } from "./csr-view.ts";
import { dnsSubdomainProblems } from "../../apimachinery/names.ts";

/** A node name that a certificate request asks for with a key. */
export interface WantedNodeName {
  /** The user name of the node, as in the subject: `system:node:worker-1`. */
  readonly username: string;
  /** `SHA256:<base64>` of the public key. */
  readonly key: string;
  /** The name of the CertificateSigningRequest. */
  readonly request: string;
}

/** Another key that holds the name. */
export interface NodeNameHolder {
  /** `SHA256:<base64>` of its public key; undefined where the record does not say. */
  readonly key: string | undefined;
  /** When its certificate ends, in RFC 3339; undefined while it is approved and not issued. */
  readonly notAfter: string | undefined;
  /** The CertificateSigningRequest by which it came in, as `csr/NAME`. */
  readonly request: string | undefined;
}

/**
 * Who holds which node name. Answers know every write that the API has acknowledged, and a reservation is made in the same turn of the
 * event loop as the look before it: of two requests for one name, at most one is reserved, whatever the order in which they came.
 */
export interface NodeNameClaims {
  /** The other key that holds the name, or undefined where none does or the key itself is among those that do. */
  readonly holderOf: (wanted: WantedNodeName) => NodeNameHolder | undefined;
  /** All keys that hold the name besides the one that asks, that of `holderOf` first. */
  readonly holdersOf: (wanted: WantedNodeName) => readonly NodeNameHolder[];
  /** As `holderOf`; where none holds it, the name is reserved for the request until it is seen decided or gone, or `release`. */
  readonly reserve: (wanted: WantedNodeName) => NodeNameHolder | undefined;
  /** As `reserve`, of a machine that comes back: held only by requests that are approved and not answered yet. */
  readonly reserveReturning: (wanted: WantedNodeName) => NodeNameHolder | undefined;
  /** Ends the reservation of a request whose approval was refused for certain. */
  readonly release: (request: string) => void;
}

/** The signers whose certificates let a client in as the name in their subject. */
const clientSigners: ReadonlySet<string> = new Set([
  "kubernetes.io/kube-apiserver-client",
  "kubernetes.io/kube-apiserver-client-kubelet",
]);

/** Names that differ in case alone count as one: no Node object can have the one in upper case, and DNS tells them apart nowhere. */
export function canonicalNodeUser(username: string): string {
  return username.toLowerCase();
}

/** Whether a certificate for this user name would let its holder in as a node, in whatever case it is written. */
export function isNodeUser(username: string): boolean {
  return canonicalNodeUser(username).startsWith(nodeUserPrefix);
}

/**
 * The node name that a request wants and that its requester has not shown to be its own; undefined for a node that renews, for one that
 * comes back, which docs/recovery.md judges by other rules, and for requests that are no client certificate of a node.
 */
export function wantedNodeName(csr: CsrView, facts: CsrContents, request: string): WantedNodeName | undefined {
  const { commonName } = facts.subject;
  if (!clientSigners.has(csr.signerName) || !isNodeUser(commonName)) return undefined;
  if (csr.requester.username === commonName || nodeReturningAs(csr.requester) === commonName) return undefined;
  return { username: commonName, key: keyFingerprint(facts.spki), request };
}

/** Whether the signer of a request issues certificates that let a client in. */
export function isClientSigner(signerName: string): boolean {
  return clientSigners.has(signerName);
}

/** Whether the user that a certificate with this common name would be for is revoked by name; that of a node in whatever case it is written. */
export function isUserRevoked(commonName: string, isRevoked: ((user: UserInfo) => boolean) | undefined): boolean {
  const users = isNodeUser(commonName) ? [commonName, canonicalNodeUser(commonName)] : [commonName];
  return users.some((username) => isRevoked?.({ username, groups: [] }) === true);
}

/** What is wrong with a pattern of node names; undefined for an exact name, `prefix*`, `*suffix` and `*`. */
export function nodePatternProblem(pattern: string): string | undefined {
  if (pattern === "") return "must not be empty";
  if (pattern.length > 253) return "must be no more than 253 characters";
  const stars = pattern.split("*").length - 1;
  if (stars === 0) return dnsSubdomainProblems(pattern)[0];
  if (stars > 1) return "must hold * only once";
  if (!pattern.startsWith("*") && !pattern.endsWith("*")) return "must hold * only at its beginning or its end";
  return Array.from(pattern).every((one) => one === "*" || isNameCharacter(one))
    ? undefined
    : "must hold only lower case letters, digits, - and . besides *";
}

/** Whether a node name is meant by a pattern without problems; `*` stands for at least one character. */
export function matchesNodePattern(pattern: string, node: string): boolean {
  if (pattern.startsWith("*")) return node.length >= pattern.length && node.endsWith(pattern.slice(1));
  if (pattern.endsWith("*")) return node.length >= pattern.length && node.startsWith(pattern.slice(0, -1));
  return node === pattern;
}

function isNameCharacter(one: string): boolean {
  return (one >= "a" && one <= "z") || (one >= "0" && one <= "9") || one === "-" || one === ".";
}
