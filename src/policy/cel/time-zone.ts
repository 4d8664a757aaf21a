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
