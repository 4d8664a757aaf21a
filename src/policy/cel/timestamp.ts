import { celFailure, celTimestamp, type CelFailure, type CelTimestamp } from "./values.ts";

const billion = 1_000_000_000n;
/** The first nanosecond of the year 1 and the last of the year 9999. */
const earliest = -62_135_596_800n * billion;
const latest = 253_402_300_800n * billion - 1n;

const form = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9})\d*)?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/** A point in time from nanoseconds since 1970, or a failure when it is out of range. */
export function timestampOf(nanos: bigint): CelTimestamp | CelFailure {
  return nanos < earliest || nanos > latest ? celFailure("timestamp out of range") : celTimestamp(nanos);
}

/** A point in time from its RFC 3339 text. */
export function parseTimestamp(text: string): CelTimestamp | CelFailure {
  const found = text.length > 64 ? null : form.exec(text);
  if (found === null) return celFailure(`invalid timestamp: cannot parse ${JSON.stringify(text.slice(0, 64))}`);
  const [year, month, day, hour, minute, second] = found.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const milliseconds = utcMilliseconds({ year, month, day, hour, minute, second });
  const offset = (found[8] === "-" ? -1 : 1) * (Number(found[9] ?? 0) * 60 + Number(found[10] ?? 0));
  const offsetValid = Number(found[9] ?? 0) < 24 && Number(found[10] ?? 0) < 60;
  if (milliseconds === undefined || !offsetValid)
    return celFailure(`invalid timestamp: ${JSON.stringify(text)} is out of range`);
  const fraction = BigInt((found[7] ?? "").padEnd(9, "0"));
  return timestampOf((BigInt(milliseconds) - BigInt(offset * 60_000)) * 1_000_000n + fraction);
}

interface Civil {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

function utcMilliseconds(civil: Civil): number | undefined {
  const date = new Date(0);
  date.setUTCFullYear(civil.year, civil.month - 1, civil.day);
  const valid = date.getUTCMonth() === civil.month - 1 && date.getUTCDate() === civil.day;
  if (!valid || civil.hour > 23 || civil.minute > 59 || civil.second > 59) return undefined;
  return date.setUTCHours(civil.hour, civil.minute, civil.second);
}

/** The RFC 3339 text of a point in time, in UTC, with as many digits of the fraction as it needs. */
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
