import { isJsonArray } from "../../apimachinery/json-value.ts";
import { isMap, mapGet, mapKeys } from "./equality.ts";
import { occupy, type CelMeter } from "./frame.ts";
import { formatDuration, formatTimestamp } from "./time.ts";
import {
  typeNameOf,
  celFailure,
  fromJson,
  kindOf,
  type CelDouble,
  type CelDuration,
  type CelFailure,
  type CelTimestamp,
  type CelTypeValue,
  type CelUint,
  type CelValue,
} from "./values.ts";

/** Maximum depth of values that are formatted, and maximum number of digits after the point. */
const maxDepth = 100;
const maxPrecision = 100;
const defaultPrecision = 6;

const clausePattern = /%(?:(%)|(?:\.(\d{1,4}))?(.?))/gsu;

/** `format`: replaces each clause of a template by the next argument. */
export function formatText(template: string, args: readonly unknown[], meter: CelMeter): string | CelFailure {
  let text = "";
  let at = 0;
  let used = 0;
  for (const found of template.matchAll(clausePattern)) {
    text += template.slice(at, found.index);
    at = found.index + found[0].length;
    if (found[1] !== undefined) {
      text += "%";
      continue;
    }
    const problem = clauseProblem(found[3] ?? "", found[2]);
    if (problem !== undefined) return celFailure(problem);
    if (used >= args.length) return celFailure(`index ${used} out of range`);
    const written = clause(
      { letter: found[3] ?? "", precision: Number(found[2] ?? defaultPrecision), meter },
      fromJson(args[used++]),
    );
    if (typeof written !== "string") return celFailure(`error during formatting: ${written.error}`);
    occupy(meter, written.length);
    text += written;
  }
  occupy(meter, text.length);
  return text + template.slice(at);
}

function clauseProblem(letter: string, precision: string | undefined): string | undefined {
  if (letter === "") return "could not parse formatting clause: unexpected end of string";
  if (!"sdfebxXo".includes(letter))
    return `could not parse formatting clause: unrecognized formatting clause "${letter}"`;
  return Number(precision ?? 0) > maxPrecision ? `precision ${precision} is too large` : undefined;
}

interface Clause {
  readonly letter: string;
  readonly precision: number;
  readonly meter: CelMeter;
}

function clause(form: Clause, value: CelValue): string | CelFailure {
  switch (form.letter) {
    case "s":
      return asText(value, form.meter, maxDepth);
    case "d":
      return asDecimal(value);
    case "f":
      return asDouble(value, "fixed-point", (number) => fixed(number, form.precision));
    case "e":
      return asDouble(value, "scientific", (number) => scientific(number, form.precision));
    case "b":
      return asBinary(value);
    case "o":
      return integerDigits(value, 8) ?? wrong("octal clause can only be used on integers", value);
    default:
      return asHexadecimal(value, form.letter === "X");
  }
}

function wrong(rule: string, value: CelValue): CelFailure {
  return celFailure(`${rule}, was given ${typeNameOf(value)}`);
}

function integerDigits(value: CelValue, base: number): string | undefined {
  if (typeof value === "number" || typeof value === "bigint") return value.toString(base);
  return kindOf(value) === "uint" ? (value as CelUint).value.toString(base) : undefined;
}

function asDecimal(value: CelValue): string | CelFailure {
  const digits = integerDigits(value, 10);
  if (digits !== undefined) return digits;
  if (kindOf(value) === "double" && !Number.isFinite((value as CelDouble).value))
    return special((value as CelDouble).value);
  return wrong("decimal clause can only be used on integers", value);
}

function asBinary(value: CelValue): string | CelFailure {
  if (typeof value === "boolean") return value ? "1" : "0";
  return integerDigits(value, 2) ?? wrong("only integers and bools can be formatted as binary", value);
}

function asHexadecimal(value: CelValue, upper: boolean): string | CelFailure {
  const octets = typeof value === "string" || value instanceof Uint8Array;
  const digits = octets ? Buffer.from(value as string).toString("hex") : integerDigits(value, 16);
  if (digits === undefined) return wrong("only integers, byte buffers, and strings can be formatted as hex", value);
  return upper ? digits.toUpperCase() : digits;
}

function asDouble(value: CelValue, name: string, write: (number: number) => string): string | CelFailure {
  const integer = integerDigits(value, 10);
  if (kindOf(value) !== "double" && integer === undefined)
    return wrong(`${name} clause can only be used on doubles`, value);
  const number = integer === undefined ? (value as CelDouble).value : Number(integer);
  return Number.isFinite(number) ? write(number) : special(number);
}

