import { nanosecondsOfUnit } from "../../apimachinery/duration.ts";
import { celFunction, type CelFunction } from "./environment.ts";
import {
  celFailure,
  celInt,
  celDuration,
  maxInt64,
  minInt64,
  celTimestamp,
  type CelDuration,
  type CelFailure,
  type CelTimestamp,
} from "./values.ts";

/** Looking up a zone takes a third of a millisecond, where most steps take a tenth of a microsecond. */
const zoneCost = 3000;

function dayOfYear(date: Date): number {
  const start = new Date(date);
  start.setUTCMonth(0, 1);
  start.setUTCHours(0, 0, 0, 0);
  return Math.floor((date.getTime() - start.getTime()) / 86_400_000);
}

/** The fields of a wall clock. Months and days count from 0, except for `getDate`. */
const fields: Readonly<Record<string, (date: Date) => number>> = {
  getFullYear: (date) => date.getUTCFullYear(),
  getMonth: (date) => date.getUTCMonth(),
  getDate: (date) => date.getUTCDate(),
  getDayOfMonth: (date) => date.getUTCDate() - 1,
  getDayOfWeek: (date) => date.getUTCDay(),
  getDayOfYear: dayOfYear,
  getHours: (date) => date.getUTCHours(),
  getMinutes: (date) => date.getUTCMinutes(),
  getSeconds: (date) => date.getUTCSeconds(),
};

function read(timestamp: CelTimestamp, zone: string, field: (date: Date) => number): number | CelFailure {
  const date = wallClock(timestamp, zone);
  return date === undefined ? celFailure(`unknown time zone ${zone.slice(0, 64)}`) : field(date);
}

function ofTimestamp(name: string, field: (date: Date, timestamp: CelTimestamp) => number): readonly CelFunction[] {
  const apply = (timestamp: CelTimestamp, zone: string): number | CelFailure =>
    read(timestamp, zone, (date) => field(date, timestamp));
  return [
    celFunction(`<timestamp>.${name}(): int`, (timestamp: CelTimestamp) => apply(timestamp, "UTC")),
    celFunction(`<timestamp>.${name}(string): int`, apply, () => zoneCost),
  ];
}

const milliseconds = (_: Date, { nanos }: CelTimestamp): number => Number(splitSeconds(nanos).nanos / 1_000_000n);

function inUnits(name: string, unit: bigint): CelFunction {
  return celFunction(`<duration>.${name}(): int`, ({ nanos }: CelDuration) => celInt(nanos / unit));
}

/** The getters of timestamps, in UTC or in a zone, and of durations in whole units. */
export const timeFunctions: readonly CelFunction[] = [
  ...Object.entries(fields).flatMap(([name, field]) => ofTimestamp(name, field)),
  ...ofTimestamp("getMilliseconds", milliseconds),
  // The whole duration, as in cel-go and Kubernetes; the specification wants only the part below the last second.
  inUnits("getMilliseconds", 1_000_000n),
  inUnits("getHours", 3_600_000_000_000n),
  inUnits("getMinutes", 60_000_000_000n),
  inUnits("getSeconds", 1_000_000_000n),
];

const fixedOffset = /^([+-]?)(\d{1,2}):(\d{2})$/;
const zoneName = /^[A-Za-z][A-Za-z0-9_+\-/]{0,63}$/;

/**
 * The wall clock of a zone at a point in time, as a Date whose UTC fields show it; undefined for an unknown zone. Zones are named
 * as in the IANA database, or by an offset such as `-02:30`.
 */
function wallClock(timestamp: CelTimestamp, zone: string): Date | undefined {
  const seconds = Number(splitSeconds(timestamp.nanos).seconds);
  const offset = fixedOffset.exec(zone);
  if (offset !== null) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3]);
    return new Date((seconds + (offset[1] === "-" ? -60 : 60) * minutes) * 1000);
  }
  if (zone === "" || zone === "UTC") return new Date(seconds * 1000);
  return zoneName.test(zone) ? namedWallClock(new Date(seconds * 1000), zone) : undefined;
}

const shownOffset = /^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/;

