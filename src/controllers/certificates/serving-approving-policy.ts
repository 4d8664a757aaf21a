import { emptyInventory, hostNameProblem, ownersByNetwork, type NodeInventory } from "./node-inventory.ts";
import { dnsSubdomainProblems } from "../../apimachinery/names.ts";
import { nodesGroup, nodeUserPrefix } from "../../apimachinery/user.ts";
import { type CsrFacts, signerChecks } from "../../pki/signers.ts";
import { cidrContainsIp, type Cidr } from "../../policy/kubernetes/cidr.ts";
import { formatIp, isGlobalUnicast, parseIp, type IpAddress } from "../../policy/kubernetes/ip-address.ts";
import type { CsrView } from "./csr-view.ts";
import { matchesNodePattern } from "./node-name-claims.ts";

/** Sources of evidence that a name or an address belongs to a node. */
export type ServingProvider = "inventory" | "networks" | "source-address" | "dns";

export const servingSigner = "kubernetes.io/kubelet-serving";

/** The names that a node requests. DNS names are host names, addresses are unicast addresses of a machine, and there is at least one of them. */
export interface ServingClaim {
  readonly node: string;
  readonly dns: readonly string[];
  readonly ips: readonly IpAddress[];
}

/** Networks with the addresses of some nodes, and the domains of their DNS names. */
export interface NetworkRule {
  /** Valid patterns. */
  readonly nodes: readonly string[];
  readonly cidrs: readonly Cidr[];
  readonly domains: readonly string[];
}

/** DNS results for a name, and for its addresses. */
export interface DnsAnswer {
  readonly addresses: readonly string[];
  /** The names of each address, by the text of the address. */
  readonly namesOf: ReadonlyMap<string, readonly string[]>;
  /** Why a lookup failed, as an error code; the other results are then ignored. */
  readonly failure?: string;
}

/** The inputs for a decision on a claim; the node can write none of them except `others`, which can only refuse. */
export interface ServingEvidence {
  readonly providers: ReadonlySet<ServingProvider>;
  readonly inventory: NodeInventory;
  readonly networks: readonly NetworkRule[];
  /** The source address of the request. */
  readonly sourceAddress: string | undefined;
  readonly dns: ReadonlyMap<string, DnsAnswer>;
  /** Names and addresses of the API itself, in lower case and canonical text. */
  readonly reserved: ReadonlySet<string>;
  /** Names and addresses that other nodes have or report, each with its node. */
  readonly others: ReadonlyMap<string, string>;
}

/** One proven name or address, and the evidence. */
export interface Proof {
  readonly name: string;
  readonly by: ServingProvider;
}

/** Whether all names are proven, or why not. */
export type Verdict = { readonly proofs: readonly Proof[] } | { readonly refusals: readonly string[] };

const maxNames = 32;

/** The claim of a request for a serving certificate whose requester is that node, or why it is none. Source: pkg/apis/certificates. */
export function servingClaim(csr: CsrView, facts: CsrFacts): ServingClaim | string {
  const { sans } = facts;
  const problem = requesterProblem(csr) ?? requestProblem(csr, facts);
  if (problem !== undefined) return problem;
  const ips: IpAddress[] = [];
  for (const text of sans.ip) {
    const parsed = parseIp(text);
    if (!("ip" in parsed)) return `address ${text} is an IPv4 address in the form of IPv6`;
    if (!isGlobalUnicast(parsed.ip)) return `address ${text} is not an address of one machine`;
    ips.push(parsed.ip);
  }
  return { node: nodeOf(csr), dns: [...new Set(sans.dns)], ips };
}

function nodeOf({ requester }: CsrView): string {
  return requester.username.slice(nodeUserPrefix.length);
}

function requesterProblem(csr: CsrView): string | undefined {
  const { username, groups } = csr.requester;
  if (csr.signerName !== servingSigner) return `its signer is not ${servingSigner}`;
  if (!username.startsWith(nodeUserPrefix)) return "it was not made by a node";
  if (dnsSubdomainProblems(nodeOf(csr)).length > 0) return "it was not made by a node with a proper name";
  return groups.includes(nodesGroup) ? undefined : `its requester is not in group ${nodesGroup}`;
}

