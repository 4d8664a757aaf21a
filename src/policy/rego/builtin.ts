import type { State } from "./frame.ts";
import type { Operand, Operands } from "./operands.ts";
import { RegoError, type RegoPlace } from "./rego-error.ts";
import type { RegoValue } from "./values.ts";

/** Where a built-in function was called. */
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

/** What a built-in function says of operands of the wrong kind. */
export function mistyped(message: string, { at }: CallPlace): RegoError {
  return new RegoError("eval_type_error", message, at);
}

/** What a built-in function says of operands that it cannot use. */
export function failed(message: string, { at }: CallPlace): RegoError {
  return new RegoError("eval_builtin_error", message, at);
}
