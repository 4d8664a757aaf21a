import { goEscapes } from "../cel/text-functions.ts";
import { failed, type CallPlace } from "./builtin.ts";
import { occupy } from "./limits.ts";
import { isInteger, sizeOf, sortedEntries, sortedMembers, type RegoNumber, type RegoValue } from "./values.ts";

const verb = /%([-+# 0]*)(\d{0,4})(?:\.(\d{0,3}))?([a-zA-Z%])/g;
const maxWidth = 1000;

interface Verb {
  readonly flags: string;
  readonly width: number;
  readonly precision: number | undefined;
  readonly letter: string;
}

/** `fmt.Sprintf` of Go for values of Rego. */
export function sprintf(format: string, values: readonly RegoValue[], place: CallPlace): string {
  let next = 0;
  const text = format.replaceAll(verb, (...found: readonly unknown[]) => {
    const [, flags, width, precision, letter] = found.map((each) => (typeof each === "string" ? each : undefined));
    if (letter === undefined || letter === "%") return "%";
    if (Number(width) > maxWidth) throw failed("sprintf: too wide", place);
    const value = values[next];
    next += 1;
    if (value === undefined) return `%!${letter}(MISSING)`;
    occupy(place.state.meter, sizeOf(value) * 2 + Number(width));
    const given = { flags: flags ?? "", width: Number(width), letter };
    const shown = formatValue({ ...given, precision: precision === undefined ? undefined : Number(precision) }, value);
    occupy(place.state.meter, shown.length);
    return shown;
  });
  const extra = values.slice(next).map((value) => `${goType(value)}=${regoText(value)}`);
  return extra.length === 0 ? text : `${text}%!(EXTRA ${extra.join(", ")})`;
}

function goType(value: RegoValue): string {
  if (typeof value === "bigint") return BigInt.asIntN(64, value) === value ? "int64" : "big.Int";
  if (typeof value === "number") return isInteger(value) ? "int64" : "float64";
  return "string";
}

function formatValue(given: Verb, value: RegoValue): string {
  const number = typeof value === "number" || typeof value === "bigint" ? value : undefined;
  if (number !== undefined && "dxXobcq".includes(given.letter) && isInteger(number))
    return pad(given, integerText(given, BigInt(number)));
  if (number !== undefined && "feEgGF".includes(given.letter)) return pad(given, floatText(given, Number(number)));
  return otherText(given, value);
}

function otherText(given: Verb, value: RegoValue): string {
  if (given.letter === "T") return goType(value);
  const text = typeof value === "string" ? value : regoText(value);
  const shown = texts.get(given.letter)?.(text, value, given);
  return shown === undefined ? `%!${given.letter}(${goType(value)}=${text})` : pad(given, shown);
}

type Text = (text: string, value: RegoValue, given: Verb) => string | undefined;

const truncate: Text = (text, _value, { precision }) =>
  precision === undefined ? text : Array.from(text).slice(0, precision).join("");

/** The text of each verb; undefined for a value that the verb does not accept. */
const texts: ReadonlyMap<string, Text> = new Map<string, Text>([
  ["v", truncate],
  [
    "s",
    (text, value, given) => (["int64", "float64"].includes(goType(value)) ? undefined : truncate(text, value, given)),
  ],
  ["q", (text) => quote(text)],
  ["t", (text, value) => (typeof value === "boolean" ? text : undefined)],
  ["x", (text, value) => (typeof value === "string" ? hexText(text) : undefined)],
]);

function hexText(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const radices: Readonly<Record<string, number>> = { d: 10, x: 16, X: 16, o: 8, b: 2 };

function integerText({ letter, flags }: Verb, value: bigint): string {
  if (letter === "c") return String.fromCodePoint(Number(value >= 0n && value < 0x110000n ? value : 0xfffdn));
  const digits = value.toString(radices[letter] ?? 10);
  const text = letter === "X" ? digits.toUpperCase() : digits;
  return flags.includes("+") && value >= 0n ? `+${text}` : text;
}

function floatText({ letter, precision, flags }: Verb, value: number): string {
  const exponent = (text: string): string => text.replace(/e([+-])(\d)$/, "e$10$2");
  const lower = letter.toLowerCase();
  const text =
    lower === "f"
      ? value.toFixed(precision ?? 6)
      : lower === "e"
        ? exponent(value.toExponential(precision ?? 6))
        : precision === undefined
          ? numberText(value)
          : String(Number(value.toPrecision(Math.max(1, precision))));
  const cased = letter === lower ? text : text.toUpperCase();
  return flags.includes("+") && value >= 0 ? `+${cased}` : cased;
}

function pad({ flags, width }: Verb, text: string): string {
  const missing = width - Array.from(text).length;
  if (missing <= 0) return text;
  if (flags.includes("-")) return text + " ".repeat(missing);
  if (!flags.includes("0")) return " ".repeat(missing) + text;
  const sign = /^[-+]/.exec(text)?.[0] ?? "";
  return sign + "0".repeat(missing) + text.slice(sign.length);
}

function numberText(value: RegoNumber): string {
  return String(value);
}

/** By the number of hexadecimal digits. */
const escapeLetters = { 2: "x", 4: "u", 8: "U" } as const;

/** `strconv.Quote` of Go. */
function quote(text: string): string {
  const escape = (sign: string): string => {
    const code = sign.codePointAt(0) ?? 0;
    const width = code < 0x80 ? 2 : code < 0x1_0000 ? 4 : 8;
    return goEscapes.get(sign) ?? `\\${escapeLetters[width]}${code.toString(16).padStart(width, "0")}`;
  };
  return `"${text.replaceAll(/["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, escape)}"`;
}

/** The value as Rego writes it. */
export function regoText(value: RegoValue): string {
  if (typeof value === "string") return quote(value);
  if (typeof value !== "object" || value === null) return String(value);
  switch (value.kind) {
    case "array":
      return `[${value.items.map(regoText).join(", ")}]`;
    case "set":
      return value.members.size === 0 ? "set()" : `{${sortedMembers(value).map(regoText).join(", ")}}`;
    case "object":
      return `{${sortedEntries(value)
        .map(([key, member]) => `${regoText(key)}: ${regoText(member)}`)
        .join(", ")}}`;
  }
}
