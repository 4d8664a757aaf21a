import { celFunction, type CelFunction } from "./environment.ts";
import { formatText } from "./format.ts";
import { charge, occupy, type CelMeter } from "./frame.ts";
import { countedLength, isWide, passCost, searchCost, sizeOf, textLength } from "./sizes.ts";
import { celFailure, isCelFailure, type CelFailure, type CelInt, type CelValue } from "./values.ts";

/** The code points of a text, by position. A text without astral characters is used as it is. */
function points(text: string): string | readonly string[] {
  return isWide(text) ? Array.from(text) : text;
}

function joined(part: string | readonly string[]): string {
  return typeof part === "string" ? part : part.join("");
}

function outOfRange(index: CelInt): CelFailure {
  return celFailure(`index out of range: ${index}`);
}

function charAt(text: string, index: CelInt): string | CelFailure {
  const all = points(text);
  if (index < 0 || index > all.length) return outOfRange(index);
  return all[Number(index)] ?? "";
}

/** Converts a position in UTF-16 units to code points. */
function pointsBefore(text: string, at: number): number {
  return at < 0 ? at : points(text.slice(0, at)).length;
}

/** Converts a position in code points to UTF-16 units. */
function unitsBefore(text: string, index: number): number {
  return isWide(text) ? Array.from(text).slice(0, index).join("").length : index;
}

function indexOf(text: string, part: string, from: CelInt = 0): number | CelFailure {
  const { length } = points(text);
  if (part === "" && from === 0) return 0;
  if (from < 0 || from > length) return outOfRange(from);
  return pointsBefore(text, text.indexOf(part, unitsBefore(text, Number(from))));
}

function lastIndexOf(text: string, part: string, from?: CelInt): number | CelFailure {
  const { length } = points(text);
  if (from === undefined) return part === "" ? length : pointsBefore(text, text.lastIndexOf(part));
  if (from < 0 || from > length) return outOfRange(from);
  return pointsBefore(text, text.lastIndexOf(part, unitsBefore(text, Number(from))));
}

function substring(text: string, start: CelInt, end?: CelInt): string | CelFailure {
  const all = points(text);
  const stop = end ?? all.length;
  if (start < 0 || start > all.length) return outOfRange(start);
  if (stop < 0 || stop > all.length) return outOfRange(stop);
  if (start > stop) return celFailure(`invalid substring range. start: ${start}, end: ${stop}`);
  return joined(all.slice(Number(start), Number(stop)));
}

/** As Go's `strings.Replace`: an empty part matches before every code point and at the end. */
function replace(...[text, part, by, limit, meter]: readonly [string, string, string, CelInt, CelMeter]): string {
  const max = limit < 0 ? Number.POSITIVE_INFINITY : Number(limit);
  const count = Math.min(max, occurrences(text, part) + (part === "" ? 1 : 0));
  occupy(meter, text.length + count * (1 + by.length));
  const all = part === "" ? ["", ...Array.from(text), ""] : text.split(part);
  return pieces(all, part, count + 1).join(by);
}

function split(...[text, separator, limit, meter]: readonly [string, string, CelInt, CelMeter]): readonly string[] {
  if (limit === 0) return [];
  const max = limit < 0 ? Number.POSITIVE_INFINITY : Number(limit);
  const count = occurrences(text, separator);
  occupy(meter, text.length + count);
  const all = separator === "" ? Array.from(text) : text.split(separator);
  return pieces(all, separator, Math.min(max, count + 1));
}

/** The number of occurrences that do not overlap; an empty part matches before every code point. */
function occurrences(text: string, part: string): number {
  if (part === "") return textLength(text);
  let count = 0;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) count++;
  return count;
}

/** At most `max` pieces; the last contains the rest. */
function pieces(all: readonly string[], separator: string, max: number): readonly string[] {
  return all.length <= max ? all : [...all.slice(0, max - 1), all.slice(max - 1).join(separator)];
}

function join(list: readonly unknown[], separator: string, meter: CelMeter): string | CelFailure {
  let size = separator.length * list.length;
  for (const part of list) {
    if (typeof part !== "string") return celFailure("no such overload");
    size += part.length;
  }
  occupy(meter, size);
  return list.join(separator);
}

/** The white space of Unicode, which Go trims: no byte order mark. */
const leading = /^[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;
const trailing = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]$/;

