import { jsonEqual } from "./equal.ts";
import { isJsonArray, isJsonObject, ownValue, type JsonObject } from "./json-value.ts";
import { PatchError } from "./patch-error.ts";

type List = readonly unknown[];

/** How one list of the schema merges. */
export interface ListRules {
  /** The field's name, for messages. */
  readonly key: string;
  /** Whether the patch merges into the list; if not, it replaces it. */
  readonly joined: boolean;
  /** The merge key of elements that are objects. */
  readonly mergeKey: string | undefined;
  readonly merge: (target: JsonObject, patch: JsonObject) => JsonObject;
  /** Removes nulls and directives from a value. */
  readonly clean: (value: unknown) => unknown;
}

/** The list with a patch of it applied, elements of the patch in its order, the others in their position. @throws PatchError malformed, failed. */
export function mergeLists(rules: ListRules, before: List, change: List): List {
  if (!rules.joined)
    return jsonEqual(change, before) ? before : change.filter((one) => !isSpecial(one)).map(rules.clean);
  if (change.length === 0) return before;
  const objects = elementsAreObjects(rules, before, change);
  const mergeKey = objects ? rules.mergeKey : undefined;
  if (!objects) return inOrder({ list: [...new Set([...before, ...change])], first: change, live: before, mergeKey });
  if (mergeKey === undefined) throw failed(`cannot merge lists without merge key for ${rules.key}`);
  const { list, additions, replaced } = applySpecialElements(mergeKey, before, change);
  if (replaced) return additions.map(rules.clean);
  const merged = mergeByKey({ ...rules, mergeKey }, list, additions);
  return inOrder({ list: merged, first: additions, live: list, mergeKey });
}

/**
 * The list with a patch of it applied and then sorted by `$setElementOrder`: elements in `order` follow it, the others keep
 * their position. @throws PatchError failed when the patch and the order contradict each other.
 */
export function orderLists(
  rules: ListRules,
  lists: { readonly before: List | undefined; readonly change: List | undefined; readonly order: List },
): List {
  const { before, change, order } = lists;
  const merged =
    before === undefined
      ? (change ?? []).filter((one) => !isSpecial(one)).map(rules.clean)
      : change === undefined
        ? before
        : mergeLists(rules, before, change);
  if (merged.length === 0) return merged;
  const objects = elementsAreObjects(rules, merged, order);
  if (objects && rules.mergeKey === undefined) throw failed(`cannot order lists without merge key for ${rules.key}`);
  const mergeKey = objects ? rules.mergeKey : undefined;
  checkOrder({ mergeKey, key: rules.key }, change ?? [], order);
  return inOrder({ list: merged, first: order, live: before ?? [], mergeKey });
}

/** Whether all elements are objects; if not, all must be scalars of one type. */
function elementsAreObjects(rules: ListRules, ...lists: readonly List[]): boolean {
  let type: string | undefined;
  for (const element of lists.flat()) {
    if (isJsonArray(element)) throw failed("lists of lists are not supported");
    const found = element === null ? "null" : typeof element;
    if (type !== undefined && type !== found) throw failed(`list element types are not identical: ${rules.key}`);
    type = found;
  }
  return type === "object";
}

function applySpecialElements(
  mergeKey: string,
  before: List,
  change: List,
): { readonly list: List; readonly additions: List; readonly replaced: boolean } {
  const additions = change.filter((one) => !isSpecial(one));
  const gone = new Set<unknown>();
  let replaced = false;
  for (const element of change) {
    if (!isJsonObject(element) || !isSpecial(element)) continue;
    const kind = element["$patch"];
    if (kind === "replace") replaced = true;
    else if (kind === "delete") gone.add(keyOf(element, mergeKey));
    else if (kind === "merge") throw malformed("merging lists cannot yet be specified in the patch");
    else throw malformed(`unknown patch type: ${JSON.stringify(kind)}`);
  }
  if (gone.size === 0) return { list: before, additions, replaced };
  const list = before.filter((one) => !isJsonObject(one) || !gone.has(ownValue(one, mergeKey)));
  return { list, additions, replaced };
}

