import { builtin, mistyped, type Builtin } from "./builtin.ts";
import { numberOf } from "./numbers.ts";
import { typeOf, type RegoTypeName } from "./values.ts";

const types: readonly RegoTypeName[] = ["null", "boolean", "number", "string", "array", "object", "set"];

const numberText = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Types, and what only shows something to who writes a policy. */
export const typeBuiltins: readonly Builtin[] = [
  ...types.map((name) => builtin(`is_${name}`, ["any"], ([value]) => typeOf(value) === name)),
  builtin("type_name", ["any"], ([value]) => typeOf(value)),
  builtin("to_number", ["any"], ([value], place) => {
    if (value === null || typeof value === "boolean") return value === true ? 1 : 0;
    if (typeof value === "number" || typeof value === "bigint") return value;
    const number = typeof value === "string" && numberText.test(value) ? numberOf(value) : undefined;
    if (number === undefined) throw mistyped("to_number: operand 1 must be a number", place);
    return number;
  }),
  builtin("print", ["any"], () => true),
  builtin("trace", ["string"], () => true),
];
