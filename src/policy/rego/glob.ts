import { failed, type CallPlace } from "./builtin.ts";
import { charge } from "./limits.ts";

/** A part of a pattern. `many` stops at a delimiter, `all` does not; `alternatives` are patterns. */
type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "one" | "many" | "all" }
  | { readonly kind: "class"; readonly isNegated: boolean; readonly ranges: readonly (readonly [string, string])[] }
  | { readonly kind: "alternatives"; readonly of: readonly (readonly Part[])[] };

/** Whether a text as a whole fits a glob of gobwas/glob, which OPA uses. */
export function globMatches(pattern: string, delimiters: readonly string[], text: string, place: CallPlace): boolean {
  const points = Array.from(pattern);
  const reader = { points, at: 0, depth: 0, place };
  const parts = readParts(reader, "");
  const isDelimiter = new Set(delimiters);
  const letters = Array.from(text);
  const ends = matchParts(parts, new Set([0]), { letters, isDelimiter, place });
  return ends.has(letters.length);
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

/** Where a match may end that begins at one of `starts`: all ways at once, so none is tried twice. */
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
  const { letters, isDelimiter } = text;
  if (part.kind === "alternatives") return new Set(part.of.flatMap((each) => [...matchParts(each, starts, text)]));
  if (part.kind === "many" || part.kind === "all") {
    const ends = new Set<number>();
    for (const start of starts) {
      for (let at = start; !ends.has(at); at++) {
        ends.add(at);
        const letter = letters[at];
        if (letter === undefined || (part.kind === "many" && isDelimiter.has(letter))) break;
      }
    }
    charge(text.place.state.meter, ends.size);
    return ends;
  }
  const ends = new Set<number>();
  for (const start of starts) {
    const letter = letters[start];
    if (letter !== undefined && fits(part, letter, isDelimiter)) ends.add(start + 1);
  }
  return ends;
}

function fits(
  part: Exclude<Part, { readonly kind: "alternatives" | "many" | "all" }>,
  letter: string,
  isDelimiter: ReadonlySet<string>,
): boolean {
  if (part.kind === "text") return part.text === letter;
  if (part.kind === "class")
    return part.ranges.some(([low, high]) => low <= letter && letter <= high) !== part.isNegated;
  return !isDelimiter.has(letter);
}
