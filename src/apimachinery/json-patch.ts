import { jsonEqual } from "./equal.ts";
import { isJsonArray, isJsonObject, jsonProblem, maxDepth, ownValue, type JsonObject } from "./json-value.ts";
import { PatchError } from "./patch-error.ts";
import { truncate } from "./truncate.ts";

/** How many operations one JSON patch may have. Source: apiserver maxJSONPatchOperations. */
export const maxPatchOperations = 10_000;

/** How many values all `copy` operations may copy: each is counted, and copied where one of the copies changes. About 30 ms of work. */
const maxValues = 50_000;
/** How much all `copy` operations of a patch may copy, about in bytes of JSON. Source: apiserver JSONPatchMaxCopyBytes. */
const maxBytes = 3 << 20;
/** How many array elements all operations may shift; about 25 ms of work. */
const maxShifts = 1 << 24;

/** The document under change. Containers in `owned` were created for this patch, occur in one place, and may be changed. */
interface Draft {
  /** Contains the document under the empty key, the first of every path, so that the root is a member like any other. */
  readonly top: Record<string, unknown>;
  readonly owned: WeakSet<object>;
  /** Counters of copied and shifted values. */
  values: number;
  bytes: number;
  shifts: number;
}

type Container = Record<string, unknown> | unknown[];
type Path = readonly string[];
type Operation = (draft: Draft, path: Path, operation: JsonObject) => void;

/**
 * The document with the JSON patch applied, all operations or none. Neither argument is changed; unchanged parts
 * are shared with the result. As in Kubernetes, `test` of an absent member against null succeeds.
 * @throws PatchError malformed, testFailed, failed (also for an operation that the RFC does not know), tooLarge. Source: RFC 6902.
 */
export function applyJsonPatch(document: unknown, patch: unknown): unknown {
  if (!isJsonArray(patch)) throw new PatchError("malformed", notOperations(patch));
  if (patch.length > maxPatchOperations) {
    const most = `The allowed maximum operations in a JSON patch is ${maxPatchOperations}`;
    throw tooLarge(`${most}, got ${patch.length}`);
  }
  const problem = jsonProblem(patch, maxDepth);
  if (problem !== undefined) throw new PatchError("malformed", problem);
  if (!patch.every(isJsonObject)) throw new PatchError("malformed", "an operation of a JSON patch is an object");
  const draft: Draft = { top: { "": document }, owned: new WeakSet(), values: 0, bytes: 0, shifts: 0 };
  for (const operation of patch) {
    const path = pointer(operation, "path");
    const kind = ownValue(operation, "op");
    if (typeof kind !== "string") throw failed("Unexpected kind: unknown");
    const apply = operations.get(kind);
    if (apply === undefined) throw failed(`Unexpected kind: ${kind}`);
    apply(draft, path, operation);
  }
  // Moving can nest deeper than any single value of the patch.
  if (jsonProblem(draft.top[""]) !== undefined) throw failed("the result nests too deeply");
  return draft.top[""];
}

/** In Kubernetes' wording, which names a Go type. */
function notOperations(patch: unknown): string {
  const found = patch === null ? "null" : typeof patch === "boolean" ? "bool" : typeof patch;
  return `json: cannot unmarshal ${found} into Go value of type []handlers.jsonPatchOp`;
}

const operations: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  ["add", (draft, path, operation) => add(draft, path, valueOf(operation))],
  ["remove", remove],
  [
    "replace",
    (draft, path, operation) => {
      const value = valueOf(operation);
      read(draft, path);
      setMember(writableParent(draft, path), lastOf(path), value);
    },
  ],
  [
    "move",
    (draft, path, operation) => {
      const from = pointer(operation, "from");
      const value = read(draft, from);
      const inside = from.every((key, index) => path[index] === key);
      if (inside && from.length === path.length) return;
      if (inside) throw failed(`${shown(from)} cannot be moved into itself`);
      remove(draft, from);
      add(draft, path, value);
    },
  ],
  [
    "copy",
    (draft, path, operation) => {
      const value = read(draft, pointer(operation, "from"));
      chargeCopy(draft, value, maxDepth);
      add(draft, path, value);
    },
  ],
  [
    "test",
    (draft, path, operation) => {
      const expected = valueOf(operation);
      const found = lookup(draft, path);
      const isAbsent = found === undefined && expected === null && isJsonObject(lookup(draft, path.slice(0, -1)));
      if (!isAbsent && (found === undefined || !jsonEqual(expected, found)))
        throw new PatchError("testFailed", `testing value ${shown(path)} failed`);
    },
  ],
]);

