import { builtin, failed, mistyped, type Builtin, type CallPlace } from "./builtin.ts";
import { charge, occupy } from "./limits.ts";
import {
  exact,
  isInteger,
  normalNumber,
  toBigInt,
  arrayOf,
  compareValues,
  isEqual,
  keyOf,
  setOf,
  type RegoNumber,
  type RegoSet,
  type RegoValue,
} from "./values.ts";
import { RegoError } from "./rego-error.ts";

function compared(name: string, holds: (order: number) => boolean): Builtin {
  return builtin(name, ["any", "any"], ([a, b]) => holds(compareValues(a, b)));
}

type OnDoubles = (a: number, b: number) => number;
type OnIntegers = (a: bigint, b: bigint) => bigint;

function calculated(name: string, onDoubles: OnDoubles, onIntegers: OnIntegers): Builtin {
  return builtin(name, ["number", "number"], (operands) => exact(operands, onDoubles, onIntegers));
}

function difference(a: RegoSet, b: RegoSet): RegoSet {
  return setOf([...a.members].filter(([key]) => !b.members.has(key)).map(([, member]) => member));
}

function isSet(value: RegoValue): value is RegoSet {
  return typeof value === "object" && value !== null && value.kind === "set";
}

function minus(
  [a, b]: readonly [RegoNumber | RegoSet, RegoNumber | RegoSet],
  { at }: CallPlace,
): RegoValue | undefined {
  if (isSet(a) && isSet(b)) return difference(a, b);
  if (!isSet(a) && !isSet(b))
    return exact(
      [a, b],
      (x, y) => x - y,
      (x, y) => x - y,
    );
  const [wanted, given] = isSet(a) ? ["set", "number"] : ["number", "set"];
  throw new RegoError("eval_type_error", `minus: operand 2 must be ${wanted} but got ${given}`, at);
}

function divided([a, b]: readonly [RegoNumber, RegoNumber], place: CallPlace): RegoValue | undefined {
  if (Number(b) === 0) throw failed("divide by zero", place);
  if (isInteger(a) && isInteger(b) && toBigInt(a) % toBigInt(b) === 0n) return normalNumber(toBigInt(a) / toBigInt(b));
  return Number(a) / Number(b);
}

function remainder([a, b]: readonly [RegoNumber, RegoNumber], place: CallPlace): RegoValue {
  if (!isInteger(a) || !isInteger(b)) throw failed("modulo on floating-point number", place);
  if (Number(b) === 0) throw failed("modulo by zero", place);
  return normalNumber(toBigInt(a) % toBigInt(b));
}

function rounded(name: string, round: (value: number) => number): Builtin {
  return builtin(name, ["number"], ([value]) => (isInteger(value) ? value : normalNumber(round(Number(value)))));
}

const maxRangeItems = 100_000;

function range([from, to]: readonly [RegoNumber, RegoNumber], step: RegoNumber, place: CallPlace): RegoValue {
  for (const [at, value] of [from, to, step].entries()) {
    if (!isInteger(value))
      throw mistyped(`operand ${at + 1} must be integer number but got floating-point number`, place);
  }
  const [first, last, by] = [toBigInt(from), toBigInt(to), toBigInt(step)];
  if (by <= 0n) throw failed("step must be a positive integer", place);
  const count = Number((last < first ? first - last : last - first) / by) + 1;
  charge(place.state.meter, count);
  if (count > maxRangeItems) throw new RegoError("eval_cancel_error", "a range is longer than it may be", place.at);
  const signed = last < first ? -by : by;
  return arrayOf(Array.from({ length: count }, (_none, at) => normalNumber(first + BigInt(at) * signed)));
}

const halfAway = (value: number): number => Math.sign(value) * Math.floor(Math.abs(value) + 0.5);