function trim(text: string): string {
  const start = leading.exec(text)?.[0].length ?? 0;
  let end = text.length;
  while (end > start && trailing.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

/** Characters that Go escapes by a letter in quoted text. */
export const goEscapes: ReadonlyMap<string, string> = new Map([
  ["\u0007", "\\a"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\v", "\\v"],
  ["\\", "\\\\"],
  ['"', '\\"'],
]);

function quote(text: string, meter: CelMeter): string {
  occupy(meter, 2 * text.length);
  return `"${Array.from(text, (character) => goEscapes.get(character) ?? character).join("")}"`;
}

const base64Form = /^[A-Za-z0-9+/]*={0,2}$/;

/** The padding may be left out; nothing else may. */
function decodeBase64(text: string): Uint8Array | CelFailure {
  const unpadded = text.replace(/=+$/, "");
  const padded = text.length === unpadded.length || text.length % 4 === 0;
  if (!base64Form.test(text) || !padded || unpadded.length % 4 === 1) return celFailure("illegal base64 data");
  return Uint8Array.from(Buffer.from(text, "base64"));
}

/** Measured: starting a search costs as much as building so many characters, however short its text. Kubernetes' cost ignores it. */
const roomOfSearch = 125;

/** On RE2: its time grows with the text, never exponentially. */
function matches(text: string, source: string, meter: CelMeter): boolean | CelFailure {
  const pattern = meter.patterns(source, meter);
  if (isCelFailure(pattern)) return pattern;
  // Repetition makes programs far longer than their source; the excess is charged, too.
  occupy(meter, roomOfSearch);
  charge(meter, searchCost(text.length, Math.max(0, pattern.programSize() - 2 * source.length)));
  return pattern.test(text);
}

const matchCost = (text: string, source: string): number => searchCost(text.length, source.length);

function size(value: CelValue, meter: CelMeter): number {
  return typeof value === "string" ? countedLength(meter, value) : sizeOf(meter, value);
}

/** The language's own functions of text, and `size`. */
const ofLanguage: readonly CelFunction[] = [
  ...["string", "bytes", "list(A)", "map(A, B)"].flatMap((type) => [
    celFunction(`size(${type}): int`, size),
    celFunction(`<${type}>.size(): int`, size),
  ]),
  celFunction(
    "<string>.startsWith(string): bool",
    (text: string, part: string) => text.startsWith(part),
    (_: string, part: string) => passCost(part),
  ),
  celFunction(
    "<string>.endsWith(string): bool",
    (text: string, part: string) => text.endsWith(part),
    (_: string, part: string) => passCost(part),
  ),
  celFunction(
    "<string>.contains(string): bool",
    (text: string, part: string) => text.includes(part),
    (text: string, part: string) => passCost(text) * passCost(part),
  ),
  celFunction("matches(string, string): bool", matches, matchCost),
  celFunction("<string>.matches(string): bool", matches, matchCost),
];

/** One pass, or two: to read and to build. */
const once = passCost;
const twice = (text: string | readonly unknown[]): number => Math.ceil(text.length * 0.2);
const product = (text: string, part: string): number => passCost(text) * Math.max(1, passCost(part));

/** The extension of strings that Kubernetes uses: positions count code points. */
const ofExtension: readonly CelFunction[] = [
  celFunction("<string>.charAt(int): string", charAt, once),
  celFunction("<string>.indexOf(string): int", (text: string, part: string) => indexOf(text, part), product),
  celFunction("<string>.indexOf(string, int): int", indexOf, product),
  celFunction("<string>.lastIndexOf(string): int", (text: string, part: string) => lastIndexOf(text, part), product),
  celFunction("<string>.lastIndexOf(string, int): int", lastIndexOf, product),
  celFunction("<string>.substring(int): string", (text: string, start: CelInt) => substring(text, start), once),
  celFunction("<string>.substring(int, int): string", substring, once),
  celFunction(
    "<string>.replace(string, string): string",
    (...[text, part, by, meter]: readonly [string, string, string, CelMeter]) => replace(text, part, by, -1, meter),
    twice,
  ),
  celFunction("<string>.replace(string, string, int): string", replace, twice),
  celFunction(
    "<string>.split(string): list(string)",
    (text: string, separator: string, meter: CelMeter) => split(text, separator, -1, meter),
    twice,
  ),
  celFunction("<string>.split(string, int): list(string)", split, twice),
  celFunction(
    "<list(string)>.join(): string",
    (list: readonly unknown[], meter: CelMeter) => join(list, "", meter),
    twice,
  ),
  celFunction("<list(string)>.join(string): string", join, twice),
  celFunction(
    "<string>.lowerAscii(): string",
    (text: string) => text.replace(/[A-Z]+/g, (part) => part.toLowerCase()),
    once,
  ),
  celFunction(
    "<string>.upperAscii(): string",
    (text: string) => text.replace(/[a-z]+/g, (part) => part.toUpperCase()),
    once,
  ),
  celFunction("<string>.trim(): string", trim, once),
  celFunction("<string>.reverse(): string", (text: string) => Array.from(text).reverse().join(""), once),
  celFunction("<string>.format(list(dyn)): string", formatText, once),
  celFunction("strings.quote(string): string", quote, once),
  celFunction("base64.encode(bytes): string", (bytes: Uint8Array) => Buffer.from(bytes).toString("base64"), once),
  celFunction("base64.decode(string): bytes", decodeBase64, once),
];

/** Functions of text, patterns and base64. */
export const textFunctions: readonly CelFunction[] = [...ofLanguage, ...ofExtension];