function requestProblem({ usages, requester }: CsrView, facts: CsrFacts): string | undefined {
  const { subject, sans } = facts;
  const misshapen = signerChecks.get(servingSigner)?.(facts, usages);
  if (misshapen !== undefined) return misshapen;
  if (new Set(usages).size !== usages.length) return "a usage is listed twice";
  if (subject.commonName !== requester.username) return "its common name is not that of the node that asks";
  if (sans.others > 0) return "it asks for names that are neither DNS names nor addresses";
  if (sans.dns.length + sans.ip.length > maxNames) return `it asks for more than ${maxNames} names`;
  const named = sans.dns.map((name) => [name, dnsProblem(name)] as const).find(([, problem]) => problem !== undefined);
  return named === undefined ? undefined : `DNS name ${JSON.stringify(named[0])} ${named[1]}`;
}

/** Whether each name and address of the claim is proven to belong to the node. */
export function judgeServing(claim: ServingClaim, evidence: ServingEvidence): Verdict {
  const { inventory, providers } = evidence;
  const problems = providers.has("inventory") ? (inventory.problems.get(claim.node) ?? []) : [];
  if (problems.length > 0) return { refusals: problems.map((one) => `the inventory of this node is wrong: ${one}`) };
  const addresses = claim.ips.map((ip) => proveAddress(claim, ip, evidence));
  const proven = addresses.flatMap((one) => (typeof one === "string" ? [] : [one]));
  const names = claim.dns.map((name) => proveName(claim, name, { ...evidence, proven }));
  const all = [...names, ...addresses];
  const refusals = all.flatMap((one) => (typeof one === "string" ? [one] : []));
  return refusals.length > 0 ? { refusals } : { proofs: all.flatMap((one) => (typeof one === "string" ? [] : [one])) };
}

/** The names that need a DNS lookup: all others are decided without it, or refused whatever DNS returns. */
export function namesForDns(claim: ServingClaim, evidence: ServingEvidence): readonly string[] {
  if (!evidence.providers.has("dns")) return [];
  const proven = strongAddresses(claim, evidence);
  if (proven.size === 0) return [];
  return claim.dns.filter((name) => typeof proveName(claim, name, { ...evidence, proven: [] }) === "string");
}

/** A name or address of a claim. */
interface Claimed {
  readonly name: string;
  /** As shown in refusals. */
  readonly shown: string;
  /** Its owner in the inventory, and whether the inventory lists it explicitly. */
  readonly owners: readonly string[];
  readonly isExact: boolean;
  /** Another node that has or reports it. */
  readonly other: string | undefined;
}

/** The verdict of the inventory, the names of the API and other nodes; undefined where none of them decides. */
function decidedFirst(
  claim: ServingClaim,
  claimed: Claimed,
  { reserved }: ServingEvidence,
): Proof | string | undefined {
  const { name, shown, owners, other } = claimed;
  const foreign = owners.find((owner) => owner !== claim.node);
  if (foreign !== undefined) return `${shown} is that of node ${JSON.stringify(foreign)} in the inventory`;
  // A network may contain the API by accident, but an explicit address is intended.
  const isReserved = reserved.has(name);
  if (owners.length > 0 && (claimed.isExact || !isReserved)) return { name, by: "inventory" };
  if (isReserved) return `${shown} is one of the API itself`;
  return other === undefined ? undefined : `${shown} is also that of node ${JSON.stringify(other)}`;
}

function inventoryIn({ providers, inventory }: ServingEvidence): NodeInventory {
  return providers.has("inventory") ? inventory : emptyInventory;
}

/** The inventory, the address the request came from, the networks: the first that proves the address. */
function proveAddress(claim: ServingClaim, ip: IpAddress, evidence: ServingEvidence): Proof | string {
  const { providers, sourceAddress } = evidence;
  const inventory = inventoryIn(evidence);
  const name = formatIp(ip);
  const shown = `address ${name}`;
  const exact = inventory.ownersOfIp.get(name) ?? [];
  const isExact = exact.length > 0;
  const owners = isExact ? exact : ownersByNetwork(inventory, ip);
  const decided = decidedFirst(claim, { name, shown, owners, isExact, other: evidence.others.get(name) }, evidence);
  if (decided !== undefined) return decided;
  if (providers.has("source-address") && sourceAddress === name) return { name, by: "source-address" };
  const isNear = networkRules(claim, evidence).some(({ cidrs }) => isWithin(cidrs, ip));
  return isNear ? { name, by: "networks" } : unproven(shown, providers);
}

