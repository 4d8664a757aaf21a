import { isJsonArray, isJsonObject, jsonProblem, ownValue, type JsonObject } from "./json-value.ts";
import { PatchError } from "./patch-error.ts";
import { memberSchema, type Schema } from "./schema.ts";
import { mergeLists, orderLists, type ListRules } from "./strategic-merge-list.ts";

const orderPrefix = "$setElementOrder";
const deletePrefix = "$deleteFromPrimitiveList";
const retainKeys = "$retainKeys";
const directive = "$patch";

/**
 * The target with the strategic merge patch applied along `schema`: as a merge patch, and lists with patch strategy `merge` merge
 * by their merge key, or as sets of scalars. Neither argument is changed; unchanged parts are shared with the
 * result. Fields that the schema does not know merge as in a merge patch.
 * @throws PatchError malformed, failed. Source: apimachinery strategicpatch.StrategicMergeMapPatch.
 */
export function applyStrategicMergePatch(schema: Schema, target: JsonObject, patch: unknown): JsonObject {
  if (!isJsonObject(patch)) throw new PatchError("malformed", "a strategic merge patch is a JSON object");
  const problem = jsonProblem(patch);
  if (problem !== undefined) throw new PatchError("malformed", problem);
  return mergeObjects(schema, target, patch);
}

function mergeObjects(schema: Schema | undefined, target: JsonObject, patch: JsonObject): JsonObject {
  if (Object.hasOwn(patch, directive)) return applyDirective(patch);
  const result = retained(target, patch);
  const done = new Set([retainKeys]);
  for (const key of Object.keys(patch)) {
    if (key.startsWith(orderPrefix)) {
      done.add(key);
      orderList({ schema, result, patch, done }, key);
    }
  }
  for (const [key, change] of Object.entries(patch)) {
    if (done.has(key)) continue;
    if (key.startsWith(deletePrefix)) deleteFromList(result, listOf(key, deletePrefix), change);
    else mergeMember(schema, result, { key, change });
  }
  return unchanged(target, result) ? target : result;
}

function applyDirective(patch: JsonObject): JsonObject {
  const kind = patch[directive];
  if (kind === "delete") return {};
  if (kind !== "replace") throw new PatchError("malformed", `unknown patch type: ${JSON.stringify(kind)}`);
  const { [directive]: _, ...rest } = patch;
  return cleanObject(rest);
}

/** A copy of the target with only the keys that `$retainKeys` lists. */
function retained(target: JsonObject, patch: JsonObject): Record<string, unknown> {
  if (!Object.hasOwn(patch, retainKeys)) return { ...target };
  const list = patch[retainKeys];
  const keep = new Set(isJsonArray(list) ? list : []);
  const unlisted = Object.entries(patch).some(
    ([key, change]) => change !== null && key !== retainKeys && !isListDirective(key) && !keep.has(key),
  );
  if (!isJsonArray(list) || unlisted) throw new PatchError("malformed", "invalid patch format of retainKeys");
  return Object.fromEntries(Object.entries(target).filter(([key]) => keep.has(key)));
}

interface Ordering {
  readonly schema: Schema | undefined;
  readonly result: Record<string, unknown>;
  readonly patch: JsonObject;
  readonly done: Set<string>;
}

/** `$setElementOrder/x` together with `x`: merges the list, then sorts it in the requested order. */
function orderList({ schema, result, patch, done }: Ordering, orderKey: string): void {
  const key = listOf(orderKey, orderPrefix);
  const order = patch[orderKey];
  const before = ownValue(result, key);
  const change = ownValue(patch, key);
  if (!isJsonArray(order)) throw new PatchError("malformed", "invalid patch format of setElementOrder list");
  if (change === null) return;
  if ((before !== undefined && !isJsonArray(before)) || (change !== undefined && !isJsonArray(change))) {
    throw new PatchError("malformed", `${JSON.stringify(key)} is not a list`);
  }
  done.add(key);
  if (before === undefined && change === undefined) return;
  result[key] = orderLists(rulesOf(schema, key), { before, change, order });
}

function deleteFromList(result: Record<string, unknown>, key: string, unwanted: unknown): void {
  if (!isJsonArray(unwanted) || unwanted.some((one) => typeof one === "object")) {
    throw new PatchError("malformed", "invalid patch format of primitive list");
  }
  const before = ownValue(result, key);
  if (!isJsonArray(before)) return;
  const gone = new Set(unwanted);
  if (before.some((one) => gone.has(one))) result[key] = before.filter((one) => !gone.has(one));
}

interface Change {
  readonly key: string;
  readonly change: unknown;
}

function mergeMember(schema: Schema | undefined, result: Record<string, unknown>, { key, change }: Change): void {
  const before = ownValue(result, key);
  if (change === null) {
    Reflect.deleteProperty(result, key);
  } else if (isJsonObject(change) && isJsonObject(before)) {
    result[key] = mergeObjects(memberSchema(schema, key), before, change);
  } else if (isJsonArray(change) && isJsonArray(before)) {
    result[key] = mergeLists(rulesOf(schema, key), before, change);
  } else if (isJsonObject(change) && Object.hasOwn(change, directive)) {
    Reflect.deleteProperty(result, key);
  } else {
    result[key] = clean(change);
  }
}

function rulesOf(schema: Schema | undefined, key: string): ListRules {
  const list = memberSchema(schema, key);
  const rules = { merge: mergeObjects.bind(undefined, list?.type === "array" ? list.items : undefined), clean, key };
  if (list?.type !== "array") return { ...rules, joined: false, mergeKey: undefined };
  const joined = list.patchStrategy === "merge" || list.patchStrategy === "merge,retainKeys";
  return { ...rules, joined, mergeKey: list.patchMergeKey };
}

/** A value without a counterpart in the target, without nulls and directives. */
function clean(value: unknown): unknown {
  if (isJsonArray(value)) return value.filter((one) => !hasDirective(one)).map(clean);
  return isJsonObject(value) ? cleanObject(value) : value;
}

function cleanObject(value: JsonObject): JsonObject {
  const entries = Object.entries(value).filter(
    ([key, member]) => member !== null && key !== retainKeys && !isListDirective(key) && !hasDirective(member),
  );
  return Object.fromEntries(entries.map(([key, member]) => [key, clean(member)]));
}

function hasDirective(value: unknown): boolean {
  return isJsonObject(value) && Object.hasOwn(value, directive);
}

function isListDirective(key: string): boolean {
  return key.startsWith(orderPrefix) || key.startsWith(deletePrefix);
}

/** The list of the directive `prefix/x`. */
function listOf(key: string, prefix: string): string {
  const list = key.slice(prefix.length + 1);
  if (key.startsWith(`${prefix}/`) && list !== "__proto__") return list;
  const what = prefix === deletePrefix ? "primitive list" : "setElementOrder list";
  throw new PatchError("malformed", `invalid patch format of ${what}`);
}

function unchanged(target: JsonObject, result: JsonObject): boolean {
  const keys = Object.keys(result);
  return keys.length === Object.keys(target).length && keys.every((key) => result[key] === ownValue(target, key));
}
