import { isJsonArray, isJsonObject, type JsonObject } from "../json-value.ts";
import type { ArraySchema, Schema } from "../schema.ts";
import type { PathElement } from "./path-element.ts";
import { elementsOfList, entrySchema, isEmptyValue, shapeOf } from "./shape.ts";

/**
 * The live object with what is applied put over it; nothing goes by this. Items of lists keep the order of the live object, those that
 * are applied the order among themselves in which they are applied. Source: structured-merge-diff typed.Merge.
 */
export function mergeObjects(schema: Schema, live: JsonObject, applied: JsonObject): JsonObject {
  const merged = mergeValues(schema, live, applied);
  return isJsonObject(merged) ? merged : {};
}

function mergeValues(schema: Schema, live: unknown, applied: unknown): unknown {
  const shape = shapeOf(schema, applied ?? live);
  if (shape === "leaf" || (isEmptyValue(live) && isEmptyValue(applied))) return applied === undefined ? live : applied;
  if (shape === "list" && schema.type === "array") return mergeLists(schema, listOrNone(live), listOrNone(applied));
  return mergeMaps(schema, objectOrNone(live), objectOrNone(applied));
}

function mergeMaps(schema: Schema, live: JsonObject, applied: JsonObject): JsonObject {
  const merged: [string, unknown][] = [];
  // One of the two stands for the result where it is just that, which spares the making of what may have thousands of keys.
  let [isLive, isApplied] = [true, true];
  for (const key of Object.keys(live)) {
    const theirs = Object.hasOwn(applied, key) ? applied[key] : undefined;
    const value = theirs === undefined ? live[key] : mergeValues(entrySchema(schema, key), live[key], theirs);
    isLive &&= value === live[key];
    isApplied = false;
    merged.push([key, value]);
  }
  for (const key of Object.keys(applied)) {
    if (Object.hasOwn(live, key)) continue;
    const value = mergeValues(entrySchema(schema, key), undefined, applied[key]);
    isLive = false;
    isApplied &&= value === applied[key];
    merged.push([key, value]);
  }
  if (isLive) return live;
  return isApplied ? applied : Object.fromEntries(merged);
}

function mergeLists(schema: ArraySchema, live: readonly unknown[], applied: readonly unknown[]): readonly unknown[] {
  const mine = indexed(elementsOfList(schema, live), live);
  const theirs = indexed(elementsOfList(schema, applied), applied);
  const shared = theirs.elements.filter((element) => mine.items.has(element));
  let taken = 0;
  const merged: unknown[] = [];
  const done = new Set<PathElement>();
  const take = (element: PathElement): void => {
    done.add(element);
    merged.push(mergeValues(schema.items, mine.items.get(element), theirs.items.get(element)));
    // Counted and not removed: to shift a long list takes as long as it is.
    if (shared[taken] === element) taken += 1;
  };
  let [at, applying] = [0, 0];
  while (at < mine.elements.length || applying < theirs.elements.length) {
    const [own, next] = [mine.elements[at], theirs.elements[applying]];
    if (own !== undefined && own === next) {
      take(own);
      at += 1;
      applying += 1;
    } else if (own !== undefined && !theirs.items.has(own)) {
      // Of several items under one path element each stays as it is.
      merged.push(live[at]);
      at += 1;
    } else if (own !== undefined && (done.has(own) || (next !== undefined && shared[taken] !== own))) {
      at += 1;
    } else if (next !== undefined) {
      take(next);
      applying += 1;
    } else {
      at += 1;
    }
  }
  return merged;
}

interface IndexedList {
  readonly elements: readonly PathElement[];
  /** Undefined for an element that occurs more than once: such items are replaced and not merged. */
  readonly items: ReadonlyMap<PathElement, unknown>;
}

function indexed(elements: readonly PathElement[], list: readonly unknown[]): IndexedList {
  const items = new Map<PathElement, unknown>();
  for (const [index, element] of elements.entries()) {
    items.set(element, items.has(element) ? undefined : list[index]);
  }
  return { elements, items };
}

function listOrNone(value: unknown): readonly unknown[] {
  return isJsonArray(value) ? value : [];
}

function objectOrNone(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