function pointer(operation: JsonObject, field: "path" | "from"): Path {
  const text = ownValue(operation, field);
  if (typeof text !== "string") throw failed(`operation has no ${field}`);
  if (text !== "" && !text.startsWith("/")) throw failed(`${JSON.stringify(text)} is not a JSON pointer`);
  if (/~(?![01])/.test(text)) throw failed(`${JSON.stringify(text)} has an invalid escape`);
  const path = text.split("/");
  if (path.length > maxDepth + 1) throw failed("the JSON pointer is too long");
  const keys = text.includes("~") ? path.map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~")) : path;
  if (keys.includes("__proto__")) throw new PatchError("malformed", 'the key "__proto__" is not allowed');
  return keys;
}

function valueOf(operation: JsonObject): unknown {
  if (!Object.hasOwn(operation, "value")) throw failed("operation has no value");
  return operation["value"];
}

function add(draft: Draft, path: Path, value: unknown): void {
  const parent = writableParent(draft, path);
  const key = lastOf(path);
  if (!Array.isArray(parent)) return setMember(parent, key, value);
  const index = key === "-" ? parent.length : arrayIndex(key, parent.length);
  if (index === undefined) throw missing(path);
  chargeShift(draft, parent.length - index);
  parent.splice(index, 0, value);
}

function remove(draft: Draft, path: Path): void {
  if (path.length === 1) throw failed("the whole document cannot be removed");
  read(draft, path);
  const parent = writableParent(draft, path);
  const key = lastOf(path);
  if (!Array.isArray(parent)) return void Reflect.deleteProperty(parent, key);
  chargeShift(draft, parent.length - Number(key));
  parent.splice(Number(key), 1);
}

/** The container of the last key of `path`; copies shared containers along the path, so that they may be changed. */
function writableParent(draft: Draft, path: Path): Container {
  let current: Container = draft.top;
  for (const key of path.slice(0, -1)) {
    const child = memberOf(current, key);
    if (typeof child !== "object" || child === null) throw missing(path);
    const own: Container = draft.owned.has(child)
      ? (child as Container)
      : isJsonArray(child)
        ? [...child]
        : { ...child };
    draft.owned.add(own);
    setMember(current, key, own);
    current = own;
  }
  return current;
}

/** Sets the value of an existing key, or of any key of an object. */
function setMember(container: Container, key: string, value: unknown): void {
  if (Array.isArray(container)) container[Number(key)] = value;
  else container[key] = value;
}

function read(draft: Draft, path: Path): unknown {
  const value = lookup(draft, path);
  if (value === undefined) throw missing(path);
  return value;
}

function lookup({ top }: Draft, path: readonly string[]): unknown {
  let current: unknown = top;
  for (const key of path) current = memberOf(current, key);
  return current;
}

function memberOf(container: unknown, key: string): unknown {
  if (!isJsonArray(container)) return isJsonObject(container) ? ownValue(container, key) : undefined;
  const index = arrayIndex(key, container.length - 1);
  return index === undefined ? undefined : container[index];
}

function arrayIndex(key: string, last: number): number | undefined {
  return /^(?:0|[1-9][0-9]{0,14})$/.test(key) && Number(key) <= last ? Number(key) : undefined;
}

function lastOf(path: Path): string {
  return path.at(-1) ?? "";
}

/** Counts copied values, and removes them from `owned`, since they now occur in two places. */
function chargeCopy(draft: Draft, value: unknown, depth: number): void {
  draft.values += 1;
  draft.bytes += typeof value === "string" ? value.length + 3 : 6;
  const copy = "Unable to complete the copy, the";
  if (draft.values > maxValues) throw tooLarge(`${copy} patch copies more than ${maxValues} values`);
  if (draft.bytes > maxBytes) throw tooLarge(`${copy} accumulated size increase of copy is larger than ${maxBytes}`);
  if (typeof value !== "object" || value === null) return;
  if (depth === 0) throw failed("the copied value nests too deeply");
  draft.owned.delete(value);
  if (isJsonArray(value)) {
    for (const element of value) chargeCopy(draft, element, depth - 1);
    return;
  }
  for (const key of Object.keys(value)) {
    draft.bytes += key.length;
    chargeCopy(draft, (value as JsonObject)[key], depth - 1);
  }
}

function chargeShift(draft: Draft, elements: number): void {
  draft.shifts += elements;
  if (draft.shifts <= maxShifts) return;
  throw tooLarge(`the patch moves more than ${maxShifts} array elements; add and remove at the end of lists`);
}

function tooLarge(message: string): PatchError {
  return new PatchError("tooLarge", message);
}

function missing(path: Path): PatchError {
  return failed(`${shown(path)} does not exist`);
}

function failed(message: string): PatchError {
  return new PatchError("failed", message);
}

function shown(path: Path): string {
  const text = path.map((key) => key.replaceAll("~", "~0").replaceAll("/", "~1")).join("/");
  return JSON.stringify(truncate(text, 256));
}
