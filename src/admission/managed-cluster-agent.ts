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

/** Fields of a cluster that only the hub writes. */
const hubConditions: readonly string[] = [clusterCondition.accepted, clusterCondition.clock, clusterCondition.deleting];

const agentAnnotations = "agent.open-cluster-management.io";

/** Whether the user is the agent of some cluster, which may write only its own fields of its own cluster. */
export function isAgent({ username, groups }: UserInfo): boolean {
  return groups.includes(managedClustersGroup) || agentOf(username) !== undefined;
}

/** Whether the user is the agent of this cluster, or of any: a user with the rights of an agent has its limits too. */
export function isAgentOf(user: UserInfo, cluster: string): boolean {
  return isAgent(user) || agentGroups(cluster).some((group) => user.groups.includes(group));
}

/** The change of a cluster that its agent may not make, in words; undefined where all of it is allowed. */
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

/** The type of a condition that only the hub sets and that is changed, or undefined. */
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
      // Admission stamps it, also when the agent leaves.
      ([key]) => !isAgentAnnotation(key) && key !== deciderAnnotation,
    ),
  );
}

function isAgentAnnotation(key: string): boolean {
  const [domain] = key.split("/", 1);
  return domain === agentAnnotations;
}

/**
 * Limits agents of clusters, which may all create certificate requests, to their own: a request for the name of another would reach the
 * approvers, and ten of them would prevent the other from creating one. `commonNameOf` reads the subject of a PEM request.
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
