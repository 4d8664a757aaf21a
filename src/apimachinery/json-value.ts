/** A JSON object as JSON.parse returns it. Clients choose its keys: read with `ownValue`, never assign `__proto__`. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a parsed JSON value is an object, not null and not an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a parsed JSON value is an array. */
export function isJsonArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** The value of `key`, or undefined; never an inherited one, such as `constructor`. */
export function ownValue(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** The maximum nesting of objects and arrays in client input. */
export const maxDepth = 100;

/** Why a parsed JSON value cannot be processed, or undefined: a key `__proto__`, or nesting beyond `depth` levels (100 by default). */
export function jsonProblem(value: unknown, depth: number = maxDepth): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (depth === 0) return "JSON nested too deeply";
  if (isJsonArray(value)) return elementsProblem(value, depth - 1);
  const object = value as JsonObject;
  // Object.entries of many keys takes five times as long as Object.keys.
  for (const key of Object.keys(object)) {
    const problem = key === "__proto__" ? 'the key "__proto__" is not allowed' : jsonProblem(object[key], depth - 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function elementsProblem(list: readonly unknown[], depth: number): string | undefined {
  for (const element of list) {
    const problem = jsonProblem(element, depth);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
