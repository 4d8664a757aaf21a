import { builtin, failed, mistyped, integerOperand, type Builtin, type CallPlace } from "./builtin.ts";
import { memberOf } from "./documents.ts";
import { charge, occupy } from "./limits.ts";
import { RegoError } from "./rego-error.ts";
import {
  exact,
  isInteger,
  normalNumber,
  arrayOf,
  compareValues,
  isEqual,
  keyOf,
  setOf,
  multiplication,
  isKind,
  addition,
  keepMembers,
  type RegoNumber,
  type RegoSet,
  type RegoValue,
  type Operation,
} from "./values.ts";

function compared(name: string, holds: (order: number) => boolean): Builtin {
  return builtin(name, ["any", "any"], ([a, b]) => holds(compareValues(a, b)));
}

function calculate(name: string, operation: Operation): Builtin {
  return builtin(name, ["number", "number"], ([a, b]) => exact(operation, a, b));
}

const subtraction: Operation = { doubles: (a, b) => a - b, integers: (a, b) => a - b };

function difference(a: RegoSet, b: RegoSet): RegoSet {
  return keepMembers(a, (key) => !b.members.has(key));
}

function minus(
  [a, b]: readonly [RegoNumber | RegoSet, RegoNumber | RegoSet],
  { at }: CallPlace,
): RegoValue | undefined {
  if (isKind(a, "set") && isKind(b, "set")) return difference(a, b);
  if (!isKind(a, "set") && !isKind(b, "set")) return exact(subtraction, a, b);
  const [wanted, given] = isKind(a, "set") ? ["set", "number"] : ["number", "set"];
  throw new RegoError("eval_type_error", `minus: operand 2 must be ${wanted} but got ${given}`, at);
}

function divided([a, b]: readonly [RegoNumber, RegoNumber], place: CallPlace): RegoValue | undefined {
  if (Number(b) === 0) throw failed("divide by zero", place);
  if (isInteger(a) && isInteger(b) && BigInt(a) % BigInt(b) === 0n) return normalNumber(BigInt(a) / BigInt(b));
  return Number(a) / Number(b);
}

function remainder([a, b]: readonly [RegoNumber, RegoNumber], place: CallPlace): RegoValue {
  if (!isInteger(a) || !isInteger(b)) throw failed("modulo on floating-point number", place);
  if (Number(b) === 0) throw failed("modulo by zero", place);
  return normalNumber(BigInt(a) % BigInt(b));
}

function rounded(name: string, round: (value: number) => number): Builtin {
  return builtin(name, ["number"], ([value]) => (isInteger(value) ? value : normalNumber(round(Number(value)))));
}

const maxRangeItems = 100_000;

function range([from, to]: readonly [RegoNumber, RegoNumber], step: RegoNumber, place: CallPlace): RegoValue {
  const first = integerOperand(from, 1, place);
  const last = integerOperand(to, 2, place);
  const by = integerOperand(step, 3, place);
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
  calculate("plus", addition),
  calculate("mul", multiplication),
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
  builtin("and", ["set", "set"], ([a, b]) => keepMembers(a, (key) => b.members.has(key))),
  builtin("or", ["set", "set"], ([a, b]) => setOf([...a.members.values(), ...b.members.values()])),
  builtin("set_diff", ["set", "set"], ([a, b]) => difference(a, b)),
  builtin("internal.member_2", ["any", "any"], ([value, domain], { state }) =>
    isMember(value, domain, (steps) => charge(state.meter, steps)),
  ),
  builtin("internal.member_3", ["any", "any", "any"], ([key, value, domain]) => {
    const found = memberOf(domain, key);
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

function combined(name: string, combine: (a: bigint, b: bigint) => bigint): Builtin {
  return builtin(name, ["number", "number"], ([a, b], place) =>
    normalNumber(combine(integerOperand(a, 1, place), integerOperand(b, 2, place))),
  );
}

const maxBits = 4096n;

function shifted(name: string, shift: (a: bigint, by: bigint) => bigint): Builtin {
  return builtin(name, ["number", "number"], ([a, b], place) => {
    const [value, by] = [integerOperand(a, 1, place), integerOperand(b, 2, place)];
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
  builtin("bits.negate", ["number"], ([value], place) => normalNumber(~integerOperand(value, 1, place))),
  shifted("bits.lsh", (a, by) => a << by),
  shifted("bits.rsh", (a, by) => a >> by),
];
