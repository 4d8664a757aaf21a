import { builtin, failed, mistyped, integerOperand, type Builtin, type CallPlace } from "./builtin.ts";
import { pairsOf } from "./collection-builtins.ts";
import { charge, occupy } from "./limits.ts";
import { RegoError } from "./rego-error.ts";
import { regoText, sprintf } from "./sprintf.ts";
import {
  isInteger,
  arrayOf,
  sizeOf,
  sortedMembers,
  typeOf,
  isKind,
  itemsOf,
  type RegoArray,
  type RegoNumber,
  type RegoSet,
  type RegoValue,
} from "./values.ts";

function textsOf(list: RegoArray | RegoSet | string, name: string, place: CallPlace): readonly string[] {
  if (typeof list === "string") return [list];
  return itemsOf(list).map((item) => {
    if (typeof item === "string") return item;
    const text = `${name} must be ${list.kind} of strings but got ${list.kind} containing ${typeOf(item)}`;
    throw new RegoError("eval_type_error", text, place.at);
  });
}

function paid(text: string, { state }: CallPlace): string {
  occupy(state.meter, text.length);
  return text;
}

function joined(separator: string, texts: readonly string[], place: CallPlace): string {
  let size = separator.length * texts.length;
  for (const text of texts) size += text.length;
  occupy(place.state.meter, size);
  return texts.join(separator);
}

function replaced([text, old, by]: readonly [string, string, string], place: CallPlace): string {
  const count =
    text.length === 0 && old.length > 0 ? 0 : old.length === 0 ? text.length + 1 : text.split(old).length - 1;
  occupy(place.state.meter, text.length + count * by.length);
  // A function, since "$&" has a meaning in a replacement text.
  return old === "" ? `${by}${Array.from(text, (point) => point + by).join("")}` : text.replaceAll(old, () => by);
}

function substring([text, from, length]: readonly [string, RegoNumber, RegoNumber], place: CallPlace): string {
  if (Number(from) < 0) throw failed("negative offset", place);
  const points = Array.from(text);
  const start = Number(from);
  if (start >= points.length) return "";
  return points.slice(start, Number(length) < 0 ? undefined : start + Number(length)).join("");
}

function withinCutset(
  text: string,
  cutset: string,
  sides: { readonly left: boolean; readonly right: boolean },
): string {
  const cut = new Set(cutset);
  const points = Array.from(text);
  let [start, end] = [0, points.length];
  while (sides.left && start < end && cut.has(points[start] ?? "")) start += 1;
  while (sides.right && end > start && cut.has(points[end - 1] ?? "")) end -= 1;
  return points.slice(start, end).join("");
}

const bases = [2, 8, 10, 16];

function formatInteger([value, base]: readonly [RegoNumber, RegoNumber], place: CallPlace): string {
  if (!bases.includes(Number(base))) throw mistyped("format_int: operand 2 must be one of {2, 8, 10, 16}", place);
  const whole = isInteger(value) ? BigInt(value) : BigInt(Math.trunc(Number(value)));
  return whole.toString(Number(base));
}

/** The first `count` parts, or, where it is negative, the last. */
function splitN([text, separator, count]: readonly [string, string, RegoNumber], place: CallPlace): RegoValue {
  const limit = Number(integerOperand(count, 3, place));
  occupy(place.state.meter, text.length);
  const parts = separator === "" ? Array.from(text) : text.split(separator);
  return arrayOf(limit >= 0 ? parts.slice(0, limit) : parts.slice(limit));
}

/** Converts a position in UTF-16 units to code points. */
function pointsBefore(text: string, at: number): number {
  return at < 0 ? -1 : Array.from(text.slice(0, at)).length;
}

function allIndexes(text: string, part: string, place: CallPlace): RegoValue {
  if (part === "") throw failed("empty search character", place);
  const found: number[] = [];
  let [from, points] = [0, 0];
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + 1)) {
    charge(place.state.meter, 1 + (part.length >> 4));
    points += pointsBefore(text.slice(from, at), at - from);
    from = at;
    found.push(points);
  }
  return arrayOf(found);
}

function matching(name: string, test: (text: string, part: string) => boolean): Builtin {
  return builtin(name, ["string|set|array", "string|set|array"], ([texts, parts], place) => {
    const all = textsOf(parts, `${name}: operand 2`, place);
    charge(place.state.meter, all.length);
    return textsOf(texts, `${name}: operand 1`, place).some((text) => {
      charge(place.state.meter, all.length);
      return all.some((part) => test(text, part));
    });
  });
}

