import { jsonEqual } from "./equal.ts";
import { isJsonObject, jsonProblem, ownValue } from "./json-value.ts";
import { PatchError } from "./patch-error.ts";

/**
 * The target with the merge patch applied: objects merge, null removes, any other value replaces. Neither argument is changed;
 * unchanged parts are shared with the result, and a patch that changes nothing returns the target itself.
 * @throws PatchError malformed for a key `__proto__` or nesting beyond 100 levels. Source: RFC 7386.
 */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  const problem = jsonProblem(patch);
  if (problem !== undefined) throw new PatchError("malformed", problem);
  return merge(target, patch);
}

function merge(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return jsonEqual(patch, target) ? target : patch;
  if (!isJsonObject(target)) return merge({}, patch);
  let result: Record<string, unknown> | undefined;
  for (const key of Object.keys(patch)) {
    const change = patch[key];
    const before = ownValue(target, key);
    const after = change === null ? undefined : merge(before, change);
    if (after === before) continue;
    result ??= { ...target };
    if (after === undefined) Reflect.deleteProperty(result, key);
    else result[key] = after;
  }
  return result ?? target;
}
