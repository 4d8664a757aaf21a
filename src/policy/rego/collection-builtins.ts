import { builtin, failed, mistyped, type Builtin, type CallPlace } from "./builtin.ts";
import { entriesOfValue, memberOf } from "./documents.ts";
import { charge } from "./limits.ts";
import {
  exact,
  numberOf,
  arrayOf,
  compareValues,
  setOf,
  sortedEntries,
  sortedMembers,
  typeOf,
  addition,
  multiplication,
  isKind,
  keepMembers,
  itemsOf,
  type RegoArray,
  type RegoNumber,
  type RegoSet,
  type RegoValue,
  type RegoTypeName,
  type Operation,
} from "./values.ts";

function folded(name: string, start: number, operation: Operation): Builtin {
  return builtin(name, ["set|array"], ([list], place) => {
    let result: RegoNumber | undefined = start;
    for (const member of itemsOf(list)) {
      if (typeof member !== "number" && typeof member !== "bigint")
        throw failed(
          `${name}: operand 1 must be ${list.kind} of numbers but got ${list.kind} containing ${typeOf(member)}`,
          place,
        );
      if (result === undefined) return undefined;
      result = exact(operation, result, member);
    }
    return result;
  });
}

function extreme(name: string, sign: number): Builtin {
  return builtin(name, ["set|array"], ([list]) => {
    let found: RegoValue | undefined;
    for (const member of itemsOf(list))
      if (found === undefined || sign * compareValues(member, found) > 0) found = member;
    return found;
  });
}

function sliced([list, from, to]: readonly [RegoArray, RegoNumber, RegoNumber]): RegoValue {
  const start = Math.max(0, Math.trunc(Number(from)));
  return arrayOf(start < Number(to) ? list.items.slice(start, Math.trunc(Number(to))) : []);
}

function setsOf(sets: RegoSet, place: CallPlace): readonly RegoSet[] {
  return sortedMembers(sets).map((member) => {
    if (isKind(member, "set")) return member;
    throw failed(`operand 1 must be set of sets but got set containing ${typeOf(member)}`, place);
  });
}

/** Every value within a value, with its path. */
function* walk(value: RegoValue, path: readonly RegoValue[], place: CallPlace): Generator<RegoValue> {
  charge(place.state.meter, 1 + path.length);
  yield arrayOf([arrayOf(path), value]);
  for (const [key, inner] of entriesOfValue(value)) yield* walk(inner, [...path, key], place);
}

/** Aggregates, arrays, sets, and `walk`. */
export const collectionBuiltins: readonly Builtin[] = [
  builtin("count", ["array|object|set|string"], ([value]) => {
    if (typeof value === "string") return Array.from(value).length;
    return value.kind === "array" ? value.items.length : value.kind === "set" ? value.members.size : value.entries.size;
  }),
  folded("sum", 0, addition),
  folded("product", 1, multiplication),
  extreme("max", 1),
  extreme("min", -1),
  builtin("sort", ["set|array"], ([list]) =>
    arrayOf(list.kind === "set" ? sortedMembers(list) : [...list.items].sort(compareValues)),
  ),
  builtin("all", ["set|array"], ([list]) => itemsOf(list).every((member) => member === true)),
  builtin("any", ["set|array"], ([list]) => itemsOf(list).includes(true)),
  builtin("array.concat", ["array", "array"], ([a, b]) => arrayOf([...a.items, ...b.items])),
  builtin("array.slice", ["array", "number", "number"], sliced),
  builtin("array.reverse", ["array"], ([list]) => arrayOf([...list.items].reverse())),
  builtin("array.flatten", ["array"], ([{ items }]) =>
    arrayOf(items.flatMap((item) => (isKind(item, "array") ? item.items : [item]))),
  ),
  builtin("intersection", ["set"], ([sets], place) => {
    const [first, ...rest] = setsOf(sets, place);
    if (first === undefined) return setOf([]);
    return keepMembers(first, (key) => rest.every((each) => each.members.has(key)));
  }),
  builtin("union", ["set"], ([sets], place) =>
    setOf(setsOf(sets, place).flatMap((each) => [...each.members.values()])),
  ),
  {
    ...builtin("walk", ["any"], () => undefined),
    each: (operands: readonly [RegoValue], place: CallPlace) => walk(operands[0], [], place),
  },
];

/** The value at a path of keys. */
export function valueAtPath(value: RegoValue, path: readonly RegoValue[]): RegoValue | undefined {
  let at: RegoValue | undefined = value;
  for (const key of path) {
    if (at === undefined) return undefined;
    at = memberOf(at, key);
  }
  return at;
}

/** The entries of an object as pairs, in order; of any other value, nothing. */
export function pairsOf(value: RegoValue): readonly (readonly [RegoValue, RegoValue])[] {
  return isKind(value, "object") ? sortedEntries(value) : [];
}

const types: readonly RegoTypeName[] = ["null", "boolean", "number", "string", "array", "object", "set"];

const numberText = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

const infinite = /^[+-]?(?:inf|infinity|nan)$/i;

function cast(name: RegoTypeName, value: RegoValue, place: CallPlace): RegoValue {
  if (typeOf(value) === name) return value;
  const wanted = name === "array" || name === "set" ? "one of {array, set}" : name;
  throw mistyped(`operand 1 must be ${wanted} but got ${typeOf(value)}`, place);
}

/** Functions of types, and those that only print something for the policy's author. */
export const typeBuiltins: readonly Builtin[] = [
  ...types.map((name) => builtin(`is_${name}`, ["any"], ([value]) => typeOf(value) === name)),
  builtin("type_name", ["any"], ([value]) => typeOf(value)),
  builtin("to_number", ["any"], ([value], place) => {
    if (value === null || typeof value === "boolean") return value === true ? 1 : 0;
    if (typeof value === "number" || typeof value === "bigint") return value;
    if (typeof value !== "string")
      throw mistyped(
        `to_number: operand 1 must be one of {null, boolean, number, string} but got ${typeOf(value)}`,
        place,
      );
    if (infinite.test(value)) throw mistyped("to_number: operand 1 must be a finite number", place);
    const number = numberText.test(value) ? numberOf(value) : undefined;
    if (number === undefined) throw failed("to_number: invalid syntax", place);
    return number;
  }),
  builtin("cast_array", ["any"], ([value], place) => {
    return isKind(value, "set") ? arrayOf(sortedMembers(value)) : cast("array", value, place);
  }),
  builtin("cast_set", ["any"], ([value], place) => {
    return isKind(value, "array") ? setOf(value.items) : cast("set", value, place);
  }),
  ...(["string", "boolean", "null", "object"] as const).map((name) =>
    builtin(`cast_${name}`, ["any"], ([value], place) => cast(name, value, place)),
  ),
  builtin("print", ["any"], () => true),
  builtin("trace", ["string"], () => true),
];
