import { rfc3339 } from "../../apimachinery/clock.ts";
import { findCondition, isConditionTrue, setCondition } from "../../apimachinery/conditions.ts";
import { jsonEqual } from "../../apimachinery/equal.ts";
import type { Condition } from "../../apimachinery/object.ts";
import { clusterCondition, type ManagedCluster } from "../../apis/managed-cluster.ts";
import { plainText } from "../../credentials/join-error.ts";

/** A claim of a cluster. */
export interface ClusterClaim {
  readonly name: string;
  readonly value: string;
}

/** Facts about a spoke. Quantities are texts by resource; absent fields are not known. */
export interface SpokeFacts {
  readonly version?: string | undefined;
  readonly capacity?: Readonly<Record<string, string>> | undefined;
  readonly allocatable?: Readonly<Record<string, string>> | undefined;
  readonly claims?: readonly ClusterClaim[] | undefined;
}

/** The contents of a cluster's status. */
export interface ClusterSaying {
  /** The health of its API; `undefined` until that is known. */
  readonly health: { readonly isGood: boolean; readonly message: string } | undefined;
  /** Absent while the API does not answer. */
  readonly facts?: SpokeFacts | undefined;
  /** The result of the last renewal. */
  readonly rotated?: Condition | undefined;
}

type Quantities = Readonly<Record<string, string>>;

interface OwnStatus {
  readonly conditions?: readonly Condition[];
  readonly version?: { readonly kubernetes?: string };
  readonly capacity?: Quantities;
  readonly allocatable?: Quantities;
  readonly clusterClaims?: readonly ClusterClaim[];
}

/**
 * The merge patch of an accepted cluster's status, upon the version that was read; undefined where nothing changes. Conditions are
 * replaced as a whole; capacities of other writers stay. `now` in milliseconds since the epoch.
 */
export function clusterStatusPatch(cluster: ManagedCluster, saying: ClusterSaying, now: number): object | undefined {
  const stored: OwnStatus = cluster.status ?? {};
  const changes = new Map<string, unknown>();
  const conditions = reportedConditions(stored.conditions ?? [], saying, rfc3339(now));
  if (!jsonEqual(conditions, stored.conditions ?? [])) changes.set("conditions", conditions);
  // Facts follow once the hub has set Joined.
  if (saying.facts !== undefined && isConditionTrue(stored.conditions, clusterCondition.joined)) {
    for (const [field, value] of factChanges(stored, saying.facts)) changes.set(field, value);
  }
  if (changes.size === 0) return undefined;
  const { uid, resourceVersion } = cluster.metadata;
  return { metadata: { uid, resourceVersion }, status: Object.fromEntries(changes) };
}

function factChanges(
  stored: OwnStatus,
  { version, capacity = {}, allocatable, claims }: SpokeFacts,
): readonly (readonly [string, unknown])[] {
  const more = differences(stored.capacity, capacity, "keep");
  const usable = allocatable === undefined ? {} : differences(stored.allocatable, allocatable, "drop");
  const isNewVersion = version !== undefined && stored.version?.kubernetes !== version;
  const isNewClaims = claims !== undefined && !jsonEqual(claims, stored.clusterClaims ?? []);
  const changes = [
    [isNewVersion, "version", { kubernetes: version }],
    [Object.keys(more).length > 0, "capacity", more],
    [Object.keys(usable).length > 0, "allocatable", usable],
    [isNewClaims, "clusterClaims", claims],
  ] as const;
  return changes.flatMap(([isChange, field, value]) => (isChange ? [[field, value] as const] : []));
}

/** Why the status must not be written, or undefined where it may: the hub's clock and this one are too far apart. */
export function whyWithheld(cluster: ManagedCluster): string | undefined {
  const clock = findCondition(cluster.status?.conditions, clusterCondition.clock);
  if (clock?.status !== "False") return undefined;
  return `the hub's clock and this one differ too much, so no status is written until one is set, for example with NTP: ${plainText(clock.message ?? "")}`;
}

function reportedConditions(
  before: readonly Condition[],
  { health, rotated }: ClusterSaying,
  now: string,
): readonly Condition[] {
  const reported: Condition[] = [
    {
      type: clusterCondition.joined,
      status: "True",
      reason: "ManagedClusterJoined",
      message: "Managed cluster joined",
    },
  ];
  if (health !== undefined) {
    reported.push({
      type: clusterCondition.available,
      status: health.isGood ? "True" : "False",
      reason: health.isGood ? "ManagedClusterAvailable" : "ManagedClusterKubeAPIServerUnavailable",
      message: health.message,
    });
  }
  if (rotated !== undefined) reported.push(rotated);
  return reported.reduce((conditions, next) => setCondition(conditions, next, now), before);
}

/** The merge patch from one set of quantities to another; with `drop`, it removes what is not among the new ones. */
function differences(
  before: Quantities | undefined,
  after: Quantities,
  others: "keep" | "drop",
): Readonly<Record<string, string | null>> {
  const changes = new Map<string, string | null>();
  const old = new Map(Object.entries(before ?? {}));
  for (const [name, quantity] of Object.entries(after)) if (old.get(name) !== quantity) changes.set(name, quantity);
  if (others === "drop") for (const name of old.keys()) if (!Object.hasOwn(after, name)) changes.set(name, null);
  return Object.fromEntries(changes);
}
