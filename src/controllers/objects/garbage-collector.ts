import { versionOf } from "../object-status.ts";
import type { Client, DeleteOptions, ResourceRef } from "../../client/client.ts";
import {
  type ApiObject,
  type ObjectKey,
  type ObjectMeta,
  type OwnerReference,
  apiVersionOf,
} from "../../apimachinery/object.ts";
import { getOrUndefined, ignoreReasons } from "../../client/api-errors.ts";
import { type Controller, type Outcome, type Watch, done } from "../controller.ts";
import { type ManagedResource, isCollectable, oneVersionEach } from "../kinds.ts";
import type { SharedInformers } from "../shared-informers.ts";
import type { Change } from "../../client/object-store.ts";
import { keyOf } from "../../client/paths.ts";

const serviceAccount = "generic-garbage-collector";

export interface GarbageCollectorOptions {
  readonly informers: SharedInformers;
  /** All served kinds; called again at each refresh of the runner. */
  readonly resources: () => readonly ManagedResource[];
}

/**
 * Deletes objects whose owners are all gone, removes missing owners from objects that have an existing one, and handles the finalizers of
 * foreground and orphaning deletion. Its keys are uids. Nothing is deleted on the evidence of the cache alone: the object and each
 * missing owner are read from the API first. Source: Kubernetes pkg/controller/garbagecollector.
 */
export function garbageCollector(options: GarbageCollectorOptions): Controller {
  const { resources } = options;
  const { client } = options.informers.as(serviceAccount);
  const graph = ownerGraph();
  const states = { client, resources, graph };

  function watches(): readonly Watch[] {
    return oneVersionEach(resources())
      .filter(isCollectable)
      .map((resource) => ({
        resource,
        metadataOnly: true,
        observe: (change) => graph.observe(resource, change),
        keys: (object) => graph.affected(object.metadata).map((uid) => ({ name: uid })),
      }));
  }

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const node = graph.node(key.name);
    if (node === undefined) return done;
    // The event of an object deleted meanwhile triggers the rest.
    await ignoreReasons(step(states, node), "NotFound");
    return done;
  }

  return { name: "garbage-collector", serviceAccount, watches, concurrency: 20, reconcile };
}

async function step(states: States, node: OwnerNode): Promise<void> {
  const pending = pendingFinalizer(node.finalizers);
  if (!node.deleting) await collect(states, node);
  else if (pending === "orphan") await orphan(states, node);
  else if (pending === "foreground") await finishForeground(states, node);
}

async function collect(states: States, node: OwnerNode): Promise<void> {
  const { client, graph } = states;
  const cached = node.owners.map((reference) => ownerInGraph(graph, node, reference));
  if (cached.every((state) => state === "alive")) return;
  const live = await current(client, node);
  if (live === undefined || live.metadata.deletionTimestamp !== undefined) return;
  const owners = [];
  for (const reference of live.metadata.ownerReferences ?? []) {
    owners.push({ reference, state: await ownerState(states, node, reference) });
  }
  const finalizers = live.metadata.finalizers ?? [];
  const decision = collectionOf(owners, { finalizers, hasDependents: graph.dependents(node.uid).length > 0 });
  if (decision.kind === "release") await patchMetadata(client, node, withOwners(live, decision.owners));
  if (decision.kind === "delete") {
    const options = { preconditions: versionOf(live), propagationPolicy: decision.propagation };
    await client.delete(node.resource, node.key, options);
  }
}

async function orphan({ client, graph }: States, node: OwnerNode): Promise<void> {
  for (const dependent of graph.dependents(node.uid)) {
    const live = await current(client, dependent);
    const owners = live?.metadata.ownerReferences ?? [];
    const kept = owners.filter((reference) => reference.uid !== node.uid);
    if (live === undefined || kept.length === owners.length) continue;
    await patchMetadata(client, dependent, withOwners(live, kept));
  }
  await dropFinalizer(client, node, orphanFinalizer);
}

async function finishForeground({ client, graph }: States, node: OwnerNode): Promise<void> {
  // The deletion of each blocking dependent wakes this key again; the start of the owner's deletion woke their keys.
  const blocked = graph
    .dependents(node.uid)
    .some((one) => one.owners.some((owner) => owner.uid === node.uid && owner.blockOwnerDeletion === true));
  if (!blocked) await dropFinalizer(client, node, foregroundFinalizer);
}

interface States {
  readonly client: Client;
  readonly resources: () => readonly ManagedResource[];
  readonly graph: OwnerGraph;
}

/** The state of an owner in the cache: certain only where it exists or waits. */
function ownerInGraph(graph: OwnerGraph, node: OwnerNode, reference: OwnerReference): OwnerState {
  const owner = graph.node(reference.uid);
  if (owner === undefined || !isMeant(owner, node, reference)) return "unknown";
  return stateOf(owner.deleting, owner.finalizers);
}

async function ownerState(states: States, node: OwnerNode, reference: OwnerReference): Promise<OwnerState> {
  const cached = ownerInGraph(states.graph, node, reference);
  if (cached !== "unknown") return cached;
  const resource = states.resources().find((one) => isOfKind(one, reference));
  if (resource?.verbs.includes("get") !== true) return "unknown";
  const within = resource.scope === "Cluster" ? {} : node.key;
  // A cluster-scoped object cannot have an owner in a namespace; such an owner cannot be read, and the object is never collected.
  if (resource.scope === "Namespaced" && node.key.namespace === undefined) return "unknown";
  const owner = await getOrUndefined(states.client, resource, { ...within, name: reference.name });
  if (owner?.metadata.uid !== reference.uid) return "gone";
  const { deletionTimestamp, finalizers = [] } = owner.metadata;
  return stateOf(deletionTimestamp !== undefined, finalizers);
}

