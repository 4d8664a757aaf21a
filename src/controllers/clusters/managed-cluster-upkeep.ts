import { changedConditions, patchConditions, sameUid, versionOf } from "../object-status.ts";
import { ignoreReasons } from "../../client/api-errors.ts";
import type { Client, ResourceRef } from "../../client/client.ts";
import { keyOf } from "../../client/paths.ts";
import type { Reader } from "../../client/object-store.ts";
import type { Clock } from "../../apimachinery/clock.ts";
import type { ApiObject, Condition } from "../../apimachinery/object.ts";
import type { Reason } from "../../apimachinery/reasons.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { referenceTo, type Report, done, type Outcome } from "../controller.ts";
import {
  agentUser,
  clusterCondition,
  clusterFinalizer,
  clusterNameLabel,
  deciderAnnotation,
  denialReasonAnnotation,
  isSharedName,
  managedClusterAddOns,
  managedClusters,
  requesterAnnotation,
  type ManagedCluster,
} from "../../apis/managed-cluster.ts";
import {
  agentsOn,
  acceptedCondition,
  cleanupPriority,
  deniedCondition,
  failedCondition,
  isForcedOff,
  nextToDelete,
  type Remainder,
} from "./managed-cluster-policy.ts";
import { clusterRoles, leases, namespaces } from "../kinds.ts";
import {
  clusterLease,
  clusterNamespace,
  clusterRbac,
  grantState,
  leaseKey,
  namespaceBindings,
  sharedRoles,
  type ClusterObject,
} from "./managed-cluster-grant.ts";
import { createHash } from "node:crypto";
import { accessGroup } from "../../apis/access-request.ts";
import { credentialRevocations } from "../../apis/credential-revocation.ts";

/** How the upkeep of clusters reads and writes. */
export interface UpkeepParts {
  readonly client: Client;
  readonly clock: Clock;
  readonly clusters: Reader;
  readonly namespaces: Reader;
  readonly leases: Reader;
  /** The existing object of a grant, or undefined. */
  readonly there: (one: ClusterObject) => ApiObject | undefined;
  readonly revokes: boolean;
}

/** Creates what the agent of an accepted cluster needs. */
export async function admit(parts: UpkeepParts, cluster: ManagedCluster): Promise<Outcome> {
  const { client } = parts;
  const { name = "", finalizers = [] } = cluster.metadata;
  if (isSharedName(name)) {
    await removeRights(parts, name);
    const why = "the agents of all clusters share a role or group of this name";
    await writeCondition(parts, cluster, failedCondition(why));
    return { kind: "blocked", because: report(cluster, "ClusterNameReserved", why), again: "woken" };
  }
  // First, so that nothing is created for a cluster that its deletion would not remove; the write wakes the cluster again.
  if (!finalizers.includes(clusterFinalizer)) {
    const metadata = { ...versionOf(cluster), finalizers: [...finalizers, clusterFinalizer] };
    await client.patch(managedClusters, { name }, { metadata });
    return done;
  }
  try {
    if (!(await ensureNamespace(parts, cluster))) {
      return {
        kind: "retry",
        why: `its namespace ${JSON.stringify(name)} is being deleted, and is made again after that`,
      };
    }
    await bootstrapCluster(parts, cluster);
  } catch (error) {
    if (error instanceof StatusError && error.reason !== "Conflict") {
      await writeCondition(parts, cluster, failedCondition(error.message));
      return { kind: "blocked", because: report(cluster, "ClusterSetupFailed", error.message), again: "paused" };
    }
    throw error;
  }
  const isNew = await writeCondition(parts, cluster, acceptedCondition);
  return { kind: "done", reports: isNew ? [decision(cluster, "ClusterAccepted")] : [] };
}

/** Rights and lease; roles before the bindings that name them. */
async function bootstrapCluster(parts: UpkeepParts, cluster: ManagedCluster): Promise<void> {
  const { client, clock, there } = parts;
  const all = clusterRbac(cluster);
  const isRole = ({ resource }: ClusterObject): boolean => resource === clusterRoles;
  await Promise.all(all.filter(isRole).map((one) => grant(client, one, there(one))));
  const hasLease = parts.leases.get(leaseKey(cluster.metadata.name ?? "")) !== undefined;
  await Promise.all([
    ...all.filter((one) => !isRole(one)).map((one) => grant(client, one, there(one))),
    ...(hasLease ? [] : [ignoreReasons(client.create(leases, clusterLease(cluster, clock.now())), "AlreadyExists")]),
  ]);
}

