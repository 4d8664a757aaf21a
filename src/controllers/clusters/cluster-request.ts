import type { ApiObject } from "../../apimachinery/object.ts";
import { dnsLabelProblems } from "../../apimachinery/names.ts";
import { CsrError, type CsrContents } from "../../pki/csr.ts";
import { isPlainSubject } from "../../pki/subject-attributes.ts";
import {
  addOnNameLabel,
  agentOf,
  clusterGroupOf,
  clusterNameLabel,
  managedClustersGroup,
  type AgentIdentity,
} from "../../apis/managed-cluster.ts";
import type { CsrView } from "../certificates/csr-view.ts";

/** By which certificates of agents are signed. */
export const agentSigner = "kubernetes.io/kube-apiserver-client";

/** The cluster that a request for the certificate of its agent is labelled with, or undefined for all other requests. */
export function labelledCluster({ metadata }: ApiObject): string | undefined {
  const { labels = {} } = metadata;
  if (Object.hasOwn(labels, addOnNameLabel) || !Object.hasOwn(labels, clusterNameLabel)) return undefined;
  const cluster = labels[clusterNameLabel] ?? "";
  return dnsLabelProblems(cluster).length === 0 ? cluster : undefined;
}

/** What a request is compared by: everything in it, as whatever is not looked at would be signed unseen. */
export type RequestFacts = Pick<CsrContents, "subject" | "rawSubject" | "sans" | "requestedExtensions" | "asksForCa">;

/**
 * Whose certificate a request is for, or why it is none of an agent. Names are compared exactly and as a whole: a prefix of one
 * cluster may be the name of another. Source: ocm pkg/registration/hub/csr, whose checks these contain.
 */
export function agentRequest(csr: CsrView, cluster: string, facts: RequestFacts): AgentIdentity | string {
  const { subject, sans } = facts;
  if (csr.signerName !== agentSigner) return "its signer is another";
  const identity = agentOf(subject.commonName);
  if (identity === undefined) return "its common name is not that of an agent";
  if (identity.cluster !== cluster) return "its common name is that of another cluster than its label";
  const own = subject.organizations.filter((one) => one !== managedClustersGroup);
  if (own.length !== 1 || own[0] !== clusterGroupOf(cluster)) return "its organizations are not those of the cluster";
  if (subject.organizations.length > 2) return "an organization stands in it twice";
  if (!isPlainSubject(facts.rawSubject)) return "its subject holds more than a common name and organizations";
  if (sans.dns.length + sans.ip.length + sans.email.length + sans.uri.length + sans.others > 0) {
    return "it asks for alternative names";
  }
  if (facts.asksForCa) return "it asks to be a CA";
  return isClientUse(csr.usages) ? identity : "its usages are not those of a client";
}

const allowedUsages: ReadonlySet<string> = new Set(["digital signature", "key encipherment", "client auth"]);

/** Whether a certificate is for a client and nothing else. */
export function isClientUse(usages: readonly string[]): boolean {
  return usages.includes("client auth") && usages.every((usage) => allowedUsages.has(usage));
}

/** What stands in a request, or why it cannot be read. */
export function readRequest(parse: (pem: string) => CsrContents, csr: CsrView): CsrContents | string {
  try {
    return parse(csr.request);
  } catch (error) {
    if (error instanceof CsrError) return error.message;
    throw error;
  }
}
