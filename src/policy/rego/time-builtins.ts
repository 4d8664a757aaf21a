import { builtin, failed, type Builtin, type CallPlace } from "./builtin.ts";
import { normalNumber, toBigInt, isInteger } from "./numbers.ts";
import { arrayOf, type RegoNumber, type RegoValue } from "./values.ts";

const rfc3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:[.,](\d{1,9})\d*)?([Zz]|[+-]\d{2}:\d{2})$/;
const [smallest, largest] = [-(2n ** 63n), 2n ** 63n - 1n];

function parsed(text: string, place: CallPlace): RegoValue {
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
  if (ns < smallest || ns > largest) throw failed("time outside of valid range", place);
  return normalNumber(ns);
}

/** A point of time: nanoseconds, which may come with the name of a time zone; there is none but UTC. */
function instantOf(value: RegoValue, place: CallPlace): { readonly date: Date; readonly ns: bigint } {
  const isPair = typeof value === "object" && value !== null && value.kind === "array";
  const [given, zone] = isPair ? value.items : [value];
  const isTime = (typeof given === "number" || typeof given === "bigint") && isInteger(given);
  if (!isTime) throw failed("operand 1 must be a number of nanoseconds", place);
  if (zone !== undefined && zone !== "" && zone !== "UTC")
    throw failed(`unknown time zone ${JSON.stringify(zone)}`, place);
  const ns = toBigInt(within(toBigInt(given), place));
  const ms = ns / 1_000_000n - (ns % 1_000_000n < 0n ? 1n : 0n);
  return { date: new Date(Number(ms)), ns };
}

const units: readonly (readonly [string, bigint])[] = [
  ["ns", 1n],
  ["us", 1_000n],
  ["µs", 1_000n],
  ["ms", 1_000_000n],
  ["s", 1_000_000_000n],
  ["m", 60_000_000_000n],
  ["h", 3_600_000_000_000n],
];
const piece = /^(\d{1,19})(?:\.(\d{1,18}))?(ns|us|µs|ms|s|m|h)/;

function duration(text: string, place: CallPlace): RegoValue {
  const isNegative = text.startsWith("-");
  let rest = text.replace(/^[-+]/, "");
  if (rest === "0") return 0;
  const problem = failed(`time: invalid duration ${JSON.stringify(text)}`, place);
  if (rest === "" || rest.length > 200) throw problem;
  let total = 0n;
  while (rest !== "") {
    const found = piece.exec(rest);
    const [all = "", whole = "0", fraction = "", name = ""] = found ?? [];
    const unit = units.find(([each]) => each === name)?.[1];
    if (unit === undefined) throw problem;
    total += BigInt(whole) * unit + (fraction === "" ? 0n : (BigInt(fraction) * unit) / 10n ** BigInt(fraction.length));
    rest = rest.slice(all.length);
  }
  return within(isNegative ? -total : total, place);
}

const weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/** Time, in nanoseconds since 1970, in UTC. */
export const timeBuiltins: readonly Builtin[] = [
  builtin("time.now_ns", [], (_none, { state }) => normalNumber(state.nowNs)),
  builtin("time.parse_rfc3339_ns", ["string"], ([text], place) => parsed(text, place)),
  builtin("time.parse_duration_ns", ["string"], ([text], place) => duration(text, place)),
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
