import { truncate } from "./truncate.ts";

/** Text that is not a duration; the message quotes it and states what is allowed. */
export class DurationError extends Error {
  readonly code: "syntax" | "range";
  /** The error in Go's wording, without the advice. */
  readonly problem: string;

  constructor(code: "syntax" | "range", problem: string) {
    super(code === "syntax" ? `${problem}: ${allowed}` : problem);
    this.name = "DurationError";
    this.code = code;
    this.problem = problem;
  }
}

/** Nanoseconds in each unit of a duration. Source: Go time.ParseDuration. */
export const nanosecondsOfUnit: ReadonlyMap<string, bigint> = new Map([
  ["ns", 1n],
  ["us", 1_000n],
  ["µs", 1_000n],
  ["μs", 1_000n],
  ["ms", 1_000_000n],
  ["s", 1_000_000_000n],
  ["m", 60_000_000_000n],
  ["h", 3_600_000_000_000n],
]);
const maxInt64 = (1n << 63n) - 1n;
const allowed = "use numbers with a unit, such as 24h, 1h30m, 90s or 500ms (units: h, m, s, ms, us, ns)";

/**
 * Milliseconds of a duration as Go writes it: a sign, then numbers with a unit; `0` alone needs none. Finer units become fractions.
 * @throws DurationError syntax, or range beyond 292 years. Source: Go time.ParseDuration.
 */
export function parseDuration(text: string): number {
  const isNegative = text.startsWith("-");
  const body = isNegative || text.startsWith("+") ? text.slice(1) : text;
  if (body === "0") return 0;
  if (body === "" || body.length > 128) throw malformed(text);
  const total = nanosecondsOf(body, text, isNegative ? maxInt64 + 1n : maxInt64);
  const milliseconds = Number(total / 1_000_000n) + Number(total % 1_000_000n) / 1e6;
  return isNegative ? 0 - milliseconds : milliseconds;
}

function nanosecondsOf(body: string, text: string, max: bigint): bigint {
  const part = /(\d*)(?:\.(\d*))?([^\d.]*)/y;
  let total = 0n;
  while (part.lastIndex < body.length) {
    const [, whole = "", fraction = "", unit = ""] = part.exec(body) ?? [];
    if (whole === "" && fraction === "") throw malformed(text);
    const nanoseconds = nanosecondsOfUnit.get(unit);
    if (nanoseconds === undefined) throw new DurationError("syntax", `${wrongUnit(unit)} in duration ${shown(text)}`);
    total += (BigInt(whole + fraction) * nanoseconds) / 10n ** BigInt(fraction.length);
    if (total > max) throw new DurationError("range", `duration ${shown(text)} is out of range`);
  }
  return total;
}

function wrongUnit(unit: string): string {
  return unit === "" ? "missing unit" : `unknown unit ${JSON.stringify(unit)}`;
}

/** The duration as Go prints it: `24h0m0s`, `1m30s`, `1.5s`, `500ms`, `0s`. `ms` in milliseconds, rounded to the nanosecond. Source: Go Duration.String. */
export function formatDuration(ms: number): string {
  const sign = ms < 0 ? "-" : "";
  const whole = Math.trunc(Math.abs(ms));
  let total = BigInt(whole) * 1_000_000n + BigInt(Math.round((Math.abs(ms) - whole) * 1e6));
  if (total === 0n) return "0s";
  if (total < 1_000n) return `${sign}${total}ns`;
  if (total < 1_000_000n) return `${sign}${decimal(total, 3)}µs`;
  if (total < 1_000_000_000n) return `${sign}${decimal(total, 6)}ms`;
  const hours = total / 3_600_000_000_000n;
  total %= 3_600_000_000_000n;
  const minutes = total / 60_000_000_000n;
  const seconds = decimal(total % 60_000_000_000n, 9);
  if (hours > 0n) return `${sign}${hours}h${minutes}m${seconds}s`;
  return minutes > 0n ? `${sign}${minutes}m${seconds}s` : `${sign}${seconds}s`;
}

/** An age for people with two or three significant figures: `5m`, `3h20m`, `2d4h`. `ms` in milliseconds. Source: apimachinery duration.HumanDuration. */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / 1_000);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 10) return joined(`${minutes}m`, seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return joined(`${hours}h`, minutes % 60, "m");
  return hours < 48 ? `${hours}h` : humanDays(hours);
}

function humanDays(hours: number): string {
  const days = Math.trunc(hours / 24);
  if (days < 8) return joined(`${days}d`, hours % 24, "h");
  if (days < 365 * 2) return `${days}d`;
  const years = Math.trunc(days / 365);
  return years < 8 ? joined(`${years}y`, days % 365, "d") : `${years}y`;
}

/** A larger unit, and the rest in the smaller one. */
function joined(large: string, rest: number, unit: string): string {
  return rest === 0 ? large : `${large}${rest}${unit}`;
}

function malformed(text: string): DurationError {
  return new DurationError("syntax", `invalid duration ${shown(text)}`);
}

function shown(text: string): string {
  return JSON.stringify(truncate(text, 64));
}

/** `value / 10^places` without trailing zeros. */
function decimal(value: bigint, places: number): string {
  const digits = value.toString().padStart(places + 1, "0");
  const fraction = digits.slice(-places).replace(/0+$/, "");
  const whole = digits.slice(0, -places);
  return fraction === "" ? whole : `${whole}.${fraction}`;
}
