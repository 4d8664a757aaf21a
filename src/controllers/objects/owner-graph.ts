import type { ResourceRef } from "../../client/client.ts";
import type { Change } from "../../client/object-store.ts";
import { keyOf } from "../../client/paths.ts";
import type { ObjectKey, ObjectMeta, OwnerReference } from "../../apimachinery/object.ts";

/** One object as the garbage collector knows it. */
export interface OwnerNode {
  readonly uid: string;
  readonly resource: ResourceRef;
  readonly key: ObjectKey;
  readonly owners: readonly OwnerReference[];
  readonly finalizers: readonly string[];
  readonly deleting: boolean;
}

/** Who owns whom, by uid, as far as changes have told. */
export interface OwnerGraph {
  /** Takes up one change of an object of `resource`. */
  observe(resource: ResourceRef, change: Change): void;
  node(uid: string): OwnerNode | undefined;
  /** Objects that name this uid among their owners, whether the owner is known or not. */
  dependents(uid: string): readonly OwnerNode[];
  /** Whom a change of this object concerns: itself if it has owners or is going; its dependents when it is gone or going; its owners that are going. */
  affected(metadata: ObjectMeta): readonly string[];
}

/** An empty graph. */
export function ownerGraph(): OwnerGraph {
  const nodes = new Map<string, OwnerNode>();
  const dependentsOf = new Map<string, Set<string>>();

  function observe(resource: ResourceRef, change: Change): void {
    const { metadata } = change.object;
    const { uid } = metadata;
    if (uid === undefined) return;
    unlink(uid);
    if (change.type === "DELETED") return;
    const owners = metadata.ownerReferences ?? [];
    const deleting = metadata.deletionTimestamp !== undefined;
    const key = keyOf(change.object);
    nodes.set(uid, { uid, resource, key, owners, finalizers: metadata.finalizers ?? [], deleting });
    for (const owner of owners) {
      const known = dependentsOf.get(owner.uid) ?? new Set();
      known.add(uid);
      dependentsOf.set(owner.uid, known);
    }
  }

  function unlink(uid: string): void {
    for (const owner of nodes.get(uid)?.owners ?? []) {
      const known = dependentsOf.get(owner.uid);
      known?.delete(uid);
      if (known?.size === 0) dependentsOf.delete(owner.uid);
    }
    nodes.delete(uid);
  }

  function dependents(uid: string): readonly OwnerNode[] {
    return [...(dependentsOf.get(uid) ?? [])].flatMap((one) => nodes.get(one) ?? []);
  }

  function affected(metadata: ObjectMeta): readonly string[] {
    const { uid } = metadata;
    if (uid === undefined) return [];
    const self = nodes.get(uid);
    const below = self === undefined || self.deleting ? dependents(uid).map((one) => one.uid) : [];
    const owners = (metadata.ownerReferences ?? []).map((owner) => owner.uid);
    const above = owners.filter((owner) => nodes.get(owner)?.deleting === true);
    const itself = self !== undefined && (self.deleting || self.owners.length > 0) ? [uid] : [];
    return [...itself, ...below, ...above];
  }

  return { observe, node: (uid) => nodes.get(uid), dependents, affected };
}
