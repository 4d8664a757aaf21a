import { isJsonArray, isJsonObject } from "../../apimachinery/json-value.ts";
import { withIdentity, isMap, mapGet, mapKeys, type ListIdentity } from "./equality.ts";
import { occupy, type Frame } from "./frame.ts";
import { parseDuration, parseTimestamp, formatDuration, formatTimestamp } from "./time.ts";
import type { CelType } from "./types.ts";
import {
  celDouble,
  celOptional,
  fromJson,
  isCelFailure,
  kindOf,
  type CelFailure,
  type CelOptional,
  type CelValue,
  type CelDouble,
  type CelDuration,
  type CelTimestamp,
  type CelUint,
} from "./values.ts";

/** Converts a raw member of JSON to a value. */
export type Converter = (raw: unknown, frame: Frame) => CelValue;

/**
 * How members of JSON become values where a type is declared: a number becomes floating point, text becomes a timestamp, a duration
 * or bytes from base64. A value that does not fit stays unchanged, and functions reject it. Lists and
 * maps are copied only when their members need more than `fromJson` at their use, and then once in an evaluation.
 */
export function converterFor(type: CelType): Converter {
  switch (type.kind) {
    case "double":
      return (raw) => (typeof raw === "number" ? celDouble(raw) : fromJson(raw));
    case "timestamp":
      return (raw) => (typeof raw === "string" ? unlessFailed(parseTimestamp(withTime(raw)), raw) : fromJson(raw));
    case "duration":
      return (raw) => (typeof raw === "string" ? unlessFailed(parseDuration(raw), raw) : fromJson(raw));
    case "bytes":
      return once((raw) => (typeof raw === "string" ? Uint8Array.from(Buffer.from(raw, "base64")) : fromJson(raw)));
    case "list":
      return needsCopy(type) ? once(listConverter(converterFor(type.element), type.identity)) : fromJson;
    case "map":
      return needsCopy(type.value) ? once(mapConverter(converterFor(type.value))) : fromJson;
    case "optional":
      return optionalConverter(converterFor(type.of));
    default:
      return fromJson;
  }
}

/** A date as the time at which it begins. */
function withTime(text: string): string {
  return /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text) ? `${text}T00:00:00Z` : text;
}

/** Inside an optional value is a raw member of JSON. */
function optionalConverter(convert: Converter): Converter {
  return (raw, frame) => {
    if (kindOf(raw) !== "optional") return fromJson(raw);
    const { value } = raw as CelOptional;
    return value === undefined ? celOptional(undefined) : celOptional(convert(value, frame));
  };
}

function unlessFailed(value: CelValue | CelFailure, raw: string): CelValue {
  return isCelFailure(value) ? raw : value;
}

function needsCopy(type: CelType): boolean {
  if (type.kind === "list") return type.identity !== undefined || needsCopy(type.element);
  if (type.kind === "map") return needsCopy(type.value);
  return ["double", "timestamp", "duration", "bytes"].includes(type.kind);
}

/** Caches the converted form of large values, so that a loop does not convert them in every round. */
function once(convert: Converter): Converter {
  return (raw, frame) => {
    frame.converted ??= new Map();
    const known = frame.converted.get(raw);
    if (known?.by === convert) return known.value;
    const value = convert(raw, frame);
    frame.converted.set(raw, { by: convert, value });
    return value;
  };
}

function listConverter(convert: Converter, identity: ListIdentity | undefined): Converter {
  return (raw, frame) => {
    if (!isJsonArray(raw)) return fromJson(raw);
    occupy(frame, raw.length);
    const list = raw.map((member) => convert(member, frame));
    return identity === undefined ? list : withIdentity(list, identity);
  };
}

function mapConverter(convert: Converter): Converter {
  return (raw, frame) => {
    if (!isJsonObject(raw) || kindOf(raw) !== undefined) return fromJson(raw);
    const entries = Object.entries(raw);
    occupy(frame, entries.length);
    return Object.fromEntries(entries.map(([key, member]) => [key, convert(member, frame)]));
  };
}

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
