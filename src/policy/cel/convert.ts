import { isJsonArray, isJsonObject } from "../../apimachinery/json-value.ts";
import { occupy, type Frame } from "./frame.ts";
import { withIdentity, type ListIdentity } from "./list-identity.ts";
import type { CelType } from "./types.ts";
import { parseDuration } from "./duration.ts";
import { parseTimestamp } from "./timestamp.ts";
import {
  celDouble,
  celOptional,
  fromJson,
  isCelFailure,
  kindOf,
  type CelFailure,
  type CelOptional,
  type CelValue,
} from "./values.ts";

/** Turns a raw member of JSON into a value. */
export type Converter = (raw: unknown, frame: Frame) => CelValue;

/**
 * How members of JSON become values where a type is declared: numbers are floating point where it says so, text is a point or span
 * of time, or octets in base64. What does not fit comes through as what it is, and the functions it meets refuse it. Lists and
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

/** What an optional value holds is a raw member of JSON, as any other. */
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

/** Remembers what became of large values, so that what is read in a loop is not converted in every round. */
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
