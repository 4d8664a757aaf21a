import type { ApiObject } from "../core/object.ts";
import { stringAt } from "../resources/json-fields.ts";
import { mirrorPodAnnotation, podReferences, type ReferencedKind } from "../resources/pod-references.ts";

/** Which node may see which object, through the pods that are bound to it. */
export interface NodeGraph {
  /** Takes a pod as it is now. */
  put(pod: ApiObject): void;
  remove(pod: ApiObject): void;
  /** Whether a pod of that node speaks of the object, or is it. */
  reaches(
    kind: ReferencedKind | "pods",
    object: { readonly namespace: string; readonly name: string },
    node: string,
  ): boolean;
}

interface Bound {
  readonly node: string;
  readonly uid: string;
  /** Stays so for the life of the pod, whatever becomes of the annotation. */
  readonly isMirror: boolean;
  readonly keys: readonly string[];
}

/**
 * An empty graph. A mirror pod reaches nothing but itself: a node writes these itself, and could otherwise give itself any object.
 * Source: plugin/pkg/auth/authorizer/node Graph.
 */
export function nodeGraph(): NodeGraph {
  const pods = new Map<string, Bound>();
  // How many pods of each node speak of an object.
  const counts = new Map<string, Map<string, number>>();

  function add({ node, keys }: Bound): void {
    for (const key of keys) {
      const nodes = counts.get(key) ?? new Map<string, number>();
      counts.set(key, nodes);
      nodes.set(node, (nodes.get(node) ?? 0) + 1);
    }
  }
  function take({ node, keys }: Bound): void {
    for (const key of keys) {
      const nodes = counts.get(key);
      const left = (nodes?.get(node) ?? 0) - 1;
      if (left > 0) nodes?.set(node, left);
      else nodes?.delete(node);
      if (nodes?.size === 0) counts.delete(key);
    }
  }
  return {
    put: (pod) => {
      const node = stringAt(pod, "spec", "nodeName");
      if (node === "") return;
      const place = placeOf(pod);
      const before = pods.get(place);
      const { uid = "", annotations = {} } = pod.metadata;
      const isMirror = Object.hasOwn(annotations, mirrorPodAnnotation) || (before?.uid === uid && before.isMirror);
      const next: Bound = { node, uid, isMirror, keys: isMirror ? [] : keysOf(pod) };
      if (before !== undefined && isSame(before, next)) return;
      if (before !== undefined) take(before);
      pods.set(place, next);
      add(next);
    },
    remove: (pod) => {
      const place = placeOf(pod);
      const before = pods.get(place);
      if (before === undefined) return;
      pods.delete(place);
      take(before);
    },
    reaches: (kind, { namespace, name }, node) => {
      // No namespace holds a slash; what a question holds may be anything.
      if (namespace.includes("/")) return false;
      const place = `${namespace}/${name}`;
      if (kind === "pods") return pods.get(place)?.node === node;
      return counts.get(`${kind}/${place}`)?.has(node) === true;
    },
  };
}

function placeOf({ metadata }: ApiObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
}

function keysOf(pod: ApiObject): readonly string[] {
  const { namespace = "" } = pod.metadata;
  return Object.entries(podReferences(pod)).flatMap(([kind, names]) =>
    Array.from(names, (name) => `${kind}/${namespace}/${name}`),
  );
}

function isSame(one: Bound, other: Bound): boolean {
  return (
    one.node === other.node &&
    one.uid === other.uid &&
    one.isMirror === other.isMirror &&
    one.keys.length === other.keys.length &&
    one.keys.every((key, index) => key === other.keys[index])
  );
}
