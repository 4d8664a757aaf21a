import { isJsonObject, type JsonObject } from "../json-value.ts";
import { endsStep, type Pace } from "../step-budget.ts";
import { finish, type Steps } from "../steps.ts";
import { inElementOrder, readElement, sortElements, type PathElement } from "./path-element.ts";

/**
 * A set of fields in the form of FieldsV1, so that stored sets need no decoding: every key is a path element,
 * and its value contains the fields below. `{}` as a value means that the field itself belongs to the set and no field below
 * does; where both do, the node has a key `.`. The whole set is empty when it has no keys. Never changed in place.
 * Source: apimachinery meta/v1 FieldsV1, structured-merge-diff fieldpath.Set.
 */
export interface FieldSet {
  readonly [element: PathElement]: FieldSet;
}

/** The set without fields. */
export const noFields: FieldSet = {};

/** Fields on one level while a set is built; an element may occur more than once. */
export interface Level {
  readonly elements: PathElement[];
  /** The node of each element. */
  readonly nodes: FieldSet[];
}

/** Adds one element with its node. */
export function addTo({ elements, nodes }: Level, element: PathElement, node: FieldSet): void {
  elements.push(element);
  nodes.push(node);
}

/**
 * The node of the fields of one level, sorted once, with the field above them where `member` is true; undefined for neither. Takes
 * time proportional to the level, except for sorting.
 */
export function* nodeOfLevel(member: boolean, level: Level, pace: Pace): Steps<FieldSet | undefined> {
  if (level.elements.length === 0) return member ? noFields : undefined;
  const result: Record<string, FieldSet> = {};
  if (member) result["."] = noFields;
  // Sorted means without duplicates.
  const isSorted = yield* inElementOrder(level.elements, pace);
  const { elements, nodes } = isSorted ? level : yield* sortedLevel(level, pace);
  for (let index = 0; index < elements.length; index += 1) {
    if (endsStep(pace)) yield;
    result[elements[index] ?? ""] = nodes[index] ?? noFields;
  }
  return result;
}

/** The level sorted, each element once. */
function* sortedLevel(
  level: Level,
  pace: Pace,
): Steps<{ readonly elements: readonly PathElement[]; readonly nodes: readonly FieldSet[] }> {
  const byElement = yield* joinedByElement(level, pace);
  const elements = yield* sortElements([...byElement.keys()], pace);
  return { elements, nodes: elements.map((element) => byElement.get(element) ?? noFields) };
}

function* joinedByElement({ elements, nodes }: Level, pace: Pace): Steps<ReadonlyMap<PathElement, FieldSet>> {
  const byElement = new Map<PathElement, FieldSet>();
  for (const [index, element] of elements.entries()) {
    if (endsStep(pace)) yield;
    const node = nodes[index] ?? noFields;
    const before = byElement.get(element);
    byElement.set(element, before === undefined ? node : yield* nodeUnion(before, node, pace));
  }
  return byElement;
}

/** Whether no field belongs to the set. */
export function isEmptySet(set: FieldSet): boolean {
  return isLeaf(set);
}

/** The fields below one step, as a set; empty where there are none. It may have a `.`, which every function here ignores. */
export function fieldsBelow(set: FieldSet, element: PathElement): FieldSet {
  return childOf(set, element) ?? noFields;
}

/** Whether the field one step down belongs to the set. */
export function hasElement(set: FieldSet, element: PathElement): boolean {
  const node = childOf(set, element);
  return node !== undefined && isMember(node);
}

/** The fields of either set, in order. Returns `one` itself when `other` adds nothing. */
export function* union(one: FieldSet, other: FieldSet, pace: Pace): Steps<FieldSet> {
  return (yield* joined(one, other, { member: false, pace })) ?? one;
}

/** The fields of all sets, in order. Takes time proportional to their total size, for any number of sets. */
export function* unionOf(sets: readonly FieldSet[], pace: Pace): Steps<FieldSet> {
  const [first, second] = sets;
  if (second === undefined) return first ?? noFields;
  const level: Level = { elements: [], nodes: [] };
  for (const [element, nodes] of yield* nodesByElement(sets, pace)) {
    addTo(level, element, Array.isArray(nodes) ? yield* unionOfNodes(nodes, pace) : nodes);
  }
  return (yield* nodeOfLevel(false, level, pace)) ?? noFields;
}

function* nodesByElement(
  sets: readonly FieldSet[],
  pace: Pace,
): Steps<ReadonlyMap<PathElement, FieldSet | FieldSet[]>> {
  const byElement = new Map<PathElement, FieldSet | FieldSet[]>();
  for (const set of sets) {
    for (const element in set) {
      if (endsStep(pace)) yield;
      const node = childOf(set, element);
      if (node === undefined) continue;
      const before = byElement.get(element);
      if (before === undefined) byElement.set(element, node);
      else if (Array.isArray(before)) before.push(node);
      else byElement.set(element, [before, node]);
    }
  }
  return byElement;
}

