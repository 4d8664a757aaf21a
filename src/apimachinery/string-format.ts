import { DurationError, formatDuration, parseDuration } from "./duration.ts";

/** A value in its canonical form, or why it is invalid. */
export type Parsed = { readonly value: string } | { readonly problem: string };

/** Base64 as Go reads it, line breaks ignored, in canonical form. Source: RFC 4648 section 4, Go encoding/base64. */
export function parseBase64(text: string): Parsed {
  const plain = /[\r\n]/.test(text) ? text.replaceAll(/[\r\n]/g, "") : text;
  const padding = plain.endsWith("==") ? 2 : Number(plain.endsWith("="));
  const end = plain.length - padding;
  const wrong = plain.slice(0, end).search(/[^A-Za-z0-9+/]/);
  if (wrong >= 0) return { problem: `illegal base64 data at input byte ${wrong}` };
  if (plain.length % 4 !== 0)
    return { problem: `illegal base64 data at input byte ${plain.length - (plain.length % 4)}` };
  if (padding === 0) return { value: plain };
  // Go ignores the bits before the padding, and writes them as zero.
  const unused = padding === 2 ? 0b1111 : 0b11;
  const last = base64Alphabet.indexOf(plain.charAt(end - 1));
  if ((last & unused) === 0) return { value: plain };
  return { value: plain.slice(0, end - 1) + base64Alphabet.charAt(last & ~unused) + plain.slice(end) };
}

/** A time of RFC 3339 in UTC, to the second. Source: apimachinery meta/v1 Time. */
export function parseTime(text: string): Parsed {
  return parseRfc3339(text, 0);
}

/** A time of RFC 3339 in UTC, to the microsecond; unlike Go this accepts any number of decimals. Source: apimachinery meta/v1 MicroTime. */
export function parseMicroTime(text: string): Parsed {
  return parseRfc3339(text, 6);
}

/** A quantity such as `500m`, `1.5Gi` or `1e3`, as it is written. Source: apimachinery resource.ParseQuantity. */
export function parseQuantity(text: string): Parsed {
  if (text.length <= 64 && /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$/.test(text)) {
    return { value: text };
  }
  return {
    problem: "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  };
}

/** A Go duration in the form in which Go prints it. */
export function parseDurationText(text: string): Parsed {
  try {
    return { value: formatDuration(parseDuration(text)) };
  } catch (error) {
    if (error instanceof DurationError) return { problem: error.message };
    throw error;
  }
}

const base64Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const rfc3339 =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,30}))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))$/;

function parseRfc3339(text: string, decimals: number): Parsed {
  const match = text.length <= 64 ? rfc3339.exec(text) : null;
  const value = match === null ? undefined : inUtc(match, decimals);
  if (value !== undefined) return { value };
  const layout = decimals === 0 ? "2006-01-02T15:04:05Z07:00" : "2006-01-02T15:04:05.000000Z07:00";
  return { problem: `parsing time ${JSON.stringify(text.slice(0, 64))} as "${layout}": not a time of RFC 3339` };
}

/** The maximum of month, hour, minute and second, and of hour and minute of the zone, by their groups. */
const maxByGroup = [
  [2, 12],
  [4, 23],
  [5, 59],
  [6, 59],
  [9, 23],
  [10, 59],
] as const;

function inUtc(match: RegExpExecArray, decimals: number): string | undefined {
  const at = (group: number): number => Number(match[group] ?? 0);
  if (maxByGroup.some(([group, max]) => at(group) > max)) return undefined;
  if (at(2) < 1 || at(3) < 1 || at(3) > daysIn(at(1), at(2))) return undefined;
  const fraction = decimals === 0 ? "" : `.${(match[7] ?? "").slice(0, decimals).padEnd(decimals, "0")}`;
  const clock = match[0].slice(0, 19);
  if (match[8] === undefined) return `${clock}${fraction}Z`;
  const offset = (at(9) * 60 + at(10)) * (match[8] === "+" ? -60_000 : 60_000);
  const universal = new Date(Date.parse(`${clock}Z`) + offset).toISOString();
  // Outside the years 0 to 9999 the text has a sign.
  return universal.length === 24 ? `${universal.slice(0, 19)}${fraction}Z` : undefined;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