function stateOf(isDeleting: boolean, finalizers: readonly string[]): OwnerState {
  return isDeleting && finalizers.includes(foregroundFinalizer) ? "waiting" : "alive";
}

/** Whether a known object is the one that a reference names: the same uid with another kind, name or namespace is no owner. */
function isMeant(owner: OwnerNode, node: OwnerNode, reference: OwnerReference): boolean {
  const within = owner.resource.scope === "Cluster" || owner.key.namespace === node.key.namespace;
  return within && owner.key.name === reference.name && isOfKind(owner.resource, reference);
}

function isOfKind(resource: ResourceRef, reference: OwnerReference): boolean {
  const { apiVersion } = reference;
  const group = apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
  const sameGroup = group === resource.group || apiVersion === apiVersionOf(resource.group, resource.version);
  return resource.kind === reference.kind && sameGroup;
}

/** The current object, or undefined when it is gone or another has its name. */
async function current(client: Client, node: OwnerNode): Promise<ApiObject | undefined> {
  const live = await getOrUndefined(client, node.resource, node.key);
  return live?.metadata.uid === node.uid ? live : undefined;
}

function withOwners(live: ApiObject, owners: readonly OwnerReference[]): object {
  return { ...versionOf(live), ownerReferences: owners.length === 0 ? null : owners };
}

async function patchMetadata(client: Client, { resource, key }: OwnerNode, metadata: object): Promise<void> {
  await client.patch(resource, key, { metadata });
}

async function dropFinalizer(client: Client, node: OwnerNode, finalizer: string): Promise<void> {
  const live = await current(client, node);
  const finalizers = live?.metadata.finalizers ?? [];
  if (live === undefined || !finalizers.includes(finalizer)) return;
  const kept = finalizers.filter((one) => one !== finalizer);
  await patchMetadata(client, node, { ...versionOf(live), finalizers: kept });
}

/** Finalizer of an owner that is deleted only after the dependents that block it. */
const foregroundFinalizer = "foregroundDeletion";
/** Finalizer of an owner whose dependents are kept without it. */
const orphanFinalizer = "orphan";

/** The state of an owner: it exists; is certainly gone; waits in the foreground for its dependents; or has a kind that cannot be read. */
export type OwnerState = "alive" | "gone" | "waiting" | "unknown";

/** What happens to an object because of its owners. */
export type Collection =
  | { readonly kind: "keep" }
  /** Some owner exists: only these references are kept. */
  | { readonly kind: "release"; readonly owners: readonly OwnerReference[] }
  | { readonly kind: "delete"; readonly propagation: NonNullable<DeleteOptions["propagationPolicy"]> };

/**
 * Decides about an object that is not being deleted. It is deleted only when every owner is certainly gone or being deleted: an owner
 * that cannot be read keeps it. Source: Kubernetes pkg/controller/garbagecollector.
 */
export function collectionOf(
  owners: readonly { readonly reference: OwnerReference; readonly state: OwnerState }[],
  object: { readonly finalizers: readonly string[]; readonly hasDependents: boolean },
): Collection {
  if (owners.length === 0) return { kind: "keep" };
  const holding = owners.filter(({ state }) => state === "alive" || state === "unknown");
  if (holding.length === owners.length) return { kind: "keep" };
  if (holding.length > 0) return { kind: "release", owners: holding.map(({ reference }) => reference) };
  const waited = owners.some(({ state, reference }) => state === "waiting" && reference.blockOwnerDeletion === true);
  // An owner that waits for this object also waits for its dependents.
  if (waited && object.hasDependents) return { kind: "delete", propagation: "Foreground" };
  if (object.finalizers.includes(orphanFinalizer)) return { kind: "delete", propagation: "Orphan" };
  if (object.finalizers.includes(foregroundFinalizer)) return { kind: "delete", propagation: "Foreground" };
  return { kind: "delete", propagation: "Background" };
}

/** Which of the two finalizers an object that is being deleted waits for; orphaning comes first. */
export function pendingFinalizer(finalizers: readonly string[]): "orphan" | "foreground" | undefined {
  if (finalizers.includes(orphanFinalizer)) return "orphan";
  return finalizers.includes(foregroundFinalizer) ? "foreground" : undefined;
}

/** One object as the garbage collector knows it. */
interface OwnerNode {
  readonly uid: string;
  readonly resource: ResourceRef;
  readonly key: ObjectKey;
  readonly owners: readonly OwnerReference[];
  readonly finalizers: readonly string[];
  readonly deleting: boolean;
}

/** The graph of owners and dependents by uid, from the changes seen so far. */
interface OwnerGraph {
  /** Applies one change of an object of `resource`. */
  observe(resource: ResourceRef, change: Change): void;
  node(uid: string): OwnerNode | undefined;
  /** Objects that name this uid among their owners, whether the owner is known or not. */
  dependents(uid: string): readonly OwnerNode[];
  /**
   * The uids that a change of this object affects: itself if it has owners or is being deleted; its dependents when it is gone or being
   * deleted; its owners that are being deleted.
   */
  affected(metadata: ObjectMeta): readonly string[];
}

/** An empty graph. */
function ownerGraph(): OwnerGraph {
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
