import { isJsonObject, type JsonObject } from "../json-value.ts";
import { compareElements, readElement, type PathElement } from "./path-element.ts";

/**
 * A set of fields in the very form of FieldsV1, so that what is stored is worked on without decoding: every key is a path element,
 * and below it stand the fields underneath. `{}` below a key means that the field itself belongs to the set and nothing underneath
 * does; where both do, the node holds a key `.`. The whole set is empty when it has no keys. Never changed in place once made.
 * Source: apimachinery meta/v1 FieldsV1, structured-merge-diff fieldpath.Set.
 */
export interface FieldSet {
  readonly [element: PathElement]: FieldSet;
}

/** A set that is being put together. */
export interface FieldSetBuilder {
  [element: PathElement]: FieldSetBuilder;
}

/** The set without fields. */
export const noFields: FieldSet = {};

/** Adds the field at `path` to a set under construction; the empty path, the whole object, belongs to nobody. */
export function insertField(set: FieldSetBuilder, path: readonly PathElement[]): void {
  const last = path.length - 1;
  let node = set;
  for (let level = 0; level <= last; level += 1) {
    const element = path[level] ?? "";
    const next = node[element];
    // Leaves are told by identity: to look for the keys of a node takes as long as it has keys.
    if (level === last) {
      if (next === undefined) node[element] = leaf;
      else if (next !== leaf) next["."] = leaf;
    } else if (next === undefined || next === leaf) {
      // A node that was a leaf so far says so by a dot from now on.
      const made: FieldSetBuilder = next === undefined ? {} : { ".": leaf };
      node[element] = made;
      node = made;
    } else {
      node = next;
    }
  }
}

/** What stands for a field with nothing underneath while a set is put together; never changed. */
const leaf: FieldSetBuilder = {};

/** Whether no field belongs to the set. */
export function isEmptySet(set: FieldSet): boolean {
  return isLeaf(set);
}

/** Whether the field at `path` itself belongs to the set. */
export function hasField(set: FieldSet, path: readonly PathElement[]): boolean {
  let node: FieldSet | undefined = set;
  for (const element of path) {
    node = childOf(node, element);
    if (node === undefined) return false;
  }
  return path.length > 0 && isMember(node);
}

/** What stands below one step, as a set of its own; empty where nothing does. */
export function fieldsBelow(set: FieldSet, element: PathElement): FieldSet {
  const node = childOf(set, element);
  return node === undefined ? noFields : childrenOf(node);
}

/** Whether the field one step down belongs to the set. */
export function hasElement(set: FieldSet, element: PathElement): boolean {
  const node = childOf(set, element);
  return node !== undefined && isMember(node);
}

/** The fields of either set. The very `one` when `other` adds nothing. */
export function union(one: FieldSet, other: FieldSet): FieldSet {
  let result: Record<string, FieldSet> | undefined;
  for (const element in other) {
    const theirs = other[element];
    if (theirs === undefined || element === ".") continue;
    const mine = childOf(one, element);
    const both = mine === undefined ? theirs : nodeUnion(mine, theirs);
    if (both === mine) continue;
    result ??= { ...one };
    result[element] = both;
  }
  return result ?? one;
}

/** The fields of both sets. */
export function intersection(one: FieldSet, other: FieldSet): FieldSet {
  const result: Record<string, FieldSet> = {};
  for (const element in other) {
    const theirs = other[element];
    const mine = childOf(one, element);
    if (theirs === undefined || mine === undefined || element === ".") continue;
    const both = nodeOf(isMember(mine) && isMember(theirs), intersection(mine, theirs));
    if (both !== undefined) result[element] = both;
  }
  return result;
}

/** The fields of `one` that `other` does not have; fields underneath those stay. The very `one` when nothing goes. */
export function difference(one: FieldSet, other: FieldSet): FieldSet {
  return without(one, other, false);
}

/** The fields of `one` that are neither in `other` nor underneath one of its fields. The very `one` when nothing goes. */
export function recursiveDifference(one: FieldSet, other: FieldSet): FieldSet {
  return without(one, other, true);
}

/** Whether every field of `part` is in `whole`. */
export function contains(whole: FieldSet, part: FieldSet): boolean {
  return isEmptySet(part) || isEmptySet(difference(part, whole));
}

/** Whether the two have the same fields. */
export function sameFields(one: FieldSet, other: FieldSet): boolean {
  return contains(one, other) && contains(other, one);
}

