const pattern = /^(\d{4})-(\d{2})-(\d{2})T(\d{1,2}):(\d{2}):(\d{2})(?:[.,](\d+))?(?:Z|([+-])(\d{2}):(\d{2}))$/;

/**
 * The moment that `text` names, in milliseconds since the epoch, or undefined when Go's `time.Parse(time.RFC3339, text)`
 * would refuse it: `T` and `Z` in upper case, no blanks, real days only, no leap second, an hour of one or two digits.
 * Fractions are cut to milliseconds. @see RFC 3339; Go package time
 */
export function parseRfc3339(text: string): number | undefined {
  if (text.length > 64) {
    return undefined;
  }
  const match = pattern.exec(text);
  if (match === null) {
    return undefined;
  }
  const part = (index: number): number => Number(match[index] ?? "0");
  const [year, month, day] = [part(1), part(2), part(3)];
  const [hour, minute, second] = [part(4), part(5), part(6)];
  const [zoneHour, zoneMinute] = [part(9), part(10)];
  const outside = hour > 23 || minute > 59 || second > 59 || zoneHour > 24 || zoneMinute > 60;
  if (outside || month < 1 || month > 12 || day < 1) {
    return undefined;
  }
  // Date.UTC would read the years 0 to 99 as 1900 to 1999.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1) {
    return undefined;
  }
  const millis = Number((match[7] ?? "").slice(0, 3).padEnd(3, "0"));
  date.setUTCHours(hour, minute, second, millis);
  const zone = (zoneHour * 60 + zoneMinute) * 60_000;
  return date.getTime() - (match[8] === "-" ? -zone : zone);
}
