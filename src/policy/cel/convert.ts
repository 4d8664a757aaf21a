import { isJsonArray, isJsonObject } from "../../core/json-value.ts";
import { occupy, type Frame } from "./frame.ts";
import type { CelType } from "./types.ts";
import { parseDuration } from "./duration.ts";
import { parseTimestamp } from "./timestamp.ts";
import { celDouble, fromJson, isCelFailure, kindOf, type CelFailure, type CelValue } from "./values.ts";

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
      return (raw) => (typeof raw === "string" ? unlessFailed(parseTimestamp(raw), raw) : fromJson(raw));
    case "duration":
      return (raw) => (typeof raw === "string" ? unlessFailed(parseDuration(raw), raw) : fromJson(raw));
    case "bytes":
      return once((raw) => (typeof raw === "string" ? Uint8Array.from(Buffer.from(raw, "base64")) : fromJson(raw)));
    case "list":
      return needsCopy(type.element) ? once(listConverter(converterFor(type.element))) : fromJson;
    case "map":
      return needsCopy(type.value) ? once(mapConverter(converterFor(type.value))) : fromJson;
    default:
      return fromJson;
  }
}

function unlessFailed(value: CelValue | CelFailure, raw: string): CelValue {
  return isCelFailure(value) ? raw : value;
}

function needsCopy(type: CelType): boolean {
  if (type.kind === "list") return needsCopy(type.element);
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

function listConverter(convert: Converter): Converter {
  return (raw, frame) => {
    if (!isJsonArray(raw)) return fromJson(raw);
    occupy(frame, raw.length);
    return raw.map((member) => convert(member, frame));
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
