import type { CelType } from "./types.ts";
import type { CelFailure, CelValue } from "./values.ts";

/**
 * One signature of a function. `args` starts with the receiver when the function is a member. `apply` is called with values that
 * match `args` (`fromJson` turns the members of lists and maps into values) and returns a value, or `celFailure(message)`; it
 * throws nothing. `cost` is what one call costs at run time (1 by default), asked before `apply`, so that work is never done unpaid.
 */
export interface CelOverload {
  readonly args: readonly CelType[];
  readonly result: CelType;
  readonly apply: (...args: never[]) => CelValue | CelFailure;
  readonly cost?: (...args: never[]) => number;
}

/** A function of the language: one row of a library's table. `member` functions are called as `receiver.name(...)`. */
export interface CelFunction {
  readonly name: string;
  readonly member?: boolean;
  readonly overloads: readonly CelOverload[];
}

/** What expressions may refer to. The standard functions are always there; those given are added. */
export interface CelEnvironment {
  readonly variables: Readonly<Record<string, CelType>>;
  readonly functions: readonly CelFunction[];
  /** The type of objects that an expression may make by `name{…}`; undefined for a name that is none. None without this function. */
  readonly messageType?: (name: string) => CelType | undefined;
}
