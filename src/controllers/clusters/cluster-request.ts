import { readRequest, type CsrView } from "../certificates/csr-view.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { dnsLabelProblems } from "../../apimachinery/names.ts";
import type { CsrContents } from "../../pki/csr.ts";
import { isPlainSubject } from "../../pki/names.ts";
import {
  addOnNameLabel,
  agentOf,
  clusterGroupOf,
  clusterNameLabel,
  managedClustersGroup,
  type AgentIdentity,
} from "../../apis/managed-cluster.ts";
import type { Change } from "../../client/object-store.ts";

/** The signer of certificates of agents. */
export const agentSigner = "kubernetes.io/kube-apiserver-client";

/** The cluster in the label of a request for the certificate of its agent; undefined for all other requests. */
export function labelledCluster({ metadata }: ApiObject): string | undefined {
  const { labels = {} } = metadata;
  if (Object.hasOwn(labels, addOnNameLabel) || !Object.hasOwn(labels, clusterNameLabel)) return undefined;
  const cluster = labels[clusterNameLabel] ?? "";
  return dnsLabelProblems(cluster).length === 0 ? cluster : undefined;
}

/** What a request is compared by: every field, as a field that is not compared would be signed unchecked. */
export type RequestFacts = Pick<CsrContents, "subject" | "rawSubject" | "sans" | "requestedExtensions" | "asksForCa">;

/**
 * The agent whose certificate a request is for, or why it is no request of an agent. Names are compared exactly and as a whole: a prefix
 * of one cluster may be the name of another. Source: ocm pkg/registration/hub/csr, whose checks these include.
 */
export function agentRequest(csr: CsrView, cluster: string, facts: RequestFacts): AgentIdentity | string {
  const { subject } = facts;
  if (csr.signerName !== agentSigner) return "its signer is another";
  const identity = agentOf(subject.commonName);
  if (identity === undefined) return "its common name is not that of an agent";
  if (identity.cluster !== cluster) return "its common name is that of another cluster than its label";
  const own = subject.organizations.filter((one) => one !== managedClustersGroup);
  if (own.length !== 1 || own[0] !== clusterGroupOf(cluster)) return "its organizations are not those of the cluster";
  if (subject.organizations.length > 2) return "an organization stands in it twice";
  return clientObjection(csr, facts, []) ?? identity;
}

/** The contents of a request of an agent of the cluster, or why it is none. */
export function readAgentRequest(
  parse: (pem: string) => CsrContents,
  csr: CsrView,
  cluster: string,
): { readonly contents: CsrContents; readonly identity: AgentIdentity } | string {
  const contents = readRequest(parse, csr);
  if (typeof contents === "string") return contents;
  const identity = agentRequest(csr, cluster, contents);
  return typeof identity === "string" ? identity : { contents, identity };
}

/** Why a request is not for a client certificate with a plain subject and only these DNS names; undefined where it is. */
function clientObjection(csr: CsrView, facts: RequestFacts, dnsNames: readonly string[]): string | undefined {
  const { rawSubject, sans, asksForCa } = facts;
  if (!isPlainSubject(rawSubject)) return "its subject holds more than a common name and organizations";
  const others = sans.email.length + sans.ip.length + sans.uri.length + sans.others;
  if (others > 0 || sans.dns.some((name) => !dnsNames.includes(name))) {
    return dnsNames.length === 0 ? "it asks for alternative names" : "it asks for other names than the add-on's";
  }
  if (asksForCa) return "it asks to be a CA";
  return isClientUse(csr.usages) ? undefined : "its usages are not those of a client";
}

const allowedUsages: ReadonlySet<string> = new Set(["digital signature", "key encipherment", "client auth"]);

/** Whether a certificate is for client authentication only. */
function isClientUse(usages: readonly string[]): boolean {
  return usages.includes("client auth") && usages.every((usage) => allowedUsages.has(usage));
}

/** The requests for certificates of agents, by their cluster label. */
interface ClusterRequestIndex {
  /** The `observe` of a watch on requests. */
  observe(change: Change): void;
  /** In order of arrival. */
  of(cluster: string): readonly ApiObject[];
}

/** An empty index. */
export function clusterRequestIndex(): ClusterRequestIndex {
  const byCluster = new Map<string, Map<string, ApiObject>>();
  const clusterOf = new Map<string, string>();

  function forget(name: string): void {
    const cluster = clusterOf.get(name);
    if (cluster === undefined) return;
    clusterOf.delete(name);
    const requests = byCluster.get(cluster);
    requests?.delete(name);
    if (requests?.size === 0) byCluster.delete(cluster);
  }

  function observe({ type, object }: Change): void {
    const { name = "" } = object.metadata;
    const cluster = type === "DELETED" ? undefined : labelledCluster(object);
    // A changed request keeps its position in the order of arrival.
    if (cluster === undefined || clusterOf.get(name) !== cluster) forget(name);
    if (cluster === undefined) return;
    clusterOf.set(name, cluster);
    const requests = byCluster.get(cluster) ?? new Map<string, ApiObject>();
    byCluster.set(cluster, requests.set(name, object));
  }

  return { observe, of: (cluster) => [...(byCluster.get(cluster)?.values() ?? [])] };
}

/** An add-on of a cluster. */
export interface AddOnName {
  readonly cluster: string;
  readonly addOn: string;
}

/** The add-on in the label of a request; undefined for all other requests. */
export function labelledAddOn({ metadata }: ApiObject): AddOnName | undefined {
  const { labels = {} } = metadata;
  const cluster = Object.hasOwn(labels, clusterNameLabel) ? (labels[clusterNameLabel] ?? "") : "";
  const addOn = Object.hasOwn(labels, addOnNameLabel) ? (labels[addOnNameLabel] ?? "") : "";
  return cluster === "" || addOn === "" ? undefined : { cluster, addOn };
}

/**
 * Why a request of an agent of an add-on is not approved automatically, or undefined: its subject is the default one, and the agent of
 * that cluster requests it. The original compares the requester by a prefix, by which `prod2` passes for `prod`. Source: addon-framework
 * pkg/utils/csr_helpers.
 */
export function addOnObjection(csr: CsrView, { cluster, addOn }: AddOnName, facts: RequestFacts): string | undefined {
  const { subject } = facts;
  if (csr.signerName !== agentSigner) return "its signer is another";
  const requester = agentOf(csr.requester.username);
  if (requester?.cluster !== cluster) return "the agent of the cluster did not ask for it";
  const own = `system:open-cluster-management:cluster:${cluster}:addon:${addOn}`;
  if (subject.commonName !== `${own}:agent:${requester.agent}`)
    return "its common name is not that of the add-on's agent";
  const groups = new Set(subject.organizations);
  if (groups.size !== subject.organizations.length) return "an organization stands in it twice";
  const needed = [own, `system:open-cluster-management:addon:${addOn}`];
  const isExact =
    needed.every((group) => groups.delete(group)) && (groups.size === 0 || groups.delete("system:authenticated"));
  if (!isExact || groups.size > 0) return "its organizations are not those of the add-on";
  return clientObjection(csr, facts, [`${addOn}.addon.open-cluster-management.io`]);
}
