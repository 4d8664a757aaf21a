import type { ApiObject } from "../../apimachinery/object.ts";
import { isPlainSubject } from "../../pki/subject-attributes.ts";
import { addOnNameLabel, agentOf, clusterNameLabel } from "../../apis/managed-cluster.ts";
import { agentSigner, isClientUse, type RequestFacts } from "./cluster-request.ts";
import type { CsrView } from "../certificates/csr-view.ts";

/** An add-on of a cluster. */
export interface AddOnName {
  readonly cluster: string;
  readonly addOn: string;
}

/** The add-on that a request is labelled with, or undefined for all other requests. */
export function labelledAddOn({ metadata }: ApiObject): AddOnName | undefined {
  const { labels = {} } = metadata;
  const cluster = Object.hasOwn(labels, clusterNameLabel) ? (labels[clusterNameLabel] ?? "") : "";
  const addOn = Object.hasOwn(labels, addOnNameLabel) ? (labels[addOnNameLabel] ?? "") : "";
  return cluster === "" || addOn === "" ? undefined : { cluster, addOn };
}

/**
 * Why the request of an agent of an add-on is not the one that is approved by itself, or undefined: its subject is the default one,
 * and the agent of the very cluster asks. The original compares the requester by a prefix, by which `prod2` passes for `prod`.
 * Source: addon-framework pkg/utils/csr_helpers.
 */
export function addOnObjection(csr: CsrView, { cluster, addOn }: AddOnName, facts: RequestFacts): string | undefined {
  const { subject, sans } = facts;
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
  if (!isPlainSubject(facts.rawSubject)) return "its subject holds more than a common name and organizations";
  const others = sans.email.length + sans.ip.length + sans.uri.length + sans.others;
  if (others > 0 || sans.dns.some((name) => name !== `${addOn}.addon.open-cluster-management.io`)) {
    return "it asks for other names than the add-on's";
  }
  if (facts.asksForCa) return "it asks to be a CA";
  return isClientUse(csr.usages) ? undefined : "its usages are not those of a client";
}
