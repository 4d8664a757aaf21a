import { builtin, failed, type Builtin, type CallPlace } from "./builtin.ts";
import { memberOf } from "./documents.ts";
import { charge } from "./limits.ts";
import { RegoError } from "./rego-error.ts";
import {
  arrayOf,
  keyOf,
  objectOf,
  setOf,
  typeOf,
  isKind,
  itemsOf,
  entryOf,
  type MapKey,
  type RegoArray,
  type RegoEntry,
  type RegoSet,
  type RegoValue,
} from "./values.ts";

/** A tree of paths by their steps; undefined is the end of a path, and overrides longer ones. */
type PathTree = ReadonlyMap<MapKey, PathTree | undefined>;
type GrowingTree = Map<MapKey, GrowingTree | undefined>;

/** A path of keys, as `a/b` or as an array. */
export function stepsOf(path: RegoValue, name: string, place: CallPlace): readonly RegoValue[] {
  if (isKind(path, "array")) return path.items;
  if (path === "") return [];
  if (typeof path === "string") {
    const steps = path.replace(/^\/+/, "").split("/");
    return steps.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  }
  const text = `${name}: operand 2 must be one of {set, array} containing string paths or array of path segments but got ${typeOf(path)}`;
  throw new RegoError("eval_type_error", text, place.at);
}

function treeOf(paths: RegoArray | RegoSet, name: string, place: CallPlace): PathTree {
  const root: GrowingTree = new Map();
  for (const path of itemsOf(paths)) {
    const steps = stepsOf(path, name, place);
    charge(place.state.meter, 1 + steps.length);
    grow(root, steps.map(keyOf));
  }
  return root;
}

function grow(root: GrowingTree, keys: readonly MapKey[]): void {
  let at = root;
  for (const [position, key] of keys.entries()) {
    if (position === keys.length - 1) at.set(key, undefined);
    else if (at.has(key)) {
      const next = at.get(key);
      if (next === undefined) return;
      at = next;
    } else {
      const next: GrowingTree = new Map();
      at.set(key, next);
      at = next;
    }
  }
}

/** Maps a member to its new value, or to undefined to remove it. */
type Visit = (member: RegoValue, key: MapKey) => RegoValue | undefined;

/** The composite with its members mapped; items of arrays are found by the texts of their positions. */
function mapMembers(value: RegoValue, visit: Visit): RegoValue {
  if (typeof value !== "object" || value === null) return value;
  const kept = (member: RegoValue, key: MapKey): readonly RegoValue[] => {
    const other = visit(member, key);
    return other === undefined ? [] : [other];
  };
  switch (value.kind) {
    case "array":
      return arrayOf(value.items.flatMap((item, at) => kept(item, String(at))));
    case "set":
      return setOf([...value.members].flatMap(([key, member]) => kept(member, key)));
    case "object": {
      const entries = [...value.entries].map(([key, [name, member]]) => [name, visit(member, key)] as const);
      return objectOf(entries.filter((entry): entry is RegoEntry => entry[1] !== undefined));
    }
  }
}

/** The value with only the members at the paths, or without them. */
function selectPaths(
  value: RegoValue,
  tree: PathTree,
  how: { readonly keeps: boolean; readonly place: CallPlace },
): RegoValue {
  const { meter } = how.place.state;
  charge(meter, 1 + tree.size);
  return mapMembers(value, (member, key) => {
    charge(meter, 1);
    const below = tree.get(key);
    if (below !== undefined) return selectPaths(member, below, how);
    return tree.has(key) === how.keeps ? member : undefined;
  });
}

interface Change {
  readonly steps: readonly RegoValue[];
  /** Undefined removes the member. */
  readonly value: RegoValue | undefined;
  readonly place: CallPlace;
}

const nowhere = (place: CallPlace): RegoError => failed("json.patch: path does not exist", place);

/** The position of a step in an array of this length; `-` is the end. */
function positionOf(step: RegoValue | undefined, length: number, place: CallPlace): number {
  if (step === "-") return length;
  const isDigits = typeof step === "string" && /^(?:0|[1-9]\d{0,8})$/.test(step);
  const at = isDigits ? Number(step) : step;
  if (typeof at !== "number" || !Number.isInteger(at) || at < 0 || at > length) throw nowhere(place);
  return at;
}

