import type { RegoArray, RegoNumber, RegoObject, RegoSet, RegoValue } from "./values.ts";
import { typeOf } from "./values.ts";

/** What a built-in function takes at a place. */
export interface OperandTypes {
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

export type Operand = keyof OperandTypes;

/** The values of operands. */
export type Operands<T extends readonly Operand[]> = { readonly [I in keyof T]: OperandTypes[T[I]] };

/** What is wrong with an operand, in the words of OPA. */
export function operandProblem(value: RegoValue, operand: Operand | undefined): string | undefined {
  if (operand === undefined || operand === "any") return undefined;
  const type = typeOf(value);
  const allowed = operand.split("|");
  if (allowed.includes(type)) return undefined;
  return `must be ${allowed.length === 1 ? operand : `one of {${allowed.join(", ")}}`} but got ${type}`;
}
