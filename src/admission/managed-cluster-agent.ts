import {
  isAccepted,
  agentGroups,
  agentOf,
  clusterCondition,
  deciderAnnotation,
  managedClustersGroup,
  addOnNameLabel,
  clusterNameLabel,
  type ManagedCluster,
} from "../apis/managed-cluster.ts";
import { jsonEqual } from "../apimachinery/equal.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { forbidden } from "../apimachinery/status.ts";
import { stringAt } from "../apis/json-fields.ts";
import type { AdmissionPlugin } from "./admission.ts";

/** What the hub alone says of a cluster. */
const hubConditions: readonly string[] = [clusterCondition.accepted, clusterCondition.clock, clusterCondition.deleting];

const agentAnnotations = "agent.open-cluster-management.io";

/** Whether the user is the agent of some cluster, which writes about its cluster what is its own to say and nothing else. */
export function isAgent({ username, groups }: UserInfo): boolean {
  return groups.includes(managedClustersGroup) || agentOf(username) !== undefined;
}

/** Whether the user writes about this cluster as its agent, or is the agent of any: whoever has the rights of one is held to them. */
export function isAgentOf(user: UserInfo, cluster: string): boolean {
  return isAgent(user) || agentGroups(cluster).some((group) => user.groups.includes(group));
}

/** What of a change of a cluster its agent may not make, in words; undefined where all of it is the agent's own. */
export function foreignToAgent(next: ManagedCluster, stored: ManagedCluster): string | undefined {
  if (isAccepted(next) && !isAccepted(stored)) return "spec.hubAcceptsClient";
  if (!jsonEqual(hubSpec(next), hubSpec(stored))) return "spec, but for managedClusterClientConfigs and leaving";
  for (const field of ["labels", "finalizers", "ownerReferences"] as const) {
    if (!jsonEqual(next.metadata[field] ?? null, stored.metadata[field] ?? null)) return `metadata.${field}`;
  }
  return jsonEqual(hubAnnotations(next), hubAnnotations(stored))
    ? undefined
    : `metadata.annotations, but for those of ${agentAnnotations}`;
}

/** The type of a condition that only the hub sets and that the change touches, or undefined. */
export function foreignCondition(next: ManagedCluster, stored: ManagedCluster): string | undefined {
  const of = (cluster: ManagedCluster, type: string): unknown =>
    (cluster.status?.conditions ?? []).filter((one) => one.type === type);
  return hubConditions.find((type) => !jsonEqual(of(next, type), of(stored, type)));
}

function hubSpec({ spec = {} }: ManagedCluster): object {
  const { managedClusterClientConfigs: _urls, hubAcceptsClient: _accepts, ...rest } = spec;
  return rest;
}

function hubAnnotations({ metadata }: ManagedCluster): object {
  return Object.fromEntries(
    Object.entries(metadata.annotations ?? {}).filter(
      // The stamp is admission's, also when the agent leaves.
      ([key]) => !isAgentAnnotation(key) && key !== deciderAnnotation,
    ),
  );
}

function isAgentAnnotation(key: string): boolean {
  const [domain] = key.split("/", 1);
  return domain === agentAnnotations;
}

/**
 * Keeps the agents of clusters, who may all ask for certificates, to their own: a request of another's name would stand before the
 * people who approve, and ten of them would keep the other from asking. `commonNameOf` reads the subject of a PEM request.
 */
export function clusterRequestAdmission(commonNameOf: (pem: Uint8Array) => string): AdmissionPlugin {
  return {
    name: "ManagedClusterRequest",
    concerns: ({ group, plural }) => group === "certificates.k8s.io" && plural === "certificatesigningrequests",
    validate: async ({ resource, name, operation, subresource, object, user }) => {
      if (operation !== "CREATE" || subresource !== "" || object === undefined || !isAgent(user)) return;
      const { labels = {} } = object.metadata;
      const own = agentOf(user.username);
      if (own === undefined || labels[clusterNameLabel] !== own.cluster) {
        throw forbidden(
          resource,
          name,
          `an agent asks for certificates of its own cluster, under label ${clusterNameLabel}`,
        );
      }
      if (Object.hasOwn(labels, addOnNameLabel)) return;
      const pem = Buffer.from(stringAt(object, "spec", "request"), "base64");
      if (commonNameOf(pem) === user.username) return;
      throw forbidden(resource, name, "an agent asks for a certificate in its own name");
    },
  };
}