function* unionOfNodes(nodes: readonly FieldSet[], pace: Pace): Steps<FieldSet> {
  const branches = nodes.filter((node) => !isLeaf(node));
  if (branches.length === 0) return noFields;
  const member = branches.length < nodes.length || branches.some((node) => isMember(node));
  return nodeOf(member, yield* unionOf(branches, pace)) ?? noFields;
}

/** The fields of both sets. */
export function* intersection(one: FieldSet, other: FieldSet, pace: Pace): Steps<FieldSet> {
  const result: Record<string, FieldSet> = {};
  for (const element in one) {
    if (endsStep(pace)) yield;
    const theirs = childOf(other, element);
    const mine = one[element];
    if (theirs === undefined || mine === undefined) continue;
    const both =
      mine === theirs || (isLeaf(mine) && isLeaf(theirs))
        ? mine
        : nodeOf(isMember(mine) && isMember(theirs), yield* intersection(mine, theirs, pace));
    if (both !== undefined) result[element] = both;
  }
  return result;
}

/** The fields of `one` that `other` does not have; fields below those stay. Returns `one` itself when nothing is removed. */
export function difference(one: FieldSet, other: FieldSet, pace: Pace): Steps<FieldSet> {
  return without(one, other, { recursive: false, pace });
}

/** The fields of `one` that are neither in `other` nor below one of its fields. Returns `one` itself when nothing is removed. */
export function recursiveDifference(one: FieldSet, other: FieldSet, pace: Pace): Steps<FieldSet> {
  return without(one, other, { recursive: true, pace });
}

/** Whether every field of `part` is in `whole`. */
export function* contains(whole: FieldSet, part: FieldSet, pace: Pace): Steps<boolean> {
  if (whole === part) return true;
  for (const element in part) {
    if (endsStep(pace)) yield;
    const theirs = childOf(part, element);
    if (theirs === undefined) continue;
    const mine = childOf(whole, element);
    if (mine === undefined || (isMember(theirs) && !isMember(mine))) return false;
    if (!isLeaf(theirs) && !(yield* contains(mine, theirs, pace))) return false;
  }
  return true;
}

/** The paths of the fields of the set, parents first, in the order of FieldsV1; no more than `limit`. */
export function pathsOf(set: FieldSet, limit: number = Infinity): readonly (readonly PathElement[])[] {
  const paths: (readonly PathElement[])[] = [];
  collect(set, [], { paths, limit });
  return paths;
}

/** How many fields belong to the set. */
export function countFields(set: FieldSet): number {
  let count = 0;
  for (const element in set) {
    const node = childOf(set, element);
    if (node === undefined) continue;
    count += (isMember(node) ? 1 : 0) + countFields(node);
  }
  return count;
}

/** The same set with its keys in the order in which Kubernetes writes them; `set` itself where they are in order. */
export function* sortedSet(set: FieldSet, pace: Pace): Steps<FieldSet> {
  const elements: PathElement[] = [];
  const nodes: FieldSet[] = [];
  let isSame = true;
  let member = false;
  for (const element in set) {
    if (endsStep(pace)) yield;
    const node = childOf(set, element);
    if (node === undefined) {
      member = true;
      isSame &&= elements.length === 0;
      continue;
    }
    const sorted = isLeaf(node) ? node : yield* sortedSet(node, pace);
    isSame &&= sorted === node;
    elements.push(element);
    nodes.push(sorted);
  }
  if (isSame && (yield* inElementOrder(elements, pace))) return set;
  return (yield* nodeOfLevel(member, { elements, nodes }, pace)) ?? noFields;
}

/** The set that a client wrote as FieldsV1, in canonical form; undefined for malformed input. Steps of unknown kinds are left out. */
export function* readFieldSet(value: unknown, pace: Pace): Steps<FieldSet | undefined> {
  if (!isJsonObject(value)) return undefined;
  const set = yield* readNode(value, pace);
  return set === undefined ? undefined : childrenOf(set);
}

function* readNode(value: JsonObject, pace: Pace): Steps<FieldSet | undefined> {
  const level: Level = { elements: [], nodes: [] };
  let member = false;
  for (const key of Object.keys(value)) {
    if (endsStep(pace)) yield;
    const below = value[key];
    if (key === ".") {
      member = true;
      continue;
    }
    const element = readElement(key);
    if (element === undefined || !isJsonObject(below)) return undefined;
    if (element === "") continue;
    const node = isLeaf(below as FieldSet) ? noFields : yield* readNode(below, pace);
    if (node === undefined) return undefined;
    addTo(level, element, node);
  }
  return (yield* nodeOfLevel(member, level, pace)) ?? noFields;
}

function isLeaf(node: FieldSet): boolean {
  // Object.keys would list all keys, and a node may have thousands.
  for (const element in node) return element === undefined;
  return true;
}

function isMember(node: FieldSet): boolean {
  return node["."] !== undefined || isLeaf(node);
}

function childOf(node: FieldSet, element: PathElement): FieldSet | undefined {
  return element === "." ? undefined : node[element];
}

