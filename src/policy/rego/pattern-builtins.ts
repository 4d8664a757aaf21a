import { RE2JS, RE2JSException, type Matcher } from "re2js";
import { countedText } from "../counted-text.ts";
import { builtin, failed, type Builtin, type CallPlace } from "./builtin.ts";
import { globMatches } from "./glob.ts";
import { charge, occupy } from "./limits.ts";
import { arrayOf, type RegoArray, type RegoNumber, type RegoValue } from "./values.ts";

const maxPatternCharacters = 2000;
const remembered = 32;

/** Letters of either case, and classes beyond ASCII, take far longer to compile than their length tells. */
const dear = /\\[pPx]|[^\p{ASCII}]|\(\?[a-zA-Z]*i/u;

/** A pattern of RE2, compiled once for an evaluation. @throws RegoError `eval_builtin_error` for one that is none */
function patternOf(source: string, place: CallPlace): RE2JS {
  const { patterns, meter } = place.state;
  const known = patterns.get(source);
  if (known !== undefined) return known;
  if (source.length > maxPatternCharacters)
    throw failed(`error parsing regexp: longer than ${maxPatternCharacters} characters`, place);
  charge(meter, source.length * (dear.test(source) ? 400 : 20));
  try {
    const pattern = RE2JS.compile(source);
    occupy(meter, pattern.programSize());
    if (patterns.size < remembered) patterns.set(source, pattern);
    return pattern;
  } catch (error) {
    if (error instanceof RE2JSException) throw failed(error.message, place);
    throw error;
  }
}

/** The first search of a text, and what is paid after each: the next ones may read to its end, too. */
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

/** Pays for a search. */
function searching(source: string, text: string, place: CallPlace): RE2JS {
  const pattern = patternOf(source, place);
  charge(place.state.meter, 1 + Math.ceil(((text.length + 1) * pattern.programSize()) / 64));
  return pattern;
}

function isPattern(source: RegoValue, place: CallPlace): boolean {
  if (typeof source !== "string" || source.length > maxPatternCharacters) return false;
  charge(place.state.meter, source.length * (dear.test(source) ? 400 : 20));
  try {
    RE2JS.compile(source);
    return true;
  } catch (error) {
    if (error instanceof RE2JSException) return false;
    throw error;
  }
}

function matches([source, text]: readonly [string, string], place: CallPlace): boolean {
  return searching(source, text, place).matcher(text).find();
}

function found([source, text, max]: readonly [string, string, RegoNumber], place: CallPlace): RegoValue {
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

function replaced([text, source, by]: readonly [string, string, string], place: CallPlace): RegoValue {
  const { matcher, next } = searches(source, text, place);
  const all: string[] = [];
  let from = 0;
  while (next()) {
    const filled = expanded(by, (at) => (at <= matcher.groupCount() ? (matcher.group(at) ?? "") : ""));
    occupy(place.state.meter, filled.length);
    charge(place.state.meter, 1);
    all.push(text.slice(from, matcher.start()), filled);
    from = matcher.end();
  }
  return [...all, text.slice(from)].join("");
}

/** `$1` and `${1}`, as Go expands them. */
function expanded(template: string, group: (at: number) => string): string {
  return template.replaceAll(
    /\$(?:\$|(\w+)|\{(\w+)\})/g,
    (whole, plain: string | undefined, braced: string | undefined) => {
      if (whole === "$$") return "$";
      const name = plain ?? braced ?? "";
      return /^\d{1,4}$/.test(name) ? group(Number(name)) : "";
    },
  );
}

function globbed([pattern, delimiters, text]: readonly [string, RegoArray | null, string], place: CallPlace): boolean {
  const given = delimiters === null ? [] : delimiters.items.map(String);
  charge(place.state.meter, (pattern.length * (text.length + 1)) >> 2);
  return globMatches(pattern, delimiters !== null && given.length === 0 ? ["."] : given, text, place);
}

/** Regular expressions of RE2, and globs. */
export const patternBuiltins: readonly Builtin[] = [
  builtin("regex.match", ["string", "string"], matches),
  builtin("re_match", ["string", "string"], matches),
  builtin("regex.is_valid", ["any"], ([source], place) => isPattern(source, place)),
  builtin("regex.split", ["string", "string"], parts),
  builtin("regex.find_n", ["string", "string", "number"], found),
  builtin("regex.find_all_string_submatch_n", ["string", "string", "number"], groups),
  builtin("regex.replace", ["string", "string", "string"], replaced),
  builtin("glob.match", ["string", "array|null", "string"], globbed),
  builtin("glob.quote_meta", ["string"], ([text], { state }) => {
    occupy(state.meter, text.length);
    return text.replaceAll(/[*?\\[\]{}]/g, (sign) => `\\${sign}`);
  }),
];