/** Removes all rights and revokes all certificates of the agents of a denied cluster. */
export async function deny(parts: UpkeepParts, cluster: ManagedCluster): Promise<Outcome> {
  const { client, there } = parts;
  // The widest grant is removed first.
  for (const one of namespaceBindings(cluster.metadata.name ?? "")) await revoked(client, one, there(one));
  if (isSharedName(cluster.metadata.name ?? "")) await removeRights(parts, cluster.metadata.name ?? "");
  else for (const one of clusterRbac(cluster)) await grant(client, one, there(one));
  await takeBack(parts, cluster);
  const isNew = await writeCondition(parts, cluster, deniedCondition);
  return { kind: "done", reports: isNew ? [decision(cluster, "ClusterDenied")] : [] };
}

/** Removes what belongs to a cluster that is being deleted, then its finalizer. */
export async function detach(parts: UpkeepParts, cluster: ManagedCluster): Promise<Outcome> {
  const { client } = parts;
  const left = await deleteRemainders(parts, cluster);
  if (left !== undefined) return { kind: "blocked", because: report(cluster, "AddOnObjectsLeft", left), again: 5000 };
  const { name = "", finalizers = [] } = cluster.metadata;
  await removeRights(parts, name);
  await takeBack(parts, cluster);
  await ignoreReasons(client.delete(leases, leaseKey(name)), "NotFound");
  await removeNamespace(parts, cluster);
  const rest = finalizers.filter((one) => one !== clusterFinalizer);
  await client.patch(managedClusters, { name }, { metadata: { ...versionOf(cluster), finalizers: rest } });
  return done;
}

/** Removes what is left of a cluster whose object is gone. */
export async function removed(parts: UpkeepParts, name: string): Promise<Outcome> {
  const { client, clusters, there } = parts;
  await removeRights(parts, name);
  if (clusters.list().length > 0) return done;
  for (const one of sharedRoles()) await revoked(client, one, there(one));
  return done;
}

async function takeBack({ client, clock, revokes }: UpkeepParts, cluster: ManagedCluster): Promise<void> {
  if (revokes) await revokeAgents(client, clock, cluster);
}

async function removeRights({ client, there }: UpkeepParts, name: string): Promise<void> {
  // A user who may write a label can cause this, with any name.
  const own = clusterRbac({ apiVersion: "", kind: "", metadata: { name } }).filter(
    ({ resource }) => resource !== clusterRoles || !isSharedName(name),
  );
  for (const one of [...namespaceBindings(name), ...own.toReversed()]) await revoked(client, one, there(one));
}

async function writeCondition(
  { client, clock }: UpkeepParts,
  cluster: ManagedCluster,
  condition: Condition,
): Promise<boolean> {
  const conditions = changedConditions(cluster, condition, clock.now());
  await patchConditions({ client, resource: managedClusters }, cluster, conditions);
  return conditions !== undefined;
}

function report(cluster: ManagedCluster, reason: Reason, message: string): Report {
  return { reason, about: referenceTo(managedClusters, cluster), message };
}

/** Who decided, for which agents, and why; the key of each agent is in the decision on its certificate request. */
function decision(cluster: ManagedCluster, reason: "ClusterAccepted" | "ClusterDenied"): Report {
  const { annotations = {} } = cluster.metadata;
  const user = annotations[deciderAnnotation];
  const why = reason === "ClusterDenied" ? annotations[denialReasonAnnotation] : undefined;
  const what = reason === "ClusterDenied" ? "denied" : "accepted";
  const message = `managed cluster ${what}${user === undefined ? "" : ` by ${user}`}${why === undefined ? "" : `: ${why}`}`;
  const agents = [...agentsOn(cluster).keys()].join(",");
  const requester = annotations[requesterAnnotation];
  return {
    ...report(cluster, reason, message),
    details: { user, requester, agents: agents === "" ? undefined : agents, why },
  };
}

/** Creates the namespace, or marks an existing one as that of the cluster; false while it is being deleted. */
async function ensureNamespace({ client, namespaces: all }: UpkeepParts, cluster: ManagedCluster): Promise<boolean> {
  const { name = "" } = cluster.metadata;
  const namespace = all.get({ name });
  if (namespace === undefined) {
    await ignoreReasons(client.create(namespaces, clusterNamespace(cluster)), "AlreadyExists");
    return true;
  }
  if (namespace.metadata.deletionTimestamp !== undefined) return false;
  if (namespace.metadata.labels?.[clusterNameLabel] === name) return true;
  await client.patch(namespaces, { name }, { metadata: { labels: { [clusterNameLabel]: name } } });
  return true;
}

