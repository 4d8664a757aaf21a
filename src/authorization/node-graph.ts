import type { ApiObject } from "../apimachinery/object.ts";
import { stringAt } from "../apis/json-fields.ts";
import { mirrorPodAnnotation, podReferences, type ReferencedKind } from "../apis/pod-references.ts";

/** Which node may see which object, through the pods that are bound to it. */
export interface NodeGraph {
  /** Records the current state of a pod. */
  put(pod: ApiObject): void;
  remove(pod: ApiObject): void;
  /** Whether a pod of that node references the object, or is it. */
  reaches(
    kind: ReferencedKind | "pods",
    object: { readonly namespace: string; readonly name: string },
    node: string,
  ): boolean;
}

interface Bound {
  readonly node: string;
  readonly uid: string;
  /** Fixed for the lifetime of the pod, whatever happens to the annotation. */
  readonly isMirror: boolean;
  readonly vertices: readonly Vertex[];
}

/** An object that pods reference. Nearly always those are pods of one node, so that only other objects need a map. */
interface Vertex {
  readonly key: string;
  node: string;
  /** How many pods of that node; 0 where no pod references the object. */
  count: number;
  others: Map<string, number> | undefined;
}

/**
 * An empty graph. A mirror pod reaches nothing but itself: a node writes these itself, and could otherwise grant itself any object.
 * Source: plugin/pkg/auth/authorizer/node Graph.
 */
export function nodeGraph(): NodeGraph {
  const pods = new Map<string, Bound>();
  const all = new Map<string, Vertex>();

  function vertexOf(key: string): Vertex {
    const known = all.get(key);
    if (known !== undefined) return known;
    const vertex: Vertex = { key, node: "", count: 0, others: undefined };
    all.set(key, vertex);
    return vertex;
  }
  function take({ node, vertices }: Bound): void {
    for (const one of vertices) {
      takeFrom(one, node);
      if (one.count === 0) all.delete(one.key);
    }
  }
  return {
    put: (pod) => {
      const node = stringAt(pod, "spec", "nodeName");
      if (node === "") return;
      const place = placeOf(pod);
      const before = pods.get(place);
      const { uid = "" } = pod.metadata;
      const isMirror = isMirrorPod(pod) || (before?.uid === uid && before.isMirror);
      const keys = isMirror ? [] : keysOf(pod);
      if (before !== undefined) {
        if (isSame(before, { node, uid, isMirror, keys })) return;
        take(before);
      }
      const vertices = keys.map(vertexOf);
      for (const one of vertices) addTo(one, node);
      pods.set(place, { node, uid, isMirror, vertices });
    },
    remove: (pod) => {
      const place = placeOf(pod);
      const before = pods.get(place);
      if (before === undefined) return;
      pods.delete(place);
      take(before);
    },
    reaches: (kind, { namespace, name }, node) => {
      // No namespace contains a slash; the namespace of a request may contain any character.
      if (namespace.includes("/")) return false;
      const place = `${namespace}/${name}`;
      if (kind === "pods") return pods.get(place)?.node === node;
      const vertex = all.get(`${kind}/${place}`);
      return vertex !== undefined && (vertex.node === node || vertex.others?.has(node) === true);
    },
  };
}

function isMirrorPod({ metadata }: ApiObject): boolean {
  return metadata.annotations !== undefined && Object.hasOwn(metadata.annotations, mirrorPodAnnotation);
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

function addTo(vertex: Vertex, node: string): void {
  if (vertex.count === 0) vertex.node = node;
  if (vertex.node === node) {
    vertex.count += 1;
    return;
  }
  vertex.others ??= new Map();
  vertex.others.set(node, (vertex.others.get(node) ?? 0) + 1);
}

/** Reverts one `addTo`. When the last pod of the node is gone, another node takes its place. */
function takeFrom(vertex: Vertex, node: string): void {
  const { others } = vertex;
  if (vertex.node === node) vertex.count -= 1;
  else if (others !== undefined) takeOne(others, node);
  if (others === undefined) return;
  const [next] = others;
  if (vertex.count === 0 && next !== undefined) {
    const [other, count] = next;
    Object.assign(vertex, { node: other, count });
    others.delete(other);
  }
  if (others.size === 0) vertex.others = undefined;
}

function takeOne(counts: Map<string, number>, node: string): void {
  const left = (counts.get(node) ?? 0) - 1;
  if (left > 0) counts.set(node, left);
  else counts.delete(node);
}

function isSame(
  before: Bound,
  next: Pick<Bound, "node" | "uid" | "isMirror"> & { readonly keys: readonly string[] },
): boolean {
  return (
    before.node === next.node &&
    before.uid === next.uid &&
    before.isMirror === next.isMirror &&
    before.vertices.length === next.keys.length &&
    before.vertices.every(({ key }, index) => key === next.keys[index])
  );
}
