import { celFunction, type CelFunction } from "./environment.ts";
import { splitSeconds } from "./timestamp.ts";
import { celFailure, celInt, type CelDuration, type CelFailure, type CelTimestamp } from "./values.ts";

/** Looking up a zone takes a third of a millisecond, where most steps take a tenth of a microsecond. */
const zoneCost = 3000;

function dayOfYear(date: Date): number {
  const start = new Date(date);
  start.setUTCMonth(0, 1);
  start.setUTCHours(0, 0, 0, 0);
  return Math.floor((date.getTime() - start.getTime()) / 86_400_000);
}

/** What is read off a wall clock. Months and days count from 0, except for `getDate`. */
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

/** What is read off points in time, in UTC or in a zone, and spans of time in whole units. */
export const timeFunctions: readonly CelFunction[] = [
  ...Object.entries(fields).flatMap(([name, field]) => ofTimestamp(name, field)),
  ...ofTimestamp("getMilliseconds", milliseconds),
  // All of them, as cel-go has it and so Kubernetes, where the specification wants those beyond the last second.
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
    // Intl refuses names that it does not know.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
  const found = shownOffset.exec(shown ?? "");
  if (found === null) return undefined;
  const [, sign, hours = 0, minutes = 0, seconds = 0] = found;
  const offset = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  return new Date(date.getTime() + (sign === "-" ? -1000 : 1000) * offset);
}
