import type { RegoVersion } from "./ast.ts";
import { operandProblem, type Builtin } from "./builtin.ts";
import { builtinNamed, deprecatedBuiltins } from "./builtins.ts";
import type { Branching, Group, Callee, State } from "./documents.ts";
import { charge } from "./limits.ts";
import { RegoError, type RegoPlace } from "./rego-error.ts";
import { sizeOf, type RegoValue } from "./values.ts";

/** The part of a call that identifies its function. */
export interface CallSite {
  readonly name: readonly string[];
  readonly args: readonly unknown[];
  readonly at: RegoPlace;
  /** Whether it only names the function, as the replacement of another. */
  readonly isMock?: boolean;
}

/** The function of a call. `each` is set for a function with many values. */
export interface Found {
  readonly arity: number;
  readonly one: Callee;
  readonly each: ((args: readonly RegoValue[], state: State) => Iterable<RegoValue>) | undefined;
}

/** Finds functions. @throws RegoError `rego_type_error` for an unknown function, or a wrong number of arguments */
export interface CalleeOf {
  (site: CallSite): Found;
  knows(name: readonly string[]): boolean;
}

const unknown = (name: string, at: RegoPlace): RegoError =>
  new RegoError("rego_type_error", `undefined function ${name}`, at);

/** The functions of a policy, and those built in. */
export function calleesOf(rules: Branching, version: RegoVersion): CalleeOf {
  const find = (site: CallSite): Found => {
    const name = site.name.join(".");
    const group = groupAt(rules, site.name);
    const builtin = group === undefined ? builtinNamed(name) : undefined;
    const arity = group?.arity ?? builtin?.operands.length;
    if (arity === undefined) throw unknown(name, site.at);
    if (version === "v1" && builtin !== undefined && deprecatedBuiltins.has(name))
      throw new RegoError("rego_type_error", `deprecated built-in function calls in expression: ${name}`, site.at);
    checkArity(site, arity);
    const real = group === undefined ? builtinCallee(builtin, site.at) : group.call;
    return { arity, one: mockable(name, real), each: eachOf(builtin, site.at) };
  };
  const knows = (name: readonly string[]): boolean =>
    name[0] === "data" ? groupAt(rules, name)?.arity !== undefined : builtinNamed(name.join(".")) !== undefined;
  return Object.assign(find, { knows });
}

/** One more argument than the arity is the output. */
function checkArity({ name, args, at, isMock }: CallSite, arity: number): void {
  const given = args.length;
  if (isMock === true || given === arity || given === arity + 1) return;
  const text = `function ${name.join(".")} has arity ${arity}, got ${given} argument${given === 1 ? "" : "s"}`;
  throw new RegoError("rego_type_error", text, at);
}

function mockable(name: string, real: Callee): Callee {
  return (args, state) => {
    const mock = state.mocks?.get(name);
    if (mock === undefined) return real(args, state);
    if ("value" in mock) return mock.value;
    // A mock calls the real functions.
    return mock.call(args, { ...state, mocks: undefined, cache: new Map() });
  };
}

function eachOf(builtin: Builtin | undefined, at: RegoPlace): Found["each"] {
  const each = builtin?.each;
  return each === undefined ? undefined : (args, state) => each(args as never, { state, at });
}

/** The rules of a name that begins at `data`. */
export function groupAt(rules: Branching, [root, ...path]: readonly string[]): Group | undefined {
  let at: Branching | undefined = root === "data" ? rules : undefined;
  for (const part of path) at = at?.children.get(part);
  return at?.group;
}

function builtinCallee(builtin: Builtin | undefined, at: RegoPlace): Callee {
  if (builtin === undefined) return () => undefined;
  return (args, state) => {
    charge(state.meter, 1);
    try {
      for (const [position, arg] of args.entries()) {
        charge(state.meter, sizeOf(arg) >> 3);
        const problem = operandProblem(arg, builtin.operands[position]);
        if (problem !== undefined)
          throw new RegoError("eval_type_error", `${builtin.name}: operand ${position + 1} ${problem}`, at);
      }
      return builtin.apply(args as never, { state, at });
    } catch (error) {
      if (!isOperandError(error)) throw error;
      if (!state.isStrict) return undefined;
      throw error.text.startsWith(`${builtin.name}: `)
        ? error
        : new RegoError(error.code, `${builtin.name}: ${error.text}`, at);
    }
  };
}

function isOperandError(error: unknown): error is RegoError {
  return error instanceof RegoError && (error.code === "eval_type_error" || error.code === "eval_builtin_error");
}