/** Comparison, arithmetic, and the operators of sets. */
export const numberBuiltins: readonly Builtin[] = [
  builtin("equal", ["any", "any"], ([a, b]) => isEqual(a, b)),
  builtin("neq", ["any", "any"], ([a, b]) => !isEqual(a, b)),
  compared("lt", (order) => order < 0),
  compared("lte", (order) => order <= 0),
  compared("gt", (order) => order > 0),
  compared("gte", (order) => order >= 0),
  calculated(
    "plus",
    (a, b) => a + b,
    (a, b) => a + b,
  ),
  calculated(
    "mul",
    (a, b) => a * b,
    (a, b) => a * b,
  ),
  builtin("minus", ["number|set", "number|set"], minus),
  builtin("div", ["number", "number"], divided),
  builtin("rem", ["number", "number"], remainder),
  builtin("abs", ["number"], ([value]) => (value < 0 ? normalNumber(-value) : value)),
  rounded("round", halfAway),
  rounded("ceil", Math.ceil),
  rounded("floor", Math.floor),
  builtin("numbers.range", ["number", "number"], (operands, place) => range(operands, 1, place)),
  builtin("numbers.range_step", ["number", "number", "number"], ([from, to, step], place) =>
    range([from, to], step, place),
  ),
  builtin("and", ["set", "set"], ([a, b]) =>
    setOf([...a.members].filter(([key]) => b.members.has(key)).map(([, member]) => member)),
  ),
  builtin("or", ["set", "set"], ([a, b]) => setOf([...a.members.values(), ...b.members.values()])),
  builtin("set_diff", ["set", "set"], ([a, b]) => difference(a, b)),
  builtin("internal.member_2", ["any", "any"], ([value, domain], { state }) =>
    isMember(value, domain, (steps) => charge(state.meter, steps)),
  ),
  builtin("internal.member_3", ["any", "any", "any"], ([key, value, domain]) => {
    if (typeof domain !== "object" || domain === null) return false;
    const found =
      domain.kind === "object"
        ? domain.entries.get(keyOf(key))?.[1]
        : domain.kind === "set"
          ? domain.members.get(keyOf(key))
          : typeof key === "number"
            ? domain.items[key]
            : undefined;
    return found !== undefined && isEqual(found, value);
  }),
];

function isMember(value: RegoValue, domain: RegoValue, pay: (steps: number) => void): boolean {
  if (typeof domain !== "object" || domain === null) return false;
  if (domain.kind === "set") return domain.members.has(keyOf(value));
  if (domain.kind === "array") {
    pay(domain.items.length);
    return domain.items.some((item) => isEqual(item, value));
  }
  pay(domain.entries.size);
  for (const [, member] of domain.entries.values()) if (isEqual(member, value)) return true;
  return false;
}

function integer(value: RegoNumber, operand: number, place: CallPlace): bigint {
  if (!isInteger(value))
    throw mistyped(`operand ${operand} must be integer number but got floating-point number`, place);
  return toBigInt(value);
}

function combined(name: string, combine: (a: bigint, b: bigint) => bigint): Builtin {
  return builtin(name, ["number", "number"], ([a, b], place) =>
    normalNumber(combine(integer(a, 1, place), integer(b, 2, place))),
  );
}

const maxBits = 4096n;

function shifted(name: string, shift: (a: bigint, by: bigint) => bigint): Builtin {
  return builtin(name, ["number", "number"], ([a, b], place) => {
    const [value, by] = [integer(a, 1, place), integer(b, 2, place)];
    if (by < 0n) throw mistyped("operand 2 must be an unsigned integer number but got a negative integer", place);
    // Ends the evaluation where the number would be too long.
    if (by > maxBits) occupy(place.state.meter, Number.POSITIVE_INFINITY);
    return normalNumber(shift(value, by));
  });
}

/** Bits of integers. */
export const bitBuiltins: readonly Builtin[] = [
  combined("bits.and", (a, b) => a & b),
  combined("bits.or", (a, b) => a | b),
  combined("bits.xor", (a, b) => a ^ b),
  builtin("bits.negate", ["number"], ([value], place) => normalNumber(~integer(value, 1, place))),
  shifted("bits.lsh", (a, by) => a << by),
  shifted("bits.rsh", (a, by) => a >> by),
];