/** The paths of all fields of the set, parents first, in the order of FieldsV1. */
export function pathsOf(set: FieldSet): readonly (readonly PathElement[])[] {
  const paths: (readonly PathElement[])[] = [];
  collect(set, [], paths);
  return paths;
}

/** The same set with its keys in the order in which Kubernetes writes them. */
export function sortedSet(set: FieldSet): FieldSet {
  const result: Record<string, FieldSet> = {};
  const own = set["."];
  if (own !== undefined) result["."] = noFields;
  for (const element of elementsOf(set)) result[element] = sortedSet(set[element] ?? noFields);
  return result;
}

/** The set that a client wrote as FieldsV1, in canonical form; undefined for anything malformed. Steps of unknown kinds are left out. */
export function readFieldSet(value: unknown): FieldSet | undefined {
  if (!isJsonObject(value)) return undefined;
  return readNode(value, true);
}

function readNode(value: JsonObject, root: boolean): FieldSet | undefined {
  const result: Record<string, FieldSet> = {};
  let member = false;
  for (const [key, below] of Object.entries(value)) {
    if (key === ".") {
      member = true;
      continue;
    }
    const element = readElement(key);
    if (element === undefined || !isJsonObject(below)) return undefined;
    if (element === "") continue;
    const node = readNode(below, false);
    if (node === undefined) return undefined;
    const before = result[element];
    result[element] = before === undefined ? node : nodeUnion(before, node);
  }
  if (root || !member || isLeaf(result)) return result;
  return { ".": noFields, ...result };
}

function isLeaf(node: FieldSet): boolean {
  // Object.keys would list them all, and a node may have thousands.
  for (const element in node) return element === undefined;
  return true;
}

function isMember(node: FieldSet): boolean {
  return node["."] !== undefined || isLeaf(node);
}

function childOf(node: FieldSet, element: PathElement): FieldSet | undefined {
  return element === "." ? undefined : node[element];
}

/** The node for a field with `children`; undefined where neither it nor anything underneath is in the set. */
function nodeOf(member: boolean, children: FieldSet): FieldSet | undefined {
  if (isLeaf(children)) return member ? noFields : undefined;
  return member ? { ".": noFields, ...children } : children;
}

function childrenOf(node: FieldSet): FieldSet {
  if (node["."] === undefined) return node;
  const { ".": _self, ...children } = node;
  return children;
}

function nodeUnion(one: FieldSet, other: FieldSet): FieldSet {
  const children = union(one, other);
  const [mine, theirs] = [isMember(one), isMember(other)];
  if (children === one && (mine || !theirs)) return one;
  return nodeOf(mine || theirs, childrenOf(children)) ?? noFields;
}

function without(one: FieldSet, other: FieldSet, recursive: boolean): FieldSet {
  let changed: Map<PathElement, FieldSet | undefined> | undefined;
  for (const element in other) {
    const theirs = other[element];
    const mine = childOf(one, element);
    if (theirs === undefined || mine === undefined) continue;
    const rest = nodeWithout(mine, theirs, recursive);
    if (rest === mine) continue;
    changed ??= new Map();
    changed.set(element, rest);
  }
  return changed === undefined ? one : replaced(one, changed);
}

/** With other nodes for some elements, or none. Put together anew, since an object that keys were deleted from is slow for ever. */
function replaced(set: FieldSet, changed: ReadonlyMap<PathElement, FieldSet | undefined>): FieldSet {
  const result: Record<string, FieldSet> = {};
  for (const element in set) {
    const node = changed.has(element) ? changed.get(element) : set[element];
    if (node !== undefined) result[element] = node;
  }
  return result;
}

function nodeWithout(mine: FieldSet, theirs: FieldSet, recursive: boolean): FieldSet | undefined {
  const [member, taken] = [isMember(mine), isMember(theirs)];
  if (taken && recursive) return undefined;
  const rest = without(mine, theirs, recursive);
  if (rest === mine && !(member && taken)) return mine;
  return nodeOf(member && !taken, childrenOf(rest));
}

function elementsOf(node: FieldSet): readonly PathElement[] {
  return Object.keys(node)
    .filter((element) => element !== ".")
    .sort(compareElements);
}

function collect(node: FieldSet, prefix: readonly PathElement[], paths: (readonly PathElement[])[]): void {
  const elements = elementsOf(node);
  for (const element of elements) {
    if (isMember(node[element] ?? noFields)) paths.push([...prefix, element]);
  }
  for (const element of elements) collect(node[element] ?? noFields, [...prefix, element], paths);
}
