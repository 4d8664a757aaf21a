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
  const base = isJsonObject(target) ? target : {};
  let result: Record<string, unknown> | undefined = isJsonObject(target) ? undefined : {};
  for (const key of Object.keys(patch)) {
    const change = patch[key];
    const before = ownValue(base, key);
    if (change === null) {
      if (!Object.hasOwn(base, key)) continue;
      result ??= { ...base };
      Reflect.deleteProperty(result, key);
    } else {
      const after = merge(before, change);
      if (after === before) continue;
      result ??= { ...base };
      result[key] = after;
    }
  }
  return result ?? target;
}
