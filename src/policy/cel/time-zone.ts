import { splitSeconds } from "./timestamp.ts";
import type { CelTimestamp } from "./values.ts";

const fixedOffset = /^([+-]?)(\d{1,2}):(\d{2})$/;
const zoneName = /^[A-Za-z][A-Za-z0-9_+\-/]{0,63}$/;

/**
 * The wall clock of a zone at a point in time, as a Date whose UTC fields show it; undefined for an unknown zone. Zones are named
 * as in the IANA database, or by an offset such as `-02:30`.
 */
export function wallClock(timestamp: CelTimestamp, zone: string): Date | undefined {
  const seconds = Number(splitSeconds(timestamp.nanos).seconds);
  const offset = fixedOffset.exec(zone);
  if (offset !== null) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3]);
    return new Date((seconds + (offset[1] === "-" ? -60 : 60) * minutes) * 1000);
  }
  if (zone === "" || zone === "UTC") return new Date(seconds * 1000);
  return zoneName.test(zone) ? namedWallClock(new Date(seconds * 1000), zone) : undefined;
}

function namedWallClock(date: Date, zone: string): Date | undefined {
  let parts: readonly Intl.DateTimeFormatPart[];
  try {
    parts = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      calendar: "iso8601",
      hourCycle: "h23",
      era: "short",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    }).formatToParts(date);
  } catch (error) {
    // Intl refuses names that it does not know.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
  const field = (type: Intl.DateTimeFormatPartTypes): number =>
    Number(parts.find((part) => part.type === type)?.value ?? 0);
  const wall = new Date(0);
  wall.setUTCFullYear(field("year"), field("month") - 1, field("day"));
  wall.setUTCHours(field("hour"), field("minute"), field("second"));
  return wall;
}
