import { nanosecondsOfUnit } from "../../apimachinery/duration.ts";
import { builtin, failed, mistyped, integerOperand, type Builtin, type CallPlace } from "./builtin.ts";
import { charge } from "./limits.ts";
import { normalNumber, isInteger, arrayOf, isKind, type RegoNumber, type RegoValue } from "./values.ts";

const rfc3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:[.,](\d{1,9})\d*)?([Zz]|[+-]\d{2}:\d{2})$/;
const [minInt64, maxInt64] = [-(2n ** 63n), 2n ** 63n - 1n];

function parseTime(text: string, place: CallPlace): RegoValue {
  const match = rfc3339.exec(text);
  const [, year, month, day, hour, minute, second, fraction = "", zone = "Z"] = match ?? [];
  const upper = zone.toUpperCase();
  const seconds = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}${upper}`);
  const local = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  const isDay = local.getUTCDate() === Number(day) && Number(hour) < 24 && Number(second) < 60;
  if (match === null || Number.isNaN(seconds) || !isDay)
    throw failed(`parsing time ${JSON.stringify(text)} as RFC 3339: cannot parse`, place);
  return within(BigInt(seconds) * 1_000_000n + BigInt(fraction.padEnd(9, "0")), place);
}

function within(ns: bigint, place: CallPlace): RegoNumber {
  if (ns < minInt64 || ns > maxInt64) throw failed("time outside of valid range", place);
  return normalNumber(ns);
}

/** A timestamp in nanoseconds, optionally with the name of a time zone. The date is that of the zone, as if it were UTC. */
function instantOf(value: RegoValue, place: CallPlace): { readonly date: Date; readonly ns: bigint } {
  const [given, zone] = isKind(value, "array") ? value.items : [value];
  const isTime = (typeof given === "number" || typeof given === "bigint") && isInteger(given);
  if (!isTime) throw mistyped("operand 1 must be one of {number, array} but got another type", place);
  if (zone !== undefined && typeof zone !== "string") throw mistyped("operand 1 must hold the name of a zone", place);
  const ns = BigInt(given);
  if (ns < minInt64 || ns > maxInt64) throw failed("timestamp too big", place);
  const ms = Number(ns / 1_000_000n - (ns % 1_000_000n < 0n ? 1n : 0n));
  return { date: dateIn(zone, ms, place), ns };
}

/** Names of the time zone database; not the offsets that some runtimes accept as names. */
const zoneName = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+){0,2}$/;

function dateIn(zone: string | undefined, ms: number, place: CallPlace): Date {
  if (zone === undefined || zone === "" || zone === "UTC") return new Date(ms);
  charge(place.state.meter, 2000);
  const unknown = failed(`unknown time zone ${zone.slice(0, 64)}`, place);
  if (!zoneName.test(zone)) throw unknown;
  try {
    const shape = { hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric" } as const;
    const clock = { hour: "numeric", minute: "numeric", second: "numeric" } as const;
    const format = new Intl.DateTimeFormat("en-US", { ...shape, ...clock, timeZone: zone });
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const part = (name: Intl.DateTimeFormatPartTypes): number => parts.get(name) ?? 0;
    const day = Date.UTC(part("year"), part("month") - 1, part("day"));
    return new Date(day + (part("hour") * 3600 + part("minute") * 60 + part("second")) * 1000);
  } catch (error) {
    if (error instanceof RangeError) throw unknown;
    throw error;
  }
}

const units: ReadonlyMap<string, bigint> = new Map([
  ...nanosecondsOfUnit,
  ["d", 86_400_000_000_000n],
  ["w", 604_800_000_000_000n],
  ["y", 31_536_000_000_000_000n],
]);
const piece = /^(?:(\d{1,19})(?:\.(\d{0,18}))?|\.(\d{1,18}))(ns|us|µs|μs|ms|s|m|h|d|w|y)/;

function duration(text: string, place: CallPlace): RegoValue {
  const isNegative = text.startsWith("-");
  let rest = text.replace(/^[-+]/, "");
  if (rest === "0") return 0;
  const problem = failed(`time: invalid duration ${JSON.stringify(text)}`, place);
  if (rest === "" || rest.length > 200) throw problem;
  let total = 0n;
  while (rest !== "") {
    const found = piece.exec(rest);
    if (found === null) throw problem;
    total += nanosOf(found);
    rest = rest.slice(found[0].length);
  }
  return within(isNegative ? -total : total, place);
}

function nanosOf([, whole = "0", behind = "", alone = "", name = ""]: RegExpExecArray): bigint {
  const unit = units.get(name) ?? 0n;
  const fraction = behind + alone;
  return BigInt(whole) * unit + (BigInt(`0${fraction}`) * unit) / 10n ** BigInt(fraction.length);
}

const msPerDay = 86_400_000;

function whole(value: RegoNumber, operand: number, place: CallPlace): number {
  const number = Number(integerOperand(value, operand, place));
  if (Math.abs(number) > 1e6) throw failed("time outside of valid range", place);
  return number;
}

/** A timestamp without a zone: days of a zone may have 23 hours. */
function plainInstantOf(value: RegoValue, place: CallPlace): ReturnType<typeof instantOf> {
  const zone = isKind(value, "array") ? value.items[1] : "";
  if (zone !== undefined && zone !== "" && zone !== "UTC")
    throw failed("no time zone but UTC is there for this", place);
  return instantOf(value, place);
}

type AddedDate = readonly [RegoValue, RegoNumber, RegoNumber, RegoNumber];

/** The date with years, months and days added; excess days of a month carry over into the next. */
function addDate([value, ...amounts]: AddedDate, place: CallPlace): RegoValue {
  const { date, ns } = plainInstantOf(value, place);
  const [years = 0, months = 0, days = 0] = amounts.map((amount, at) => whole(amount, at + 2, place));
  const day = date.getUTCDate() + days;
  const moved = Date.UTC(date.getUTCFullYear() + years, date.getUTCMonth() + months, day);
  const before = Math.floor(date.getTime() / msPerDay) * msPerDay;
  if (Number.isNaN(moved)) throw failed("time outside of valid range", place);
  return within(ns + BigInt(moved - before) * 1_000_000n, place);
}

/** Years, months, days, hours, minutes and seconds between two timestamps. */
function difference([first, second]: readonly [RegoValue, RegoValue], place: CallPlace): RegoValue {
  const [a, b] = [plainInstantOf(first, place), plainInstantOf(second, place)];
  const [from, to] = a.ns > b.ns ? [b.date, a.date] : [a.date, b.date];
  let seconds = to.getUTCSeconds() - from.getUTCSeconds();
  let minutes = to.getUTCMinutes() - from.getUTCMinutes();
  let hours = to.getUTCHours() - from.getUTCHours();
  let days = to.getUTCDate() - from.getUTCDate();
  let months = to.getUTCMonth() - from.getUTCMonth();
  let years = to.getUTCFullYear() - from.getUTCFullYear();
  if (seconds < 0) [seconds, minutes] = [seconds + 60, minutes - 1];
  if (minutes < 0) [minutes, hours] = [minutes + 60, hours - 1];
  if (hours < 0) [hours, days] = [hours + 24, days - 1];
  if (days < 0) {
    const inMonth = new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1, 0)).getUTCDate();
    [days, months] = [days + inMonth, months - 1];
  }
  if (months < 0) [months, years] = [months + 12, years - 1];
  return arrayOf([years, months, days, hours, minutes, seconds]);
}

const weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/** Time, in nanoseconds since 1970, in UTC. */
export const timeBuiltins: readonly Builtin[] = [
  builtin("time.now_ns", [], (_none, { state }) => normalNumber(state.nowNs)),
  builtin("time.parse_rfc3339_ns", ["string"], ([text], place) => parseTime(text, place)),
  builtin("time.parse_duration_ns", ["string"], ([text], place) => duration(text, place)),
  builtin("time.add_date", ["any", "number", "number", "number"], addDate),
  builtin("time.diff", ["any", "any"], difference),
  builtin("time.date", ["any"], ([value], place) => {
    const { date } = instantOf(value, place);
    return arrayOf([date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()]);
  }),
  builtin("time.clock", ["any"], ([value], place) => {
    const { date } = instantOf(value, place);
    return arrayOf([date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()]);
  }),
  builtin("time.weekday", ["any"], ([value], place) => weekdays[instantOf(value, place).date.getUTCDay()]),
];
