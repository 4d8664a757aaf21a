import { jsonEqual } from "./equal.ts";
import { isJsonArray, isJsonObject, jsonProblem, maxDepth, ownValue, type JsonObject } from "./json-value.ts";
import { PatchError } from "./patch-error.ts";

/** How many operations one JSON patch may have. Source: apiserver maxJSONPatchOperations. */
export const maxPatchOperations = 10_000;
/** How much all `copy` operations of a patch may copy, about in bytes of JSON. Source: apiserver JSONPatchMaxCopyBytes. */
const maxCopiedBytes = 3 << 20;
/** How many values all `copy` operations may copy: each is looked at, and made anew where one of the copies changes. About 30 ms of work. */
const maxCopiedValues = 50_000;
/** How many array elements all operations may shift; about 25 ms of work. */
const maxShiftedElements = 1 << 24;

/**
 * The document with the JSON patch applied, all operations or none. Neither argument is changed; what the patch leaves alone
 * is shared with the result. As in Kubernetes, `test` of an absent member against null holds.
 * @throws PatchError malformed, testFailed, failed (also for an operation that the RFC does not know), tooLarge. Source: RFC 6902.
 */
export function applyJsonPatch(document: unknown, patch: unknown): unknown {
  if (!isJsonArray(patch)) throw new PatchError("malformed", notOperations(patch));
  if (patch.length > maxPatchOperations) {
    throw new PatchError(
      "tooLarge",
      `The allowed maximum operations in a JSON patch is ${maxPatchOperations}, got ${patch.length}`,
    );
  }
  const problem = jsonProblem(patch, maxDepth);
  if (problem !== undefined) throw new PatchError("malformed", problem);
  if (!patch.every(isJsonObject)) throw new PatchError("malformed", "an operation of a JSON patch is an object");
  const draft: Draft = { root: document, owned: new WeakSet(), copiedBytes: 0, copiedValues: 0, shiftedElements: 0 };
  for (const operation of patch) applyOperation(draft, operation);
  // Moving can nest deeper than any single value of the patch.
  if (jsonProblem(draft.root) !== undefined) throw new PatchError("failed", "the result nests too deeply");
  return draft.root;
}

/** In the words of Kubernetes, which name its own type. */
function notOperations(patch: unknown): string {
  const found = patch === null ? "null" : typeof patch === "boolean" ? "bool" : typeof patch;
  return `json: cannot unmarshal ${found} into Go value of type []handlers.jsonPatchOp`;
}

/** The document in the making. Containers in `owned` were made for this patch, stand in one place, and may be changed. */
interface Draft {
  root: unknown;
  readonly owned: WeakSet<object>;
  copiedBytes: number;
  copiedValues: number;
  shiftedElements: number;
}

type Container = Record<string, unknown> | unknown[];
type Path = readonly string[];

function applyOperation(draft: Draft, operation: JsonObject): void {
  const kind = ownValue(operation, "op");
  const path = pointer(operation, "path");
  switch (kind) {
    case "add":
      add(draft, path, valueOf(operation));
      return;
    case "remove":
      remove(draft, path);
      return;
    case "replace":
      replace(draft, path, valueOf(operation));
      return;
    case "move":
      move(draft, pointer(operation, "from"), path);
      return;
    case "copy": {
      const value = read(draft, pointer(operation, "from"));
      chargeCopy(draft, value, maxDepth);
      add(draft, path, value);
      return;
    }
    case "test":
      if (testHolds(draft, path, valueOf(operation))) return;
      throw new PatchError("testFailed", `testing value ${shown(path)} failed`);
    default:
      throw failed(`Unexpected kind: ${typeof kind === "string" ? kind : "unknown"}`);
  }
}

function pointer(operation: JsonObject, field: "path" | "from"): Path {
  const text = ownValue(operation, field);
  if (typeof text !== "string") throw failed(`operation has no ${field}`);
  if (text === "") return [];
  if (!text.startsWith("/")) throw failed(`${JSON.stringify(text)} is not a JSON pointer`);
  if (/~(?![01])/.test(text)) throw failed(`${JSON.stringify(text)} has an invalid escape`);
  const path = text.slice(1).split("/");
  if (path.length > maxDepth) throw failed("the JSON pointer is too long");
  for (let index = 0; index < path.length; index += 1) {
    const key = (path[index] ?? "").replaceAll("~1", "/").replaceAll("~0", "~");
    if (key === "__proto__") throw new PatchError("malformed", 'the key "__proto__" is not allowed');
    path[index] = key;
  }
  return path;
}

function valueOf(operation: JsonObject): unknown {
  if (!Object.hasOwn(operation, "value")) throw failed("operation has no value");
  return operation["value"];
}

function add(draft: Draft, path: Path, value: unknown): void {
  const key = path.at(-1);
  if (key === undefined) {
    draft.root = value;
    return;
  }
  const parent = writableParent(draft, path);
  if (!Array.isArray(parent)) {
    parent[key] = value;
    return;
  }
  const index = key === "-" ? parent.length : arrayIndex(parent, key, parent.length);
  if (index === undefined) throw missing(path);
  chargeShift(draft, parent.length - index);
  parent.splice(index, 0, value);
}