function special(number: number): string {
  return Number.isNaN(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
}

/** Go rounds an exact half to the even digit, where JavaScript rounds it up. */
function fixed(number: number, precision: number): string {
  if (Math.abs(number) >= 1e21) return `${BigInt(number)}${precision === 0 ? "" : `.${"0".repeat(precision)}`}`;
  const exact = Math.abs(number).toFixed(maxPrecision);
  const rest = exact.slice(exact.indexOf(".") + 1 + precision);
  const rounded = Math.abs(number).toFixed(precision);
  const truncated = precision === 0 ? exact.slice(0, exact.indexOf(".")) : exact.slice(0, exact.length - rest.length);
  const tied = /^50*$/.test(rest) && "02468".includes(truncated.at(-1) ?? "");
  return `${number < 0 || Object.is(number, -0) ? "-" : ""}${tied ? truncated : rounded}`;
}

function scientific(number: number, precision: number): string {
  return number.toExponential(precision).replace(/e([+-])(\d)$/, "e$10$2");
}

function asText(value: CelValue, meter: CelMeter, depth: number): string | CelFailure {
  occupy(meter, 1);
  if (depth === 0) return celFailure("value nested too deeply");
  if (value === null) return "null";
  if (typeof value === "string") return value;
  if (typeof value !== "object") return String(value);
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (isJsonArray(value)) return listText(value, meter, depth);
  if (isMap(value)) return mapText(value, meter, depth);
  return specialText(value);
}

function specialText(value: CelValue): string | CelFailure {
  switch (kindOf(value)) {
    case "double": {
      const { value: number } = value as CelDouble;
      return Number.isFinite(number) ? plainDouble(number) : special(number);
    }
    case "uint":
      return String((value as CelUint).value);
    case "timestamp":
      return formatTimestamp(value as CelTimestamp);
    case "duration":
      return formatDuration(value as CelDuration);
    case "type":
      return (value as CelTypeValue).name;
    default: {
      const allowed = "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps";
      return wrong(`string clause can only be used on ${allowed}`, value);
    }
  }
}

function listText(list: readonly unknown[], meter: CelMeter, depth: number): string | CelFailure {
  const parts: string[] = [];
  for (const element of list) {
    const part = asText(fromJson(element), meter, depth - 1);
    if (typeof part !== "string") return part;
    occupy(meter, part.length);
    parts.push(part);
  }
  return `[${parts.join(", ")}]`;
}

function mapText(map: Parameters<typeof mapKeys>[0], meter: CelMeter, depth: number): string | CelFailure {
  const parts: [string, string][] = [];
  for (const key of mapKeys(map)) {
    const name = asText(key, meter, depth - 1);
    const member = asText(fromJson(mapGet(map, key)), meter, depth - 1);
    if (typeof name !== "string") return name;
    if (typeof member !== "string") return member;
    occupy(meter, name.length + member.length);
    parts.push([name, member]);
  }
  parts.sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${parts.map(([name, member]) => `${name}: ${member}`).join(", ")}}`;
}

/** A floating point number as Go's `strconv.FormatFloat(value, 'g', -1, 64)` writes it. */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  if (Object.is(value, -0)) return "-0";
  const scientific = value.toExponential();
  const split = scientific.indexOf("e");
  const exponent = Number(scientific.slice(split + 1));
  if (exponent >= -4 && exponent < 6) return String(value);
  return `${scientific.slice(0, split)}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** A finite floating point number without an exponent, in the fewest digits that identify it. */
function plainDouble(value: number): string {
  const text = String(value);
  if (!text.includes("e")) return Object.is(value, -0) ? "-0" : text;
  const [digits = "", exponent = "0"] = Math.abs(value).toExponential().split("e");
  const shown = digits.replace(".", "");
  const scale = Number(exponent);
  const magnitude = scale < 0 ? `0.${"0".repeat(-scale - 1)}${shown}` : shown.padEnd(scale + 1, "0");
  return value < 0 ? `-${magnitude}` : magnitude;
}

const decimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const infinite = /^[+-]?(?:inf|infinity)$/i;

/** The floating point number of a text, as Go's `strconv.ParseFloat` reads it; undefined where the text is none. */
export function parseDouble(text: string): number | undefined {
  if (text.length > 400) return undefined;
  if (/^nan$/i.test(text)) return Number.NaN;
  if (infinite.test(text)) return text.startsWith("-") ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  const value = decimal.test(text) ? Number(text) : undefined;
  return value === undefined || !Number.isFinite(value) ? undefined : value;
}
