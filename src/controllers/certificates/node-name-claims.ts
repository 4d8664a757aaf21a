import { nodeReturningAs } from "../../apimachinery/expired-credential.ts";
import { nodeUserPrefix, type UserInfo } from "../../apimachinery/user.ts";
import type { CsrContents } from "../../pki/csr.ts";
import { keyFingerprint } from "../../pki/keys.ts";
import type { CsrView } from "./csr-view.ts";
import { dnsSubdomainProblems } from "../../apimachinery/names.ts";

/** A node name that a certificate request claims with a key. */
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
  /** `SHA256:<base64>` of its public key; undefined where the record has none. */
  readonly key: string | undefined;
  /** When its certificate expires, in RFC 3339; undefined while it is approved and not issued. */
  readonly notAfter: string | undefined;
  /** Its CertificateSigningRequest, as `csr/NAME`. */
  readonly request: string | undefined;
}

/**
 * Which key holds which node name. Results include every acknowledged write, and a reservation is made in the same turn of the event loop
 * as its check: of two requests for one name, at most one is reserved, in whatever order they arrive.
 */
export interface NodeNameClaims {
  /** Another key that holds the name, or undefined where there is none or the key itself holds it. */
  readonly holderOf: (wanted: WantedNodeName) => NodeNameHolder | undefined;
  /** All other keys that hold the name, that of `holderOf` first. */
  readonly holdersOf: (wanted: WantedNodeName) => readonly NodeNameHolder[];
  /** As `holderOf`; a free name is reserved for the request until the request is decided or deleted, or until `release`. */
  readonly reserve: (wanted: WantedNodeName) => NodeNameHolder | undefined;
  /** As `reserve`, for a machine with an expired certificate: only approved requests without a certificate count as holders. */
  readonly reserveReturning: (wanted: WantedNodeName) => NodeNameHolder | undefined;
  /** Ends the reservation of a request whose approval was definitely rejected. */
  readonly release: (request: string) => void;
}

/** The signers whose certificates authenticate a client as the name in their subject. */
const clientSigners: ReadonlySet<string> = new Set([
  "kubernetes.io/kube-apiserver-client",
  "kubernetes.io/kube-apiserver-client-kubelet",
]);

/** Names that differ only in case count as one: no Node can have an upper-case name, and DNS ignores case. */
export function canonicalNodeUser(username: string): string {
  return username.toLowerCase();
}

/** Whether a certificate for this user name would authenticate its holder as a node, in whatever case it is written. */
export function isNodeUser(username: string): boolean {
  return canonicalNodeUser(username).startsWith(nodeUserPrefix);
}

/**
 * The node name that a request claims and that its requester has not proven to be its own; undefined for a node that renews, for a node
 * with an expired certificate, which docs/recovery.md covers, and for requests that are no client certificate of a node.
 */
export function wantedNodeName(csr: CsrView, facts: CsrContents, request: string): WantedNodeName | undefined {
  const { commonName } = facts.subject;
  if (!clientSigners.has(csr.signerName) || !isNodeUser(commonName)) return undefined;
  if (csr.requester.username === commonName || nodeReturningAs(csr.requester) === commonName) return undefined;
  return { username: commonName, key: keyFingerprint(facts.spki), request };
}

/** Whether the signer of a request issues client certificates. */
export function isClientSigner(signerName: string): boolean {
  return clientSigners.has(signerName);
}

/** Whether the user that a certificate with this common name would be for is revoked by name; that of a node in whatever case it is written. */
export function isUserRevoked(commonName: string, isRevoked: ((user: UserInfo) => boolean) | undefined): boolean {
  const users = isNodeUser(commonName) ? [commonName, canonicalNodeUser(commonName)] : [commonName];
  return users.some((username) => isRevoked?.({ username, groups: [] }) === true);
}

/** The problem of a pattern of node names; undefined for an exact name, `prefix*`, `*suffix` and `*`. */
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

/** Whether a node name matches a valid pattern; `*` matches at least one character. */
export function matchesNodePattern(pattern: string, node: string): boolean {
  if (pattern.startsWith("*")) return node.length >= pattern.length && node.endsWith(pattern.slice(1));
  if (pattern.endsWith("*")) return node.length >= pattern.length && node.startsWith(pattern.slice(0, -1));
  return node === pattern;
}

function isNameCharacter(one: string): boolean {
  return (one >= "a" && one <= "z") || (one >= "0" && one <= "9") || one === "-" || one === ".";
}