/** A template: texts, and sets of one value or none. */
function filledIn({ items }: RegoArray, place: CallPlace): string {
  const texts = items.map((item) => {
    const members = isKind(item, "set") ? sortedMembers(item) : [item];
    if (members.length > 1)
      throw new RegoError("eval_conflict_error", "template-strings must not produce multiple outputs", place.at);
    const [value] = members;
    if (value === undefined) return "<undefined>";
    occupy(place.state.meter, 2 * sizeOf(value));
    return typeof value === "string" ? value : regoText(value);
  });
  return joined("", texts, place);
}

/** Texts. */
export const textBuiltins: readonly Builtin[] = [
  builtin("concat", ["string", "set|array"], ([separator, list], place) =>
    joined(separator, textsOf(list, "concat: operand 2", place), place),
  ),
  builtin("contains", ["string", "string"], ([text, part]) => text.includes(part)),
  builtin("startswith", ["string", "string"], ([text, part]) => text.startsWith(part)),
  builtin("endswith", ["string", "string"], ([text, part]) => text.endsWith(part)),
  builtin("format_int", ["number", "number"], formatInteger),
  builtin("indexof", ["string", "string"], ([text, part], place) => {
    if (part === "") throw failed("empty search character", place);
    return pointsBefore(text, text.indexOf(part));
  }),
  builtin("indexof_n", ["string", "string"], ([text, part], place) => allIndexes(text, part, place)),
  builtin("lower", ["string"], ([text], place) => paid(text.toLowerCase(), place)),
  builtin("upper", ["string"], ([text], place) => paid(text.toUpperCase(), place)),
  builtin("replace", ["string", "string", "string"], replaced),
  builtin("strings.replace_n", ["object", "string"], ([pairs, text], place) => {
    const all = pairsOf(pairs).map(([key, value]) => {
      if (typeof key !== "string") throw mistyped("operand 1 non-string key found in pattern object", place);
      if (typeof value !== "string") throw mistyped("operand 1 non-string value found in pattern object", place);
      return [key, value] as const;
    });
    return replacedOnce(text, all, place);
  }),
  builtin("split", ["string", "string"], ([text, separator], { state }) => {
    occupy(state.meter, text.length);
    return arrayOf(separator === "" ? Array.from(text) : text.split(separator));
  }),
  builtin("strings.split_n", ["string", "string", "number"], splitN),
  builtin("sprintf", ["string", "array"], ([format, values], place) => sprintf(format, values.items, place)),
  builtin("substring", ["string", "number", "number"], substring),
  builtin("trim", ["string", "string"], ([text, cutset]) => withinCutset(text, cutset, { left: true, right: true })),
  builtin("trim_left", ["string", "string"], ([text, cutset]) =>
    withinCutset(text, cutset, { left: true, right: false }),
  ),
  builtin("trim_right", ["string", "string"], ([text, cutset]) =>
    withinCutset(text, cutset, { left: false, right: true }),
  ),
  builtin("trim_prefix", ["string", "string"], ([text, part]) =>
    text.startsWith(part) ? text.slice(part.length) : text,
  ),
  builtin("trim_suffix", ["string", "string"], ([text, part]) =>
    part !== "" && text.endsWith(part) ? text.slice(0, -part.length) : text,
  ),
  builtin("trim_space", ["string"], ([text]) => text.trim()),
  matching("strings.any_prefix_match", (text, part) => text.startsWith(part)),
  matching("strings.any_suffix_match", (text, part) => text.endsWith(part)),
  builtin("strings.count", ["string", "string"], ([text, part]) =>
    part === "" ? Array.from(text).length + 1 : text.split(part).length - 1,
  ),
  builtin("internal.template_string", ["array"], ([parts], place) => filledIn(parts, place)),
  builtin("strings.reverse", ["string"], ([text]) => Array.from(text).reverse().join("")),
];

/** The first pair that matches at each position; an empty old text matches between all letters. */
function replacedOnce(text: string, pairs: readonly (readonly [string, string])[], place: CallPlace): string {
  const parts: string[] = [];
  const put = (part: string): void => {
    occupy(place.state.meter, part.length);
    parts.push(part);
  };
  let wasEmpty = false;
  for (let at = 0; at <= text.length;) {
    charge(place.state.meter, 1 + pairs.length);
    const from = at;
    const found = pairs.find(([old]) => (old === "" ? !wasEmpty : text.startsWith(old, from)));
    wasEmpty = found?.[0] === "";
    if (found !== undefined) put(found[1]);
    else if (at < text.length) put(String.fromCodePoint(text.codePointAt(at) ?? 0));
    at += found?.[0].length ?? ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
  }
  return parts.join("");
}
