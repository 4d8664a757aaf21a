import { builtin, mistyped, type Builtin, type CallPlace } from "./builtin.ts";
import { occupy } from "./limits.ts";
import { isInteger, normalNumber, toBigInt } from "./numbers.ts";
import type { RegoNumber } from "./values.ts";

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
