/** The metadata of every API object: its identity, version and owners. Source: apimachinery meta/v1 ObjectMeta. */
export interface ObjectMeta {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid?: string;
  /** Decimal digits without a leading zero; grows with each write of any object. Never part of what is stored. */
  readonly resourceVersion?: string;
  readonly generation?: number;
  /** RFC 3339, seconds, UTC. */
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
  readonly managedFields?: readonly unknown[];
}

/** A reference from a dependent to its owner; `uid` decides, the other fields are informative. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** Any API object in its JSON shape. Objects are shared between readers and must never be changed in place. */
export interface ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/** A list as the API returns it; `items` is never null. */
export interface ApiList<T extends ApiObject = ApiObject> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: readonly T[];
}

/** Which object: a name, and a namespace unless the kind is cluster scoped. */
export interface ObjectKey {
  readonly namespace?: string;
  readonly name: string;
}

/** A statement about an object at a point in time. Source: apimachinery meta/v1 Condition, and the older per-kind conditions. */
export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason?: string;
  readonly message?: string;
  readonly lastUpdateTime?: string;
  readonly lastTransitionTime?: string;
}

/** The `apiVersion` of a group and version: `v1` for the core group, else `group/version`. */
export function apiVersionOf(group: string, version: string): string {
  return group === "" ? version : `${group}/${version}`;
}
