import type { State } from "./documents.ts";
import { RegoError, type RegoPlace } from "./rego-error.ts";
import {
  typeOf,
  isInteger,
  type RegoValue,
  type RegoArray,
  type RegoNumber,
  type RegoObject,
  type RegoSet,
} from "./values.ts";

/** The position of a call of a built-in function. */
export interface CallPlace {
  readonly state: State;
  readonly at: RegoPlace;
}

/** A built-in function. Its operands are checked before it is called; undefined is no value. */
export interface Builtin {
  readonly name: string;
  readonly operands: readonly Operand[];
  readonly apply: (operands: never, place: CallPlace) => RegoValue | undefined;
  /** In place of `apply`, for one that has many values. */
  readonly each: ((operands: never, place: CallPlace) => Iterable<RegoValue>) | undefined;
}

/** Defines a built-in function. */
export function builtin<const T extends readonly Operand[]>(
  name: string,
  operands: T,
  apply: (operands: Operands<T>, place: CallPlace) => RegoValue | undefined,
): Builtin {
  return { name, operands, apply, each: undefined };
}

/** The error of a built-in function for operands of the wrong type. */
export function mistyped(message: string, { at }: CallPlace): RegoError {
  return new RegoError("eval_type_error", message, at);
}

/** The error of a built-in function for operands that it cannot use. */
export function failed(message: string, { at }: CallPlace): RegoError {
  return new RegoError("eval_builtin_error", message, at);
}

/** The operand types of a built-in function. */
interface OperandTypes {
  readonly any: RegoValue;
  readonly string: string;
  readonly number: RegoNumber;
  readonly boolean: boolean;
  readonly array: RegoArray;
  readonly object: RegoObject;
  readonly set: RegoSet;
  readonly "set|array": RegoArray | RegoSet;
  readonly "number|set": RegoNumber | RegoSet;
  readonly "object|set|array": RegoArray | RegoObject | RegoSet;
  readonly "array|object|set|string": RegoArray | RegoObject | RegoSet | string;
  readonly "array|string": RegoArray | string;
  readonly "string|set|array": RegoArray | RegoSet | string;
  readonly "array|null": RegoArray | null;
  readonly "string|null": string | null;
}

type Operand = keyof OperandTypes;

/** The values of operands. */
type Operands<T extends readonly Operand[]> = { readonly [I in keyof T]: OperandTypes[T[I]] };

/** The error of an operand, in OPA's wording. */
export function operandProblem(value: RegoValue, operand: Operand | undefined): string | undefined {
  if (operand === undefined || operand === "any") return undefined;
  const type = typeOf(value);
  const allowed = operand.split("|");
  if (allowed.includes(type)) return undefined;
  return `must be ${allowed.length === 1 ? operand : `one of {${allowed.join(", ")}}`} but got ${type}`;
}

/** The operand at a position, counted from 1, as an integer. @throws RegoError `eval_type_error` where it is none */
export function integerOperand(value: RegoNumber, operand: number, place: CallPlace): bigint {
  if (isInteger(value)) return BigInt(value);
  throw mistyped(`operand ${operand} must be integer number but got floating-point number`, place);
}
