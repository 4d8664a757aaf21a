import { isJsonArray } from "../../apimachinery/json-value.ts";
import { formatDuration } from "./duration.ts";
import { isMap, mapGet, mapKeys } from "./equality.ts";
import { formatTimestamp } from "./timestamp.ts";
import {
  kindOf,
  type CelDouble,
  type CelDuration,
  type CelOptional,
  type CelTimestamp,
  type CelUint,
  type CelValue,
} from "./values.ts";

/** How deep values may nest that become JSON. */
const maxDepth = 100;

/**
 * A value as JSON: points and spans of time as text, octets in base64, absent values as null, keys as text. Undefined when it has
 * no form in JSON: a value of a library, a number that is not finite, or nesting beyond 100 levels.
 */
export function celToJson(value: CelValue, depth: number = maxDepth): unknown {
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth === 0) return undefined;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (isJsonArray(value)) return listToJson(value, depth);
  return isMap(value) ? mapToJson(value, depth) : specialToJson(value, depth);
}

function listToJson(list: readonly unknown[], depth: number): unknown {
  const members = list.map((member) => celToJson(member as CelValue, depth - 1));
  return members.includes(undefined) ? undefined : members;
}

function mapToJson(map: Parameters<typeof mapKeys>[0], depth: number): unknown {
  const entries: [string, unknown][] = [];
  for (const key of mapKeys(map)) {
    const member = celToJson(mapGet(map, key) as CelValue, depth - 1);
    if (member === undefined) return undefined;
    entries.push([keyText(key), member]);
  }
  return Object.fromEntries(entries);
}

/** Keys are text, truth values or integers of either kind. */
function keyText(key: CelValue): string {
  return typeof key === "object" ? String((key as CelUint).value) : String(key);
}

function specialToJson(value: object, depth: number): unknown {
  switch (kindOf(value)) {
    case "double": {
      const { value: number } = value as CelDouble;
      return Number.isFinite(number) ? number : undefined;
    }
    case "uint":
      return Number((value as CelUint).value);
    case "timestamp":
      return formatTimestamp(value as CelTimestamp);
    case "duration":
      return formatDuration(value as CelDuration);
    case "optional": {
      const held = (value as CelOptional).value;
      return held === undefined ? null : celToJson(held, depth - 1);
    }
    default:
      return undefined;
  }
}
