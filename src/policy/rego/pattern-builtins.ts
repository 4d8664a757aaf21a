import { RE2JS, RE2JSException, type Matcher } from "re2js";
import { countedText } from "../counted-text.ts";
import { builtin, failed, type Builtin, type CallPlace } from "./builtin.ts";
import { charge, occupy } from "./limits.ts";
import { arrayOf, type RegoArray, type RegoNumber, type RegoValue } from "./values.ts";

const maxPatternCharacters = 2000;
const remembered = 32;

/** Letters of either case, and classes beyond ASCII, are far slower to compile than their length suggests. */
const dear = /\\[pPx]|[^\p{ASCII}]|\(\?[a-zA-Z]*i/u;

/** A pattern of RE2, compiled once for an evaluation. @throws RegoError `eval_builtin_error` for an invalid one */
function patternOf(source: string, place: CallPlace): RE2JS {
  const { patterns, meter } = place.state;
  const known = patterns.get(source);
  if (known !== undefined) return known;
  if (source.length > maxPatternCharacters)
    throw failed(`error parsing regexp: longer than ${maxPatternCharacters} characters`, place);
  charge(meter, compileCost(source));
  const pattern = compilePattern(source);
  if (pattern instanceof RE2JSException) throw failed(pattern.message, place);
  occupy(meter, pattern.programSize());
  if (patterns.size < remembered) patterns.set(source, pattern);
  return pattern;
}

function compileCost(source: string): number {
  return source.length * (dear.test(source) ? 400 : 20);
}

/** The pattern, or what is wrong with it. */
function compilePattern(source: string): RE2JS | RE2JSException {
  try {
    return RE2JS.compile(source);
  } catch (error) {
    if (error instanceof RE2JSException) return error;
    throw error;
  }
}

/** The first search of a text, and the charge after each: the next ones may read to its end, too. */
function searches(
  source: string,
  text: string,
  place: CallPlace,
): { readonly next: () => boolean; readonly matcher: Matcher } {
  const pattern = searching(source, text, place);
  const counted = countedText(text);
  const matcher = pattern.matcher(counted.input);
  let paid = (text.length + 1) * 16;
  return {
    matcher,
    next: () => {
      const isFound = matcher.find();
      const unpaid = Math.max(0, counted.read() - paid);
      paid += unpaid;
      charge(place.state.meter, 1 + Math.ceil((unpaid * pattern.programSize()) / 8));
      return isFound;
    },
  };
}

/** Charges a search. */
function searching(source: string, text: string, place: CallPlace): RE2JS {
  const pattern = patternOf(source, place);
  charge(place.state.meter, 1 + Math.ceil(((text.length + 1) * pattern.programSize()) / 64));
  return pattern;
}

function isPattern(source: RegoValue, place: CallPlace): boolean {
  if (typeof source !== "string" || source.length > maxPatternCharacters) return false;
  charge(place.state.meter, compileCost(source));
  return compilePattern(source) instanceof RE2JS;
}

function matches([source, text]: readonly [string, string], place: CallPlace): boolean {
  return searching(source, text, place).matcher(text).find();
}

function findMatches([source, text, max]: readonly [string, string, RegoNumber], place: CallPlace): RegoValue {
  const { matcher, next } = searches(source, text, place);
  const all: string[] = [];
  const limit = Number(max) < 0 ? Number.POSITIVE_INFINITY : Number(max);
  while (all.length < limit && next()) {
    all.push(matcher.group() ?? "");
  }
  return arrayOf(all);
}

function groups([source, text, max]: readonly [string, string, RegoNumber], place: CallPlace): RegoValue {
  const { matcher, next } = searches(source, text, place);
  const all: RegoArray[] = [];
  const limit = Number(max) < 0 ? Number.POSITIVE_INFINITY : Number(max);
  while (all.length < limit && next()) {
    const count = matcher.groupCount();
    charge(place.state.meter, 1 + count);
    all.push(arrayOf(Array.from({ length: count + 1 }, (_none, at) => matcher.group(at) ?? "")));
  }
  return arrayOf(all);
}

function parts([source, text]: readonly [string, string], place: CallPlace): RegoValue {
  const { matcher, next } = searches(source, text, place);
  const all: string[] = [];
  let from = 0;
  while (next()) {
    charge(place.state.meter, 1);
    const [start, end] = [matcher.start(), matcher.end()];
    if (end === 0) continue;
    if (start === end && start >= text.length) break;
    all.push(text.slice(from, start));
    from = end;
  }
  return arrayOf([...all, text.slice(from)]);
}

function replaceMatches([text, source, by]: readonly [string, string, string], place: CallPlace): RegoValue {
  const { matcher, next } = searches(source, text, place);
  const all: string[] = [];
  let from = 0;
  while (next()) {
    const filled = expandTemplate(by, (at) => (at <= matcher.groupCount() ? (matcher.group(at) ?? "") : ""));
    occupy(place.state.meter, filled.length);
    charge(place.state.meter, 1);
    all.push(text.slice(from, matcher.start()), filled);
    from = matcher.end();
  }
  return [...all, text.slice(from)].join("");
}

/** `$1` and `${1}`, as Go expands them. */
function expandTemplate(template: string, group: (at: number) => string): string {
  return template.replaceAll(
    /\$(?:\$|(\w+)|\{(\w+)\})/g,
    (whole, plain: string | undefined, braced: string | undefined) => {
      if (whole === "$$") return "$";
      const name = plain ?? braced ?? "";
      return /^\d{1,4}$/.test(name) ? group(Number(name)) : "";
    },
  );
}

function matchGlob(
  [pattern, delimiters, text]: readonly [string, RegoArray | null, string],
  place: CallPlace,
): boolean {
  const given = delimiters === null ? [] : delimiters.items.map(String);
  charge(place.state.meter, (pattern.length * (text.length + 1)) >> 2);
  const isDelimiter = new Set(delimiters !== null && given.length === 0 ? ["."] : given);
  return globMatches(pattern, text, { isDelimiter, place });
}

/** Regular expressions of RE2, and globs. */
export const patternBuiltins: readonly Builtin[] = [
  builtin("regex.match", ["string", "string"], matches),
  builtin("re_match", ["string", "string"], matches),
  builtin("regex.is_valid", ["any"], ([source], place) => isPattern(source, place)),
  builtin("regex.split", ["string", "string"], parts),
  builtin("regex.find_n", ["string", "string", "number"], findMatches),
  builtin("regex.find_all_string_submatch_n", ["string", "string", "number"], groups),
  builtin("regex.replace", ["string", "string", "string"], replaceMatches),
  builtin("glob.match", ["string", "array|null", "string"], matchGlob),
  builtin("glob.quote_meta", ["string"], ([text], { state }) => {
    occupy(state.meter, text.length);
    return text.replaceAll(/[*?\\[\]{}]/g, (sign) => `\\${sign}`);
  }),
];

/** A part of a pattern. `many` stops at a delimiter, `all` does not; `alternatives` are patterns. */
type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "one" | "many" | "all" }
  | { readonly kind: "class"; readonly isNegated: boolean; readonly ranges: readonly (readonly [string, string])[] }
  | { readonly kind: "alternatives"; readonly of: readonly (readonly Part[])[] };