function namedWallClock(date: Date, zone: string): Date | undefined {
  let shown: string | undefined;
  try {
    const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
    shown = format.formatToParts(date).find((part) => part.type === "timeZoneName")?.value;
  } catch (error) {
    // Intl rejects unknown names.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
  const found = shownOffset.exec(shown ?? "");
  if (found === null) return undefined;
  const [, sign, hours = 0, minutes = 0, seconds = 0] = found;
  const offset = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  return new Date(date.getTime() + (sign === "-" ? -1000 : 1000) * offset);
}

const part = /(?=\.?\d)(\d+)?(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/y;

/** A duration from nanoseconds, or a failure when they do not fit 64 bits. */
export function durationOf(nanos: bigint): CelDuration | CelFailure {
  return nanos < minInt64 || nanos > maxInt64 ? celFailure("duration out of range") : celDuration(nanos);
}

/** A duration from its text, such as `1h30m` or `-0.5s`, as Go writes it. */
export function parseDuration(text: string): CelDuration | CelFailure {
  const invalid = celFailure(`time: invalid duration ${JSON.stringify(text.slice(0, 64))}`);
  if (text.length > 128) return invalid;
  const negative = text.startsWith("-");
  let at = negative || text.startsWith("+") ? 1 : 0;
  if (text.slice(at) === "0") return celDuration(0n);
  if (at === text.length) return invalid;
  let total = 0n;
  while (at < text.length) {
    part.lastIndex = at;
    const found = part.exec(text);
    if (found === null) return invalid;
    total += nanosOf(found);
    at += found[0].length;
  }
  return durationOf(negative ? -total : total);
}

/** The text of a duration in seconds, such as `90s` or `0.5s`. */
export function formatDuration(duration: CelDuration): string {
  const negative = duration.nanos < 0n;
  const magnitude = negative ? -duration.nanos : duration.nanos;
  const fraction = String(magnitude % 1_000_000_000n)
    .padStart(9, "0")
    .replace(/0+$/, "");
  return `${negative ? "-" : ""}${magnitude / 1_000_000_000n}${fraction === "" ? "" : `.${fraction}`}s`;
}

function nanosOf(found: RegExpExecArray): bigint {
  const [, whole = "0", fraction = "", unit = ""] = found;
  const nanos = nanosecondsOfUnit.get(unit) ?? 0n;
  return BigInt(whole) * nanos + (BigInt(`0${fraction}`) * nanos) / 10n ** BigInt(fraction.length);
}

const billion = 1_000_000_000n;
/** The first nanosecond of the year 1 and the last of the year 9999. */
const earliest = -62_135_596_800n * billion;
const latest = 253_402_300_800n * billion - 1n;

const form = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9})\d*)?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/** A timestamp from nanoseconds since 1970, or a failure when it is out of range. */
export function timestampOf(nanos: bigint): CelTimestamp | CelFailure {
  return nanos < earliest || nanos > latest ? celFailure("timestamp out of range") : celTimestamp(nanos);
}

/** A timestamp from its RFC 3339 text. */
export function parseTimestamp(text: string): CelTimestamp | CelFailure {
  const found = text.length > 64 ? null : form.exec(text);
  if (found === null) return celFailure(`invalid timestamp: cannot parse ${JSON.stringify(text.slice(0, 64))}`);
  const milliseconds = utcMilliseconds(`${text.slice(0, 10)}T${text.slice(11, 19)}`);
  const [, sign, hours = "0", minutes = "0"] = found.slice(7);
  if (milliseconds === undefined || Number(hours) > 23 || Number(minutes) > 59)
    return celFailure(`invalid timestamp: ${JSON.stringify(text)} is out of range`);
  const offset = (sign === "-" ? -60_000 : 60_000) * (Number(hours) * 60 + Number(minutes));
  const fraction = BigInt((found[7] ?? "").padEnd(9, "0"));
  return timestampOf(BigInt(milliseconds - offset) * 1_000_000n + fraction);
}

/** The milliseconds of `2006-01-02T15:04:05` in UTC, or undefined for a date or time that does not exist. */
function utcMilliseconds(text: string): number | undefined {
  const date = new Date(`${text}Z`);
  const exists = !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
  return exists ? date.getTime() : undefined;
}

/** The RFC 3339 text of a timestamp, in UTC, with as many digits of the fraction as it needs. */
export function formatTimestamp(timestamp: CelTimestamp): string {
  const { seconds, nanos } = splitSeconds(timestamp.nanos);
  const date = new Date(Number(seconds) * 1000).toISOString().replace(/\.\d{3}Z$/, "");
  const fraction = nanos === 0n ? "" : `.${String(nanos).padStart(9, "0").replace(/0+$/, "")}`;
  return `${date}${fraction}Z`;
}

/** Whole seconds, rounded down, and the nanoseconds above them. */
export function splitSeconds(total: bigint): { readonly seconds: bigint; readonly nanos: bigint } {
  const nanos = ((total % billion) + billion) % billion;
  return { seconds: (total - nanos) / billion, nanos };
}
