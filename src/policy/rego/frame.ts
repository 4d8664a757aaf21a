import type { RE2JS } from "re2js";
import type { Meter } from "./limits.ts";
import type { Group, Overlay } from "./documents.ts";
import type { RegoValue } from "./values.ts";

/** What a call is answered with instead of its function. */
export type Mock = { readonly value: RegoValue } | { readonly call: Callee };

/** Calls a function with its arguments; undefined where it has no value for them. */
export type Callee = (args: readonly RegoValue[], state: State) => RegoValue | undefined;

/** What an evaluation knows. A `with` makes another one. */
export interface State {
  readonly meter: Meter;
  readonly input: RegoValue | undefined;
  /** The documents that came with the policy. */
  readonly data: RegoValue;
  /** What stands over `data`. */
  readonly overlay: Overlay | undefined;
  readonly mocks: ReadonlyMap<string, Mock> | undefined;
  /** Documents of rules, once evaluated; `pending` while they are. */
  readonly cache: Map<Group, { readonly value: RegoValue | undefined } | "pending">;
  /** The time of the evaluation in nanoseconds. */
  readonly nowNs: bigint;
  /** Whether a built-in function that fails ends the evaluation; else it has no value. */
  readonly isStrict: boolean;
  readonly patterns: Map<string, RE2JS>;
}

/** The variables of a rule while it is evaluated. */
export interface Frame {
  readonly slots: (RegoValue | undefined)[];
  state: State;
}

/** A compiled term; undefined where it has no value. */
export type Det = (frame: Frame) => RegoValue | undefined;

/** Runs goals and, for each way in which they hold, what follows; true ends the search. */
export type Run = (frame: Frame, then: () => boolean) => boolean;

/** Whether a value fits, which may give variables their values. */
export type Match = (frame: Frame, value: RegoValue) => boolean;