/** The value with another one added at a path, or with what is there removed. */
function changeAt(target: RegoValue, change: Change): RegoValue | undefined {
  const { steps, value, place } = change;
  const [first] = steps;
  charge(place.state.meter, 1);
  if (first === undefined) return value;
  if (typeof target !== "object" || target === null) throw nowhere(place);
  const key = keyOf(first);
  switch (target.kind) {
    case "array":
      return changedArray(target.items, first, change);
    case "set": {
      const inserted = insertedBy(change);
      if (inserted !== undefined && keyOf(inserted) !== key) throw nowhere(place);
      charge(place.state.meter, target.members.size);
      const others = [...target.members].filter(([each]) => each !== key).map(([, member]) => member);
      return setOf([...others, ...changedMember(target.members.get(key), change)]);
    }
    case "object": {
      const [member] = changedMember(entryOf(target, first), change);
      charge(place.state.meter, target.entries.size);
      const others = [...target.entries].filter(([each]) => each !== key).map(([, entry]) => entry);
      return objectOf(member === undefined ? others : [...others, [first, member]]);
    }
  }
}

/** The value that becomes a new member at the first step; undefined for a step on the way, and for a removal. */
function insertedBy({ steps, value }: Change): RegoValue | undefined {
  return steps.length === 1 ? value : undefined;
}

function changedArray(items: readonly RegoValue[], first: RegoValue, change: Change): RegoValue {
  const { place } = change;
  const at = positionOf(first, items.length, place);
  const inserted = insertedBy(change);
  const item = inserted === undefined ? changedMember(items[at], change) : [inserted];
  charge(place.state.meter, items.length);
  return arrayOf([...items.slice(0, at), ...item, ...items.slice(inserted === undefined ? at + 1 : at)]);
}

/** The changed member that the first step names: none or one. */
function changedMember(member: RegoValue | undefined, change: Change): readonly RegoValue[] {
  if (member === undefined && insertedBy(change) === undefined) throw nowhere(change.place);
  const other = changeAt(member ?? null, { ...change, steps: change.steps.slice(1) });
  return other === undefined ? [] : [other];
}

function valueAtSteps(value: RegoValue, steps: readonly RegoValue[], place: CallPlace): RegoValue {
  let at = value;
  for (const step of steps) {
    charge(place.state.meter, 1);
    if (typeof at !== "object" || at === null) throw nowhere(place);
    const next = memberOf(at, at.kind === "array" ? positionOf(step, at.items.length, place) : step);
    if (next === undefined) throw nowhere(place);
    at = next;
  }
  return at;
}

function applyPatch(source: RegoValue, patch: RegoValue, place: CallPlace): RegoValue {
  const problem = "json.patch: must be an array of JSON-Patch objects, but at least one element is not an object";
  if (!isKind(patch, "object")) throw failed(problem, place);
  const field = (name: string): RegoValue => {
    const found = entryOf(patch, name);
    if (found === undefined) throw failed(`json.patch: missing required attribute '${name}'`, place);
    return found;
  };
  const path = stepsOf(field("path"), "json.patch", place);
  const from = (): readonly RegoValue[] => stepsOf(field("from"), "json.patch", place);
  const put = (target: RegoValue, steps: readonly RegoValue[], value: RegoValue | undefined): RegoValue =>
    changeAt(target, { steps, value, place }) ?? null;
  const operations: Readonly<Record<string, () => RegoValue>> = {
    add: () => put(source, path, field("value")),
    remove: () => put(source, path, undefined),
    replace: () => put(put(source, path, undefined), path, field("value")),
    move: () => put(put(source, from(), undefined), path, valueAtSteps(source, from(), place)),
    copy: () => put(source, path, valueAtSteps(source, from(), place)),
    test: () => {
      if (keyOf(valueAtSteps(source, path, place)) === keyOf(field("value"))) return source;
      throw failed("json.patch: value from 'test' does not match", place);
    },
  };
  const op = field("op");
  if (typeof op !== "string" || !Object.hasOwn(operations, op)) throw failed("json.patch: unrecognized op", place);
  return operations[op]?.() ?? null;
}

/** Functions of paths in documents. */
export const pathBuiltins: readonly Builtin[] = [
  builtin("json.filter", ["object", "set|array"], ([object, paths], place) =>
    selectPaths(object, treeOf(paths, "json.filter", place), { keeps: true, place }),
  ),
  builtin("json.remove", ["object", "set|array"], ([object, paths], place) =>
    selectPaths(object, treeOf(paths, "json.remove", place), { keeps: false, place }),
  ),
  builtin("json.patch", ["any", "array"], ([source, patches], place) => {
    let result = source;
    for (const patch of patches.items) result = applyPatch(result, patch, place);
    return result;
  }),
];