/** Whether a whole text matches a glob of gobwas/glob, which OPA uses. */
function globMatches(pattern: string, text: string, { isDelimiter, place }: Omit<Text, "letters">): boolean {
  const parts = readParts({ points: Array.from(pattern), at: 0, depth: 0, place }, "");
  const letters = Array.from(text);
  return matchParts(parts, new Set([0]), { letters, isDelimiter, place }).has(letters.length);
}

interface Reader {
  readonly points: readonly string[];
  at: number;
  depth: number;
  readonly place: CallPlace;
}

const deepest = 20;

function readParts(reader: Reader, stops: string): readonly Part[] {
  const parts: Part[] = [];
  for (let point = reader.points[reader.at]; point !== undefined; point = reader.points[reader.at]) {
    if (stops.includes(point)) return parts;
    reader.at += 1;
    parts.push(readPart(reader, point));
  }
  if (stops !== "") throw failed("glob.match: unexpected end of pattern", reader.place);
  return parts;
}

function readPart(reader: Reader, point: string): Part {
  switch (point) {
    case "?":
      return { kind: "one" };
    case "*": {
      if (reader.points[reader.at] !== "*") return { kind: "many" };
      reader.at += 1;
      return { kind: "all" };
    }
    case "[":
      return readClass(reader);
    case "{":
      return readAlternatives(reader);
    case "\\": {
      const text = reader.points[reader.at] ?? "";
      reader.at += 1;
      return { kind: "text", text };
    }
    default:
      return { kind: "text", text: point };
  }
}

