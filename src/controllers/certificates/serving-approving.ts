import {
  type CsrControllerOptions,
  readRequest,
  isUndecided,
  csrView,
  hasCondition,
  type CsrView,
} from "./csr-view.ts";
import type { Client } from "../../client/client.ts";
import type { Reader } from "../../client/object-store.ts";
import { approveRequest, manualApproval, revokedRequester } from "./manual-approval.ts";
import type { Backoff } from "../../client/backoff.ts";
import type { ApiObject, ObjectKey } from "../../apimachinery/object.ts";
import { nodeUserPrefix, type UserInfo } from "../../apimachinery/user.ts";
import { formatIp, parseIp } from "../../policy/kubernetes/ip-address.ts";
import { sourceAddressOf } from "../../apis/certificate-signing-request.ts";
import type { ConfigMap } from "../../apis/config-map.ts";
import type { Node } from "../../apis/node.ts";
import { done, type Controller, type Outcome, type Watch } from "../controller.ts";
import { certificateSigningRequests, configMaps, nodes } from "../kinds.ts";
import { emptyInventory, inventoryOfConfigMap, type NodeInventory } from "./node-inventory.ts";
import {
  judgeServing,
  namesForDns,
  servingClaim,
  servingSigner,
  type DnsAnswer,
  type NetworkRule,
  type Proof,
  type ServingClaim,
  type ServingEvidence,
  type ServingProvider,
} from "./serving-approving-policy.ts";
import { Resolver } from "node:dns/promises";

/** The account that may approve for this one signer. */
const serviceAccount = "serving-approving-controller";

const inventoryMap: ObjectKey = { namespace: "kube-system", name: "pratique-node-inventory" };

/** DNS lookups. A name or address that is not in DNS has no answers; other failures are thrown. */
export interface ServingResolver {
  readonly addressesOf: (name: string) => Promise<readonly string[]>;
  readonly namesOf: (address: string) => Promise<readonly string[]>;
}

/** Which evidence approves serving certificates. */
export interface ServingApproval {
  /** At least one other than dns. `source-address` only where the API stamps it and clients cannot. */
  readonly providers: readonly ServingProvider[];
  readonly networks: readonly NetworkRule[];
  /** Whether a Node of that name must exist. */
  readonly requireNode: boolean;
  /** The inventory of a file; absent where the ConfigMap kube-system/pratique-node-inventory is used. */
  readonly inventory?: NodeInventory;
  /** Names and addresses of the API itself. */
  readonly reserved: readonly string[];
}

export interface ServingApprovingOptions extends ServingApproval, CsrControllerOptions {
  /** Whether the credential of the requester has been revoked since. */
  readonly isRevoked?: (requester: UserInfo) => boolean;
  /** Whether a request that is left to an approver gets a condition. Not on a real Kubernetes, whose cleaner never deletes requests with a condition. */
  readonly marks?: boolean;
  readonly resolver: ServingResolver;
}

// DNS may change without an event; all other inputs are watched.
const backoff: Backoff = { initialMs: 1000, maxMs: 1_000_000 };

/**
 * Approves serving certificates of kubelets when each of their names is proven to belong to the node; never denies. A request that is
 * left to an approver gets an Event with the reason. Kubernetes has no such controller, as it cannot know which names belong to which
 * node.
 */
export function servingApproving(options: ServingApprovingOptions): Controller {
  const { client, reader } = options.informers.as(serviceAccount);
  const marking = options.marks === true ? { client, clock: options.clock } : undefined;
  const csrs = reader({ resource: certificateSigningRequests });
  const everyNode = reader({ resource: nodes });
  const providers = new Set(options.providers);
  const usesMap = providers.has("inventory") && options.inventory === undefined;
  const inventory = usesMap ? inventoryIn(reader(inventorySelection)) : () => options.inventory ?? emptyInventory;
  const reserved = new Set(options.reserved.map(canonical));

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const object = csrs.get(key);
    if (object === undefined) return done;
    const csr = csrView(object);
    if (!isOpen(csr)) return done;
    if (options.isRevoked?.(csr.requester) === true) return manualApproval(marking, object, revokedRequester);
    const request = readRequest(options.parse, csr);
    const claim = typeof request === "string" ? request : servingClaim(csr, request);
    return typeof claim === "string" ? abstain(object, [claim]) : judge(object, claim);
  }

  async function judge(object: ApiObject, claim: ServingClaim): Promise<Outcome> {
    if (options.requireNode && everyNode.get({ name: claim.node }) === undefined) {
      return abstain(object, [`there is no Node ${JSON.stringify(claim.node)}`]);
    }
    const address = sourceAddressOf(object);
    const known: ServingEvidence = {
      providers,
      inventory: inventory(),
      networks: options.networks,
      sourceAddress: address && canonical(address),
      dns: new Map(),
      reserved,
      others: othersThan(claim.node, everyNode.list()),
    };
    const asked = namesForDns(claim, known);
    const verdict = judgeServing(claim, { ...known, dns: await lookUp(options.resolver, asked) });
    if ("proofs" in verdict) return approve(client, { object, claim }, verdict.proofs);
    // DNS may change later, without an event.
    return abstain(object, verdict.refusals, asked.length === 0 ? "woken" : "paused");
  }

  function abstain(
    object: ApiObject,
    refusals: readonly string[],
    again: "woken" | "paused" = "woken",
  ): Promise<Outcome> {
    return manualApproval(marking, object, { reason: "ServingNotApproved", message: refusals.join("; "), again });
  }

  const open = (of?: string): readonly ObjectKey[] =>
    csrs.list().flatMap((object) => {
      const csr = csrView(object);
      const isMeant = of === undefined || csr.requester.username === nodeUserPrefix + of;
      return isOpen(csr) && isMeant ? [{ name: object.metadata.name ?? "" }] : [];
    });
  const watches: readonly Watch[] = [
    { resource: certificateSigningRequests },
    { resource: nodes, keys: ({ metadata }) => open(metadata.name ?? "") },
    ...(usesMap ? [{ ...inventorySelection, keys: () => open() }] : []),
  ];
  return { name: "serving-approving", serviceAccount, watches, concurrency: 16, backoff, reconcile };
}

