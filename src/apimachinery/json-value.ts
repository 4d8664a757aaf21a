/** A JSON object as it comes from JSON.parse. Its keys were chosen by others: read with `ownValue`, never assign `__proto__`. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a parsed JSON value is an object, not null and not an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a parsed JSON value is an array. */
export function isJsonArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** What stands under `key`, or undefined; never something inherited, such as `constructor`. */
export function ownValue(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** How deep objects and arrays may nest in anything that clients send. */
export const maxDepth = 100;

/** Why a parsed JSON value cannot be worked on, or undefined: a key `__proto__`, or nesting beyond `depth` levels (100 by default). */
export function jsonProblem(value: unknown, depth: number = maxDepth): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (depth === 0) return "JSON nested too deeply";
  if (isJsonArray(value)) {
    for (const element of value) {
      const problem = jsonProblem(element, depth - 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  const object = value as JsonObject;
  // The entries of an object of many keys take five times as long as its keys.
  for (const key of Object.keys(object)) {
    const problem = key === "__proto__" ? 'the key "__proto__" is not allowed' : jsonProblem(object[key], depth - 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
