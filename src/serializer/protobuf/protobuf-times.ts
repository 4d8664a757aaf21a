import { ProtobufError } from "./protobuf-error.ts";

/** Seconds of 0001-01-01T00:00:00Z, Go's zero time, and of the last second that RFC 3339 can write. */
const zeroTime = -62_135_596_800;
const lastTime = 253_402_300_799;

/** RFC 3339 of protobuf seconds and nanoseconds; `undefined` for Go's zero time. Micro times have six decimals. @throws ProtobufError `value` outside the years 1 to 9999. */
export function formatTime(seconds: number, nanos: number, micro: boolean): string | undefined {
  if (seconds === zeroTime && (nanos === 0 || !micro)) return undefined;
  if (seconds < zeroTime || seconds > lastTime || nanos < 0 || nanos > 999_999_999) {
    throw new ProtobufError("value", "a time is out of range");
  }
  const whole = new Date(seconds * 1000).toISOString().slice(0, 19);
  return micro ? `${whole}.${String(Math.floor(nanos / 1000)).padStart(6, "0")}Z` : `${whole}Z`;
}

const rfc3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

/** Seconds and microseconds of an RFC 3339 time; `undefined` for Go's zero time. @throws ProtobufError `value` for anything else. */
export function parseTime(text: string): { readonly seconds: number; readonly micros: number } | undefined {
  const match = rfc3339.exec(text);
  const ms = match === null ? Number.NaN : Date.parse(`${match[1]}${match[3]}`);
  const seconds = ms / 1000;
  if (!(seconds >= zeroTime && seconds <= lastTime)) throw new ProtobufError("value", "a time is not RFC 3339");
  const micros = Number((match?.[2] ?? "").padEnd(6, "0").slice(0, 6));
  return seconds === zeroTime && micros === 0 ? undefined : { seconds, micros };
}

const unitNanos: Readonly<Record<string, bigint>> = {
  h: 3_600_000_000_000n,
  m: 60_000_000_000n,
  s: 1_000_000_000n,
  ms: 1_000_000n,
  us: 1_000n,
  µs: 1_000n,
  ns: 1n,
};

/** Nanoseconds of a Go duration such as `1h2m3.5s`. @throws ProtobufError `value`. */
export function parseDuration(text: string): bigint {
  const body = /^([+-]?)((?:\d{1,18}(?:\.\d{1,9})?(?:h|ms|us|µs|ns|m|s)){1,8}|0)$/.exec(text);
  if (body === null) throw new ProtobufError("value", "a duration is not one");
  let nanos = 0n;
  for (const [, whole = "", fraction = "", unit = ""] of (body[2] ?? "").matchAll(
    /(\d+)(?:\.(\d+))?(h|ms|us|µs|ns|m|s)/g,
  )) {
    const scale = unitNanos[unit] ?? 0n;
    nanos += BigInt(whole) * scale + (BigInt(fraction.padEnd(9, "0")) * scale) / 1_000_000_000n;
  }
  if (nanos >= 2n ** 63n) throw new ProtobufError("value", "a duration is out of range");
  return body[1] === "-" ? -nanos : nanos;
}

/** The form Go prints: `1h2m3.5s`, or one unit below a second. */
export function formatDuration(nanos: bigint): string {
  const sign = nanos < 0n ? "-" : "";
  const size = nanos < 0n ? -nanos : nanos;
  if (size === 0n) return "0s";
  const small = (["ns", "µs", "ms"] as const).findLast((unit) => size >= (unitNanos[unit] ?? 0n));
  if (size < 1_000_000_000n && small !== undefined) return `${sign}${decimal(size, unitNanos[small] ?? 1n)}${small}`;
  const hours = size / 3_600_000_000_000n;
  const minutes = (size / 60_000_000_000n) % 60n;
  const rest = `${decimal(size % 60_000_000_000n, 1_000_000_000n)}s`;
  return `${sign}${hours > 0n ? `${hours}h` : ""}${hours > 0n || minutes > 0n ? `${minutes}m` : ""}${rest}`;
}

function decimal(amount: bigint, scale: bigint): string {
  const digits = String(scale).length - 1;
  const fraction = String(amount % scale)
    .padStart(digits, "0")
    .replace(/0+$/, "");
  return fraction === "" || digits === 0 ? String(amount / scale) : `${amount / scale}.${fraction}`;
}