async function approve(
  client: Client,
  { object, claim }: { readonly object: ApiObject; readonly claim: ServingClaim },
  proofs: readonly Proof[],
): Promise<Outcome> {
  const by = proofs.map((proof) => `${proof.name} by ${proof.by}`).join(", ");
  const message = `Auto approving serving certificate of node ${claim.node}: ${by}.`;
  return approveRequest(client, object, { reason: "AutoApproved", message });
}

/** The inventory in its ConfigMap, parsed once for each version of it. */
function inventoryIn(maps: Reader): () => NodeInventory {
  const read = new WeakMap<ApiObject, NodeInventory>();
  return () => {
    const map = maps.get(inventoryMap);
    if (map === undefined) return emptyInventory;
    const known = read.get(map) ?? inventoryOfConfigMap((map as ConfigMap).data);
    read.set(map, known);
    return known;
  };
}

const inventorySelection = {
  resource: configMaps,
  namespace: inventoryMap.namespace ?? "",
  fieldSelector: `metadata.name=${inventoryMap.name}`,
};

function isOpen(csr: CsrView): boolean {
  return csr.signerName === servingSigner && isUndecided(csr) && !hasCondition(csr, "Failed");
}

/** The canonical text of each address; names in lower case. */
function canonical(text: string): string {
  const parsed = parseIp(text);
  return "ip" in parsed ? formatIp(parsed.ip) : text.toLowerCase();
}

/** Names and addresses of other nodes by their own status. A false status can only prevent the approval of a name. */
function othersThan(node: string, all: readonly Node[]): ReadonlyMap<string, string> {
  const others = new Map<string, string>();
  for (const { metadata, status } of all) {
    const { name = "" } = metadata;
    if (name === node) continue;
    others.set(name, name);
    for (const { address } of status?.addresses ?? []) others.set(canonical(address), name);
  }
  return others;
}

async function lookUp(resolver: ServingResolver, asked: readonly string[]): Promise<ReadonlyMap<string, DnsAnswer>> {
  const answers = new Map<string, DnsAnswer>();
  for (const name of asked) answers.set(name, await lookUpOne(resolver, name));
  return answers;
}

async function lookUpOne(resolver: ServingResolver, name: string): Promise<DnsAnswer> {
  try {
    const addresses = (await resolver.addressesOf(name)).slice(0, maxAddresses + 1).map(canonical);
    const namesOf = new Map<string, readonly string[]>();
    if (addresses.length <= maxAddresses) {
      for (const address of addresses) namesOf.set(address, (await resolver.namesOf(address)).map(plainName));
    }
    return { addresses, namesOf };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const failure = "code" in error && typeof error.code === "string" ? error.code : error.name;
    return { addresses: [], namesOf: new Map(), failure };
  }
}

const maxAddresses = 8;

function plainName(name: string): string {
  const lower = name.toLowerCase();
  return lower.endsWith(".") ? lower.slice(0, -1) : lower;
}

/** Answers of DNS servers for a name without records of a type; all other codes mean that the lookup failed. Source: c-ares. */
const noRecords: ReadonlySet<unknown> = new Set(["ENODATA", "ENOTFOUND"]);

/** Queries the DNS servers of the system, each for two seconds, twice. @throws the error of the resolver, with its code, where the lookup failed */
export function systemResolver(): ServingResolver {
  const resolver = new Resolver({ timeout: 2000, tries: 2 });
  const orNothing = async (asked: Promise<readonly string[]>): Promise<readonly string[]> => {
    try {
      return await asked;
    } catch (error) {
      if (error instanceof Error && "code" in error && noRecords.has(error.code)) return [];
      throw error;
    }
  };
  return {
    addressesOf: async (name) => {
      const both = await Promise.all([orNothing(resolver.resolve4(name)), orNothing(resolver.resolve6(name))]);
      return both.flat();
    },
    namesOf: async (address) => orNothing(resolver.reverse(address)),
  };
}