/** Removes the namespace that was created for this cluster; one that existed before remains. */
async function removeNamespace({ client, namespaces: all }: UpkeepParts, cluster: ManagedCluster): Promise<void> {
  const { name = "" } = cluster.metadata;
  const namespace = all.get({ name });
  const made = clusterNamespace(cluster).metadata.annotations ?? {};
  const isOurs = Object.entries(made).every(
    ([key, uid]) => uid !== "" && namespace?.metadata.annotations?.[key] === uid,
  );
  if (namespace === undefined || !isOurs) return;
  await ignoreReasons(client.delete(namespaces, { name }, sameUid(namespace)), "NotFound");
}

async function grant(client: Client, { resource, object }: ClusterObject, there: ApiObject | undefined): Promise<void> {
  const state = grantState(there, object);
  if (state === "same") return;
  if (state === "replaced") await client.delete(resource, keyOf(object));
  if (state === "changed" && there !== undefined) {
    const metadata = { ...there.metadata, labels: { ...there.metadata.labels, ...object.metadata.labels } };
    await client.update(resource, { ...object, metadata });
  } else await ignoreReasons(client.create(resource, object), "AlreadyExists");
}

async function revoked(
  client: Client,
  { resource, object }: ClusterObject,
  there: ApiObject | undefined,
): Promise<void> {
  if (there !== undefined) await ignoreReasons(client.delete(resource, keyOf(object)), "NotFound");
}

/**
 * Revokes the certificates of all agents of a cluster, by their exact user names and until they expire: without this, the next acceptance
 * would make them usable again. Only where CredentialRevocations are served and enforced.
 */
async function revokeAgents(client: Client, clock: Clock, cluster: ManagedCluster): Promise<void> {
  const { name = "" } = cluster.metadata;
  for (const [agent, end] of agentsOn(cluster)) {
    if (end <= clock.now()) continue;
    const user = agentUser({ cluster: name, agent });
    const revocation = {
      apiVersion: `${accessGroup}/${credentialRevocations.version}`,
      kind: credentialRevocations.kind,
      metadata: { name: `managed-cluster-${createHash("sha256").update(user).digest("hex").slice(0, 32)}` },
      spec: {
        user,
        reason: `managed cluster ${name} is denied`,
        expiresAt: new Date(end + marginMs).toISOString(),
      },
    };
    await ignoreReasons(client.create(credentialRevocations, revocation), "AlreadyExists");
  }
}

const marginMs = 60_000;

const manifestWorks: ResourceRef = {
  group: "work.open-cluster-management.io",
  version: "v1",
  plural: "manifestworks",
  kind: "ManifestWork",
  scope: "Namespaced",
};

/**
 * Deletes the objects that the spoke has to release, add-ons before works, the lowest priority first, and describes the remaining ones;
 * undefined once there are none. When time is up or an administrator requests it, deletes them without the spoke, which may be gone for
 * good.
 */
async function deleteRemainders(parts: UpkeepParts, cluster: ManagedCluster): Promise<string | undefined> {
  const { client, clock } = parts;
  const { name = "" } = cluster.metadata;
  for (const resource of [managedClusterAddOns, manifestWorks]) {
    const remainders = await remaining(client, resource, name);
    if (remainders.length === 0) continue;
    if (isForcedOff(cluster, clock.now())) {
      for (const one of remainders) await release(client, resource, one);
      continue;
    }
    for (const one of nextToDelete(remainders)) await ignoreReasons(client.delete(resource, one), "NotFound");
    const message = `${remainders.length} ${resource.plural} are left, which the agent of the cluster has to let go of`;
    const condition: Condition = {
      type: clusterCondition.deleting,
      status: "False",
      reason: "ResourceRemaining",
      message,
    };
    await writeCondition(parts, cluster, condition);
    return message;
  }
  return undefined;
}

async function remaining(client: Client, resource: ResourceRef, namespace: string): Promise<readonly Remainder[]> {
  // A hub without that kind has no such objects.
  const list = await ignoreReasons(client.list(resource, { namespace }), "NotFound");
  return (list?.items ?? []).map(({ metadata }) => ({
    namespace,
    name: metadata.name ?? "",
    priority: cleanupPriority(metadata.annotations),
    isDeleting: metadata.deletionTimestamp !== undefined,
  }));
}

async function release(client: Client, resource: ResourceRef, { namespace, name }: Remainder): Promise<void> {
  const key = { namespace, name };
  await ignoreReasons(client.delete(resource, key), "NotFound");
  await ignoreReasons(client.patch(resource, key, { metadata: { finalizers: null } }), "NotFound");
}