/** The node for a field with `children`, which may have a dot already; undefined where neither it nor any field below is in the set. */
function nodeOf(member: boolean, children: FieldSet): FieldSet | undefined {
  if (children["."] !== undefined) return member ? children : childrenOf(children);
  if (isLeaf(children)) return member ? noFields : undefined;
  return member ? { ".": noFields, ...children } : children;
}

function childrenOf(node: FieldSet): FieldSet {
  if (node["."] === undefined) return node;
  const { ".": _self, ...children } = node;
  return children;
}

function* nodeUnion(one: FieldSet, other: FieldSet, pace: Pace): Steps<FieldSet> {
  if (one === other || (isLeaf(one) && isLeaf(other))) return one;
  const [mine, theirs] = [isMember(one), isMember(other)];
  const both = yield* joined(one, other, { member: mine || theirs, pace });
  return both ?? (mine || !theirs ? one : (nodeOf(true, one) ?? noFields));
}

/** The fields of both levels, with the field itself a member of the set or not; undefined when `other` adds no field below. */
function* joined(
  one: FieldSet,
  other: FieldSet,
  { member, pace }: { readonly member: boolean; readonly pace: Pace },
): Steps<FieldSet | undefined> {
  let changed: Map<PathElement, FieldSet> | undefined;
  for (const element in other) {
    if (endsStep(pace)) yield;
    const theirs = childOf(other, element);
    if (theirs === undefined) continue;
    const mine = childOf(one, element);
    const both = mine === undefined ? theirs : yield* nodeUnion(mine, theirs, pace);
    if (both === mine) continue;
    changed ??= new Map();
    changed.set(element, both);
  }
  if (changed === undefined) return undefined;
  return yield* nodeOfLevel(member, yield* replaced(one, changed, pace), pace);
}

/** The fields of `one` with changed ones in place, and new ones at the end. */
function* replaced(one: FieldSet, changed: Map<PathElement, FieldSet>, pace: Pace): Steps<Level> {
  const level: Level = { elements: [], nodes: [] };
  for (const element in one) {
    if (endsStep(pace)) yield;
    const mine = childOf(one, element);
    if (mine === undefined) continue;
    addTo(level, element, changed.get(element) ?? mine);
    changed.delete(element);
  }
  for (const [element, node] of changed) addTo(level, element, node);
  return level;
}

/** Iterates over `one`, so that an intersection with many sets takes time proportional to their total size. */
function* without(one: FieldSet, other: FieldSet, removal: Removal): Steps<FieldSet> {
  let first: FirstRemoved | undefined;
  for (const element in one) {
    if (endsStep(removal.pace)) yield;
    const theirs = childOf(other, element);
    const mine = one[element];
    if (theirs === undefined || mine === undefined) continue;
    const rest = yield* nodeWithout(mine, theirs, removal);
    if (rest === mine) continue;
    first = { element, rest };
    break;
  }
  return first === undefined ? one : yield* restOf(one, other, { ...removal, first });
}

interface Removal {
  /** Fields below removed fields are removed too. */
  readonly recursive: boolean;
  readonly pace: Pace;
}

interface FirstRemoved {
  readonly element: PathElement;
  readonly rest: FieldSet | undefined;
}

/** Builds a new object, since an object with deleted keys stays slow. Fields before the first removed one are kept. */
function* restOf(
  one: FieldSet,
  other: FieldSet,
  { first, ...removal }: Removal & { readonly first: FirstRemoved },
): Steps<FieldSet> {
  const result: Record<string, FieldSet> = {};
  let isBefore = true;
  for (const element in one) {
    if (endsStep(removal.pace)) yield;
    let rest = one[element];
    if (element === first.element) {
      isBefore = false;
      rest = first.rest;
    } else if (!isBefore && rest !== undefined) {
      const theirs = childOf(other, element);
      if (theirs !== undefined) rest = yield* nodeWithout(rest, theirs, removal);
    }
    if (rest !== undefined) result[element] = rest;
  }
  return result;
}

function* nodeWithout(mine: FieldSet, theirs: FieldSet, removal: Removal): Steps<FieldSet | undefined> {
  const taken = isMember(theirs);
  if (taken && (removal.recursive || isLeaf(mine))) return undefined;
  const member = isMember(mine);
  const rest = yield* without(mine, theirs, removal);
  if (rest === mine && !(member && taken)) return mine;
  return nodeOf(member && !taken, childrenOf(rest));
}

interface Collecting {
  readonly paths: (readonly PathElement[])[];
  readonly limit: number;
}

function collect(node: FieldSet, prefix: readonly PathElement[], { paths, limit }: Collecting): void {
  const elements = finish(
    sortElements(
      Object.keys(node).filter((element) => element !== "."),
      { places: 0 },
    ),
  );
  for (const element of elements) {
    if (paths.length >= limit) return;
    if (isMember(node[element] ?? noFields)) paths.push([...prefix, element]);
  }
  for (const element of elements) {
    if (paths.length >= limit) return;
    collect(node[element] ?? noFields, [...prefix, element], { paths, limit });
  }
}
