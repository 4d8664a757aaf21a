import type { CelFunction, CelOverload } from "./environment.ts";
import { formatText } from "./format.ts";
import { occupy, type CelMeter } from "./frame.ts";
import { isWide, passCost, textLength } from "./sizes.ts";
import { intType, listType, dynType, stringType, type CelType } from "./types.ts";
import { celFailure, type CelFailure, type CelInt } from "./values.ts";

/** A text's code points, by position. Texts without astral characters are their own. */
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

/** A position in UTF-16 units as one in code points. */
function pointsBefore(text: string, at: number): number {
  return at < 0 ? at : points(text.slice(0, at)).length;
}

/** A position in code points as one in UTF-16 units. */
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

/** As Go's `strings.Replace`: an empty part stands before every code point and at the end. */
function replace(given: readonly [text: string, part: string, by: string], limit: CelInt, meter: CelMeter): string {
  const [text, part, by] = given;
  const max = limit < 0 ? Number.POSITIVE_INFINITY : Number(limit);
  const count = Math.min(max, occurrences(text, part) + (part === "" ? 1 : 0));
  occupy(meter, text.length + count * (1 + by.length));
  return pieces(text, part, count + 1, { edges: true }).join(by);
}

function split(text: string, separator: string, limit: CelInt, meter: CelMeter): readonly string[] {
  if (limit === 0) return [];
  const max = limit < 0 ? Number.POSITIVE_INFINITY : Number(limit);
  const count = occurrences(text, separator);
  occupy(meter, text.length + count);
  return pieces(text, separator, Math.min(max, count + 1), { edges: false });
}

/** How often a part occurs, without overlapping; an empty one before every code point. */
function occurrences(text: string, part: string): number {
  if (part === "") return textLength(text);
  let count = 0;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) count++;
  return count;
}

/** At most `max` pieces; the last holds what remains. `edges`: an empty separator also splits at both ends. */
function pieces(text: string, separator: string, max: number, form: { readonly edges: boolean }): readonly string[] {
  const all = separator === "" ? Array.from(text) : text.split(separator);
  const edged = separator === "" && form.edges ? ["", ...all, ""] : all;
  return edged.length <= max ? edged : [...edged.slice(0, max - 1), edged.slice(max - 1).join(separator)];
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

const quoted: ReadonlyMap<string, string> = new Map([
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
  return `"${Array.from(text, (character) => quoted.get(character) ?? character).join("")}"`;
}

interface Row {
  readonly args: readonly CelType[];
  readonly result: CelType;
  readonly apply: CelOverload["apply"];
  readonly cost: CelOverload["cost"] & {};
}

function member(name: string, ...rows: readonly Row[]): CelFunction {
  return { name, member: true, overloads: rows };
}

/** One pass, or two: to read and to build. */
const once = passCost;
const twice = (text: string | readonly unknown[]): number => Math.ceil(text.length * 0.2);
const product = (text: string, part: string): number => passCost(text) * Math.max(1, passCost(part));

const two: readonly CelType[] = [stringType, stringType];

/** The extension of strings that Kubernetes has: positions count code points. */
export const textFunctions: readonly CelFunction[] = [
  member("charAt", { args: [stringType, intType], result: stringType, apply: charAt, cost: once }),
  member(
    "indexOf",
    { args: two, result: intType, apply: (text: string, part: string) => indexOf(text, part), cost: product },
    { args: [...two, intType], result: intType, apply: indexOf, cost: product },
  ),
  member(
    "lastIndexOf",
    { args: two, result: intType, apply: (text: string, part: string) => lastIndexOf(text, part), cost: product },
    { args: [...two, intType], result: intType, apply: lastIndexOf, cost: product },
  ),
  member(
    "substring",
    {
      args: [stringType, intType],
      result: stringType,
      apply: (text: string, start: CelInt) => substring(text, start),
      cost: once,
    },
    { args: [stringType, intType, intType], result: stringType, apply: substring, cost: once },
  ),
  member(
    "replace",
    {
      args: [...two, stringType],
      result: stringType,
      apply: (text: string, part: string, by: string, meter: CelMeter) => replace([text, part, by], -1, meter),
      cost: twice,
    },
    {
      args: [...two, stringType, intType],
      result: stringType,
      apply: (...[text, part, by, limit, meter]: readonly [string, string, string, CelInt, CelMeter]) =>
        replace([text, part, by], limit, meter),
      cost: twice,
    },
  ),
  member(
    "split",
    {
      args: two,
      result: listType(stringType),
      apply: (text: string, separator: string, meter: CelMeter) => split(text, separator, -1, meter),
      cost: twice,
    },
    { args: [...two, intType], result: listType(stringType), apply: split, cost: twice },
  ),
  member(
    "join",
    {
      args: [listType(stringType)],
      result: stringType,
      apply: (list: readonly unknown[], meter: CelMeter) => join(list, "", meter),
      cost: twice,
    },
    { args: [listType(stringType), stringType], result: stringType, apply: join, cost: twice },
  ),
  member("lowerAscii", {
    args: [stringType],
    result: stringType,
    apply: (text: string) => text.replace(/[A-Z]+/g, (part) => part.toLowerCase()),
    cost: once,
  }),
  member("upperAscii", {
    args: [stringType],
    result: stringType,
    apply: (text: string) => text.replace(/[a-z]+/g, (part) => part.toUpperCase()),
    cost: once,
  }),
  member("trim", { args: [stringType], result: stringType, apply: trim, cost: once }),
  member("reverse", {
    args: [stringType],
    result: stringType,
    apply: (text: string) => Array.from(text).reverse().join(""),
    cost: once,
  }),
  member("format", { args: [stringType, listType(dynType)], result: stringType, apply: formatText, cost: once }),
  { name: "strings.quote", overloads: [{ args: [stringType], result: stringType, apply: quote, cost: once }] },
];
