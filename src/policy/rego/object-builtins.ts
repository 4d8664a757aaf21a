import { builtin, failed, mistyped, type Builtin, type CallPlace } from "./builtin.ts";
import { valueAtPath } from "./collection-builtins.ts";
import { charge, occupy } from "./limits.ts";
import {
  entryOf,
  keyOf,
  objectOf,
  setOf,
  sizeOf,
  typeOf,
  arrayOf,
  isKind,
  keepEntries,
  itemsOf,
  type RegoArray,
  type RegoObject,
  type RegoSet,
  type RegoValue,
  type MapKey,
} from "./values.ts";

function keysOf(keys: RegoArray | RegoObject | RegoSet): ReadonlySet<unknown> {
  if (keys.kind === "array") return new Set(keys.items.map(keyOf));
  return new Set(keys.kind === "set" ? keys.members.keys() : keys.entries.keys());
}

function union(a: RegoObject, b: RegoObject, place: CallPlace): RegoObject {
  charge(place.state.meter, 1 + (sizeOf(a) >> 3));
  const entries = new Map(a.entries);
  for (const [key, [name, value]] of b.entries) {
    const before = entries.get(key)?.[1];
    entries.set(key, [name, isKind(before, "object") && isKind(value, "object") ? union(before, value, place) : value]);
  }
  return objectOf(entries.values());
}

function getMember([object, key, fallback]: readonly [RegoObject, RegoValue, RegoValue]): RegoValue {
  if (isKind(key, "array")) return valueAtPath(object, key.items) ?? fallback;
  return entryOf(object, key) ?? fallback;
}

function isSubset(whole: RegoValue, part: RegoValue, place: CallPlace): boolean {
  charge(place.state.meter, 1);
  if (isKind(whole, "object") && isKind(part, "object"))
    return [...part.entries.values()].every(([key, value]) => {
      const other = entryOf(whole, key);
      if (other === undefined) return false;
      const isComposite = typeof value === "object" && value !== null;
      return isComposite ? isSubset(other, value, place) : keyOf(other) === keyOf(value);
    });
  if (isKind(part, "set") && (isKind(whole, "set") || isKind(whole, "array"))) {
    const keys = keysOf(whole);
    return [...part.members.keys()].every((key) => keys.has(key));
  }
  if (isKind(whole, "array") && isKind(part, "array")) {
    const wanted = part.items.map(keyOf);
    const given = whole.items.map(keyOf);
    charge(place.state.meter, wanted.length * given.length);
    return given.some((_key, from) => wanted.every((key, at) => given[from + at] === key)) || wanted.length === 0;
  }
  throw failed("both arguments object.subset must be of the same type or array and set", place);
}

/** Objects and paths. */
export const objectBuiltins: readonly Builtin[] = [
  builtin("object.get", ["object", "any", "any"], getMember),
  builtin("object.keys", ["object"], ([object]) => setOf([...object.entries.values()].map(([key]) => key))),
  builtin("object.union", ["object", "object"], ([a, b], place) => union(a, b, place)),
  builtin("object.union_n", ["array"], ([list], place) => {
    let result = objectOf([]);
    for (const each of list.items) {
      if (!isKind(each, "object"))
        throw mistyped(
          `object.union_n: operand 1 must be array of objects but got array containing ${typeOf(each)}`,
          place,
        );
      result = union(result, each, place);
    }
    return result;
  }),
  builtin("object.remove", ["object", "object|set|array"], ([object, keys]) => {
    const gone = keysOf(keys);
    return keepEntries(object, (key) => !gone.has(key));
  }),
  builtin("object.filter", ["object", "object|set|array"], ([object, keys]) => {
    const kept = keysOf(keys);
    return keepEntries(object, (key) => kept.has(key));
  }),
  builtin("object.subset", ["any", "any"], ([whole, part], place) => isSubset(whole, part, place)),
];

function verticesOf(value: RegoValue): readonly RegoValue[] {
  return isKind(value, "array") || isKind(value, "set") ? itemsOf(value) : [];
}

/** Every vertex of the graph that is reachable. */
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

/** Every longest path through the graph; a path ends before it would return to a vertex. */
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

/** Graphs, such as roles that include others: an object that maps each vertex to its neighbors. */
export const graphBuiltins: readonly Builtin[] = [
  builtin("graph.reachable", ["object", "set|array"], ([graph, from], place) => reachable(graph, from, place)),
  builtin("graph.reachable_paths", ["object", "set|array"], ([graph, from], place) => paths(graph, from, place)),
];
