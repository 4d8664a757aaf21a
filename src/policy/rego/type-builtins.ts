import { builtin, failed, mistyped, type Builtin, type CallPlace } from "./builtin.ts";
import { numberOf } from "./numbers.ts";
import { arrayOf, setOf, sortedMembers, typeOf, type RegoTypeName, type RegoValue } from "./values.ts";

const types: readonly RegoTypeName[] = ["null", "boolean", "number", "string", "array", "object", "set"];

const numberText = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

const infinite = /^[+-]?(?:inf|infinity|nan)$/i;

function cast(name: RegoTypeName, value: RegoValue, place: CallPlace): RegoValue {
  if (typeOf(value) === name) return value;
  const wanted = name === "array" || name === "set" ? "one of {array, set}" : name;
  throw mistyped(`operand 1 must be ${wanted} but got ${typeOf(value)}`, place);
}

/** Types, and what only shows something to who writes a policy. */
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
    const isSet = typeof value === "object" && value !== null && value.kind === "set";
    return isSet ? arrayOf(sortedMembers(value)) : cast("array", value, place);
  }),
  builtin("cast_set", ["any"], ([value], place) => {
    const isArray = typeof value === "object" && value !== null && value.kind === "array";
    return isArray ? setOf(value.items) : cast("set", value, place);
  }),
  ...(["string", "boolean", "null", "object"] as const).map((name) =>
    builtin(`cast_${name}`, ["any"], ([value], place) => cast(name, value, place)),
  ),
  builtin("print", ["any"], () => true),
  builtin("trace", ["string"], () => true),
];
