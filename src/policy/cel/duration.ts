import { nanosecondsOfUnit } from "../../apimachinery/duration.ts";
import { celDuration, celFailure, maxInt64, minInt64, type CelDuration, type CelFailure } from "./values.ts";

const part = /(\d+)?(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/y;

/** A span of time from nanoseconds, or a failure when they do not fit 64 bits. */
export function durationOf(nanos: bigint): CelDuration | CelFailure {
  return nanos < minInt64 || nanos > maxInt64 ? celFailure("duration out of range") : celDuration(nanos);
}

/** A span of time from its text, such as `1h30m` or `-0.5s`, as Go writes it. */
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
    if (found === null || (found[1] === undefined && (found[2] ?? "") === "")) return invalid;
    total += nanosOf(found);
    at += found[0].length;
  }
  return durationOf(negative ? -total : total);
}

/** The text of a span of time in seconds, such as `90s` or `0.5s`. */
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
