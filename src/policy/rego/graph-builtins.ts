import { builtin, type Builtin, type CallPlace } from "./builtin.ts";
import { charge, occupy } from "./limits.ts";
import {
  arrayOf,
  entryOf,
  keyOf,
  setOf,
  sortedMembers,
  type MapKey,
  type RegoArray,
  type RegoObject,
  type RegoSet,
  type RegoValue,
} from "./values.ts";

function verticesOf(value: RegoValue): readonly RegoValue[] {
  if (typeof value !== "object" || value === null || value.kind === "object") return [];
  return value.kind === "array" ? value.items : sortedMembers(value);
}

/** Every vertex of the graph that can be come to. */
function reachable(graph: RegoObject, from: RegoArray | RegoSet, place: CallPlace): RegoValue {
  const reached = new Map<MapKey, RegoValue>();
  const queue = [...verticesOf(from)];
  for (let at = 0; at < queue.length; at++) {
    const vertex = queue[at] ?? null;
    charge(place.state.meter, 1);
    const edges = reached.has(keyOf(vertex)) ? undefined : entryOf(graph, vertex);
    if (edges === undefined) continue;
    reached.set(keyOf(vertex), vertex);
    const next = verticesOf(edges);
    occupy(place.state.meter, next.length);
    queue.push(...next);
  }
  return setOf(reached.values());
}

/** Every longest path through the graph; one that would come back ends before. */
function paths(graph: RegoObject, from: RegoArray | RegoSet, place: CallPlace): RegoValue {
  const found: RegoValue[] = [];
  const put = (path: readonly RegoValue[]): void => {
    occupy(place.state.meter, 1 + path.length);
    found.push(arrayOf(path));
  };
  const walk = (vertex: RegoValue, path: readonly RegoValue[], seen: ReadonlySet<MapKey>): void => {
    charge(place.state.meter, 1 + path.length);
    const edges = entryOf(graph, vertex);
    if (edges === undefined) return put(path);
    const longer = [...path, vertex];
    const passed = new Set(seen).add(keyOf(vertex));
    const next = verticesOf(edges);
    if (next.length === 0) put(longer);
    for (const neighbor of next) {
      if (passed.has(keyOf(neighbor))) put(longer);
      else walk(neighbor, longer, passed);
    }
  };
  for (const vertex of verticesOf(from)) {
    const edges = entryOf(graph, vertex);
    if (edges === undefined) continue;
    const next = verticesOf(edges);
    if (next.length === 0) put([vertex]);
    for (const neighbor of next) walk(neighbor, [vertex], new Set([keyOf(vertex)]));
  }
  return setOf(found);
}

/** Graphs, such as roles that include others: an object of what each vertex leads to. */
export const graphBuiltins: readonly Builtin[] = [
  builtin("graph.reachable", ["object", "set|array"], ([graph, from], place) => reachable(graph, from, place)),
  builtin("graph.reachable_paths", ["object", "set|array"], ([graph, from], place) => paths(graph, from, place)),
];