function readClass(reader: Reader): Part {
  const isNegated = reader.points[reader.at] === "!";
  if (isNegated) reader.at += 1;
  const end = reader.points.indexOf("]", reader.at);
  if (end === -1) throw failed("glob.match: unexpected end of pattern", reader.place);
  const inner = reader.points.slice(reader.at, end);
  reader.at = end + 1;
  const [low = "", dash, high] = inner;
  if (inner.length === 3 && dash === "-" && high !== undefined)
    return { kind: "class", isNegated, ranges: [[low, high]] };
  return { kind: "class", isNegated, ranges: inner.map((each) => [each, each] as const) };
}

function readAlternatives(reader: Reader): Part {
  if (reader.depth >= deepest) throw failed("glob.match: nested too deep", reader.place);
  reader.depth += 1;
  const of: (readonly Part[])[] = [];
  for (;;) {
    of.push(readParts(reader, ",}"));
    const sign = reader.points[reader.at];
    reader.at += 1;
    if (sign === "}") break;
  }
  reader.depth -= 1;
  return { kind: "alternatives", of };
}

interface Text {
  readonly letters: readonly string[];
  readonly isDelimiter: ReadonlySet<string>;
  readonly place: CallPlace;
}

/** Where a match that begins at one of `starts` may end: all alternatives at once, so none is tried twice. */
function matchParts(parts: readonly Part[], starts: ReadonlySet<number>, text: Text): ReadonlySet<number> {
  let positions = starts;
  for (const part of parts) {
    charge(text.place.state.meter, 1 + positions.size);
    positions = matchPart(part, positions, text);
    if (positions.size === 0) break;
  }
  return positions;
}

function matchPart(part: Part, starts: ReadonlySet<number>, text: Text): ReadonlySet<number> {
  if (part.kind === "alternatives") return new Set(part.of.flatMap((each) => [...matchParts(each, starts, text)]));
  const ends = new Set<number>();
  for (const start of starts) {
    if (part.kind === "many" || part.kind === "all")
      addEnds(ends, start, part.kind === "many" ? text : { letters: text.letters });
    else if (fits(part, text.letters[start], text.isDelimiter)) ends.add(start + 1);
  }
  if (part.kind === "many" || part.kind === "all") charge(text.place.state.meter, ends.size);
  return ends;
}

/** Every position up to the next delimiter, or to the end. */
function addEnds(
  ends: Set<number>,
  start: number,
  { letters, isDelimiter }: Partial<Text> & Pick<Text, "letters">,
): void {
  for (let at = start; !ends.has(at); at++) {
    ends.add(at);
    const letter = letters[at];
    if (letter === undefined || isDelimiter?.has(letter) === true) return;
  }
}

function fits(
  part: Exclude<Part, { readonly kind: "alternatives" | "many" | "all" }>,
  letter: string | undefined,
  isDelimiter: ReadonlySet<string>,
): boolean {
  if (letter === undefined) return false;
  if (part.kind === "text") return part.text === letter;
  if (part.kind === "class")
    return part.ranges.some(([low, high]) => low <= letter && letter <= high) !== part.isNegated;
  return !isDelimiter.has(letter);
}