/** The inventory, the networks' domains, DNS together with a strong proof of its addresses: the first that proves the name. */
function proveName(
  claim: ServingClaim,
  name: string,
  evidence: ServingEvidence & { readonly proven: readonly Proof[] },
): Proof | string {
  const { providers, others } = evidence;
  const shown = `DNS name ${JSON.stringify(name)}`;
  const owners = inventoryIn(evidence).ownersOfName.get(name) ?? [];
  const other = others.get(name) ?? others.get(name.split(".", 1)[0] ?? "");
  const decided = decidedFirst(claim, { name, shown, owners, isExact: true, other }, evidence);
  if (decided !== undefined) return decided;
  if (networkRules(claim, evidence).some((rule) => isNamed(rule, claim.node, name))) return { name, by: "networks" };
  const answer = providers.has("dns") ? evidence.dns.get(name) : undefined;
  if (answer === undefined) return unproven(shown, providers);
  const problem = dnsMismatch(name, answer, strongNames(evidence.proven));
  return problem === undefined ? { name, by: "dns" } : `${shown} ${problem}`;
}

function unproven(shown: string, providers: ReadonlySet<ServingProvider>): string {
  return `${shown} is not proven by ${[...providers].join(", ")}`;
}

/** Any machine of a network could claim one of its addresses, so such evidence does not support DNS. */
const strong: readonly ServingProvider[] = ["inventory", "source-address"];

function strongNames(proofs: readonly Proof[]): ReadonlySet<string> {
  return new Set(proofs.filter(({ by }) => strong.includes(by)).map(({ name }) => name));
}

function strongAddresses(claim: ServingClaim, evidence: ServingEvidence): ReadonlySet<string> {
  const proofs = claim.ips.map((ip) => proveAddress(claim, ip, evidence));
  return strongNames(proofs.flatMap((one) => (typeof one === "string" ? [] : [one])));
}

/** Why DNS does not prove the name, or undefined: all its addresses must have other proof, and resolve back to the name. */
function dnsMismatch(
  name: string,
  { addresses, namesOf, failure }: DnsAnswer,
  proven: ReadonlySet<string>,
): string | undefined {
  if (failure !== undefined) return `could not be looked up in DNS (${failure})`;
  if (addresses.length === 0) return "has no address in DNS";
  const stray = addresses.find((address) => !proven.has(address));
  if (stray !== undefined) return `is address ${stray} in DNS, which nothing but DNS says is this node's`;
  const mute = addresses.find((address) => namesOf.get(address)?.includes(name) !== true);
  return mute === undefined ? undefined : `is not the name that DNS has for address ${mute}`;
}

function networkRules({ node }: ServingClaim, { providers, networks }: ServingEvidence): readonly NetworkRule[] {
  if (!providers.has("networks")) return [];
  return networks.filter(({ nodes }) => nodes.some((pattern) => matchesNodePattern(pattern, node)));
}

function isWithin(cidrs: readonly Cidr[], ip: IpAddress): boolean {
  return cidrs.some((cidr) => cidrContainsIp(cidr, ip));
}

function isNamed({ domains }: NetworkRule, node: string, name: string): boolean {
  return name === node || domains.some((domain) => name === `${node}.${domain}`);
}

/** Names that clients in a cluster or on one machine resolve to something other than a node. */
function dnsProblem(name: string): string | undefined {
  const problem = hostNameProblem(name);
  if (problem !== undefined) return problem;
  const labels = name.split(".");
  const last = labels.at(-1);
  if (last === "localhost") return "is that of the requester";
  const isService = labels.includes("svc") || (last === "local" && labels.at(-2) === "cluster");
  return isService || name === "kubernetes" || name === "kubernetes.default" ? "is one that Services have" : undefined;
}