function replace(draft: Draft, path: Path, value: unknown): void {
  const key = path.at(-1);
  if (key === undefined) {
    draft.root = value;
    return;
  }
  read(draft, path);
  const parent = writableParent(draft, path);
  if (Array.isArray(parent)) parent[Number(key)] = value;
  else parent[key] = value;
}

function remove(draft: Draft, path: Path): void {
  const key = path.at(-1);
  if (key === undefined) throw failed("the whole document cannot be removed");
  read(draft, path);
  const parent = writableParent(draft, path);
  if (Array.isArray(parent)) {
    chargeShift(draft, parent.length - Number(key));
    parent.splice(Number(key), 1);
  } else {
    Reflect.deleteProperty(parent, key);
  }
}

function move(draft: Draft, from: Path, to: Path): void {
  const value = read(draft, from);
  const inside = from.every((key, index) => to[index] === key);
  if (inside && from.length === to.length) return;
  if (inside) throw failed(`${shown(from)} cannot be moved into itself`);
  remove(draft, from);
  add(draft, to, value);
}

function testHolds(draft: Draft, path: Path, expected: unknown): boolean {
  const found = lookup(draft.root, path);
  if (found !== undefined) return jsonEqual(expected, found);
  const parent = lookup(draft.root, path.slice(0, -1));
  return expected === null && isJsonObject(parent);
}

/** The container that the last key of `path` is in, made fit for change along the whole way. */
function writableParent(draft: Draft, path: Path): Container {
  let current = owned(draft, draft.root, path);
  draft.root = current;
  for (const key of path.slice(0, -1)) {
    const child = owned(draft, memberOf(current, key), path);
    if (Array.isArray(current)) current[Number(key)] = child;
    else current[key] = child;
    current = child;
  }
  return current;
}

function owned(draft: Draft, value: unknown, path: Path): Container {
  if (typeof value !== "object" || value === null) throw missing(path);
  if (draft.owned.has(value)) return value as Container;
  const copy: Container = isJsonArray(value) ? [...value] : { ...value };
  draft.owned.add(copy);
  return copy;
}

function read(draft: Draft, path: Path): unknown {
  const value = lookup(draft.root, path);
  if (value === undefined) throw missing(path);
  return value;
}

function lookup(root: unknown, path: Path): unknown {
  let current = root;
  for (const key of path) current = memberOf(current, key);
  return current;
}

function memberOf(container: unknown, key: string): unknown {
  if (isJsonArray(container)) {
    const index = arrayIndex(container, key, container.length - 1);
    return index === undefined ? undefined : container[index];
  }
  return isJsonObject(container) ? ownValue(container, key) : undefined;
}

function arrayIndex(array: readonly unknown[], key: string, last: number): number | undefined {
  if (!/^(?:0|[1-9][0-9]{0,14})$/.test(key)) return undefined;
  const index = Number(key);
  return index <= Math.min(last, array.length) ? index : undefined;
}

/** Counts what is copied, and makes it unfit for change in place, as it now stands in two places. */
function chargeCopy(draft: Draft, value: unknown, depth: number): void {
  draft.copiedBytes += typeof value === "string" ? value.length + 3 : 6;
  draft.copiedValues += 1;
  if (draft.copiedValues > maxCopiedValues) {
    throw new PatchError(
      "tooLarge",
      `Unable to complete the copy, the patch copies more than ${maxCopiedValues} values`,
    );
  }
  if (draft.copiedBytes > maxCopiedBytes) {
    throw new PatchError(
      "tooLarge",
      `Unable to complete the copy, the accumulated size increase of copy is larger than ${maxCopiedBytes}`,
    );
  }
  if (typeof value !== "object" || value === null) return;
  if (depth === 0) throw failed("the copied value nests too deeply");
  draft.owned.delete(value);
  if (isJsonArray(value)) {
    for (const element of value) chargeCopy(draft, element, depth - 1);
    return;
  }
  const object = value as JsonObject;
  for (const key of Object.keys(object)) {
    draft.copiedBytes += key.length;
    chargeCopy(draft, object[key], depth - 1);
  }
}

function chargeShift(draft: Draft, elements: number): void {
  draft.shiftedElements += elements;
  if (draft.shiftedElements > maxShiftedElements) {
    throw new PatchError(
      "tooLarge",
      `the patch moves more than ${maxShiftedElements} array elements; add and remove at the end of lists`,
    );
  }
}

function missing(path: Path): PatchError {
  return failed(`${shown(path)} does not exist`);
}

function failed(message: string): PatchError {
  return new PatchError("failed", message);
}

function shown(path: Path): string {
  const text = path.map((key) => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
  return JSON.stringify(text.length > 256 ? `${text.slice(0, 256)}…` : text);
}