function mergeByKey(rules: ListRules & { readonly mergeKey: string }, list: List, additions: List): List {
  const merged = [...list];
  const places = indexByKey(list, rules.mergeKey);
  for (const element of additions) {
    if (!isJsonObject(element)) continue;
    const key = keyOf(element, rules.mergeKey);
    const place = places.get(key);
    const present = place === undefined ? undefined : merged[place];
    if (place !== undefined && isJsonObject(present)) {
      merged[place] = rules.merge(present, element);
    } else {
      places.set(key, merged.length);
      merged.push(rules.clean(element));
    }
  }
  return merged;
}

/**
 * Elements that `first` names in its order, the others in theirs; an unnamed one precedes the first named one that
 * follows it in the live list.
 */
function inOrder(lists: {
  readonly list: List;
  readonly first: List;
  readonly live: List;
  readonly mergeKey: string | undefined;
}): List {
  const { list, first, live, mergeKey } = lists;
  const identity = (element: unknown): unknown =>
    mergeKey !== undefined && isJsonObject(element) ? keyOf(element, mergeKey) : element;
  const asked = indexByKey(first, mergeKey);
  const indexes = indexByKey(live, mergeKey);
  // Positions are looked up once for each element and not for each comparison.
  const placed = list.map((element) => {
    const id = identity(element);
    return { element, orderedIndex: asked.get(id) ?? -1, liveIndex: indexes.get(id) ?? -1 };
  });
  const named = placed
    .filter(({ orderedIndex }) => orderedIndex >= 0)
    .sort((one, other) => one.orderedIndex - other.orderedIndex);
  const others = placed
    .filter(({ orderedIndex }) => orderedIndex < 0)
    .sort((one, other) => one.liveIndex - other.liveIndex);
  const result: unknown[] = [];
  let next = 0;
  const takeOthers = (position: number): void => {
    for (let other = others[next]; other !== undefined && other.liveIndex < position; other = others[next]) {
      result.push(other.element);
      next += 1;
    }
  };
  for (const { element, liveIndex } of named) {
    takeOthers(liveIndex);
    result.push(element);
  }
  takeOthers(Infinity);
  return result.length === live.length && result.every((element, index) => element === live[index]) ? live : result;
}

/** The first index of each key, or each scalar. */
function indexByKey(list: List, mergeKey: string | undefined): Map<unknown, number> {
  const places = new Map<unknown, number>();
  for (const [index, element] of list.entries()) {
    const key = mergeKey !== undefined && isJsonObject(element) ? keyOf(element, mergeKey) : element;
    if (!places.has(key)) places.set(key, index);
  }
  return places;
}

/** Elements of the patch must be in `order`, and in its sequence. */
function checkOrder(
  list: { readonly mergeKey: string | undefined; readonly key: string },
  change: List,
  order: List,
): void {
  const { mergeKey } = list;
  const identity = (element: unknown): unknown =>
    mergeKey !== undefined && isJsonObject(element) ? keyOf(element, mergeKey) : element;
  if (order.length === 0) return;
  let position = 0;
  for (const element of change) {
    if (isSpecial(element)) continue;
    while (position < order.length && identity(order[position]) !== identity(element)) position += 1;
    if (position === order.length) {
      throw failed(`The order in patch list doesn't match $setElementOrder list: ${list.key}`);
    }
    position += 1;
  }
}

function keyOf(element: JsonObject, mergeKey: string): unknown {
  const key = ownValue(element, mergeKey);
  if (key === undefined || key === null || typeof key === "object") {
    throw failed(`map does not contain declared merge key: ${mergeKey}`);
  }
  return key;
}

function isSpecial(element: unknown): boolean {
  return isJsonObject(element) && Object.hasOwn(element, "$patch");
}

function malformed(message: string): PatchError {
  return new PatchError("malformed", message);
}

function failed(message: string): PatchError {
  return new PatchError("failed", message);
}
