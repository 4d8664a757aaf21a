import type { CelExpression, CelMacro, CelNode, Nodes } from "./ast.ts";

interface Call {
  readonly name: string;
  readonly target?: CelExpression;
  readonly args: readonly CelExpression[];
  readonly offset: number;
}

type Expander = (nodes: Nodes, call: Call & { readonly target: CelExpression }) => CelExpression;

/** Macros by name and number of arguments, called on a receiver. */
const expanders: ReadonlyMap<string, Expander> = new Map<string, Expander>([
  ...walks(1, 2, ["all", "exists", "exists_one", "existsOne", "filter", "map"]),
  ...walks(1, 3, ["map"]),
  ...walks(2, 3, ["all", "exists", "exists_one", "existsOne"]),
  ...walks(2, 3, ["transformList", "transformMap", "transformMapEntry"]),
  ...walks(2, 4, ["transformList", "transformMap", "transformMapEntry"]),
  ["optMap/2", optionalMap(false)],
  ["optFlatMap/2", optionalMap(true)],
  ["bind/3", bind],
  ["sortBy/2", sortBy],
]);

/** Macros with this number of variables and arguments that iterate over a list or a map. */
function walks(
  variables: 1 | 2,
  args: number,
  names: readonly (CelMacro | "existsOne")[],
): readonly (readonly [string, Expander])[] {
  return names.map((name) => [`${name}/${args}`, walk(name === "existsOne" ? "exists_one" : name, variables)]);
}

/**
 * The node that a call of a macro expands to; undefined when the call is an ordinary one.
 * @throws CelError `syntax` when the arguments do not fit the macro
 */
export function expandMacro(nodes: Nodes, call: Call): CelExpression | undefined {
  const { name, target, args, offset } = call;
  if (target === undefined) return name === "has" && args.length === 1 ? has(nodes, offset, args) : undefined;
  const expander = expanders.get(`${name}/${args.length}`);
  if (name === "bind" && !isNamed(target, "cel")) return undefined;
  if (isNamed(target, "math") && args.length > 2) return variadic(nodes, { ...call, target });
  return expander?.(nodes, { ...call, target });
}

function isNamed(target: CelExpression, name: string): boolean {
  return target.kind === "identifier" && target.name === name;
}

/** `math.greatest` and `math.least` of more than two numbers are those of a list. */
function variadic(nodes: Nodes, call: Call & { readonly target: CelExpression }): CelExpression | undefined {
  if (call.name !== "greatest" && call.name !== "least") return undefined;
  const elements = call.args.map((value) => ({ value, optional: false }));
  const { name, target, offset } = call;
  return nodes.make(offset, { kind: "call", name, target, args: [nodes.make(offset, { kind: "list", elements })] });
}

function has(nodes: Nodes, offset: number, args: readonly CelExpression[]): CelExpression {
  const [selected] = args;
  if (selected?.kind !== "select" || selected.optional) {
    throw nodes.error(selected?.offset ?? offset, "invalid argument to has() macro");
  }
  return nodes.make(offset, { kind: "has", operand: selected.operand, field: selected.field });
}

function variableName(nodes: Nodes, argument: CelExpression | undefined, call: Call): string {
  if (argument?.kind !== "identifier" || argument.name.startsWith(".")) {
    const collects = call.name === "map" || call.name === "filter";
    const problem = collects ? "argument is not an identifier" : "argument must be a simple name";
    throw nodes.error(argument?.offset ?? call.offset, problem);
  }
  if (argument.name === accumulator)
    throw nodes.error(argument.offset, "iteration variable overwrites accumulator variable");
  return argument.name;
}

/** The name of the accumulator variable in cel-go's expansion of macros. */
const accumulator = "__result__";

function walk(macro: CelMacro, variables: 1 | 2): Expander {
  const transforms = !["all", "exists", "exists_one", "filter"].includes(macro);
  return (nodes, call) => {
    const { args, target, offset } = call;
    const first = variableName(nodes, args[0], call);
    const second = variables === 2 ? variableName(nodes, args[1], call) : undefined;
    if (first === second) throw nodes.error(args[1]?.offset ?? offset, `duplicate variable name: ${first}`);
    return nodes.make(offset, {
      kind: "comprehension",
      macro,
      range: target,
      variables: second === undefined ? [first] : [first, second],
      ...partsOf(args.slice(variables), transforms),
    });
  };
}

/** The condition and the transform of a macro, from the arguments behind its variables. */
function partsOf(
  [one, other]: readonly CelExpression[],
  transforms: boolean,
): Pick<CelNode<"comprehension">, "condition" | "transform"> {
  if (one === undefined) return {};
  if (!transforms) return { condition: one };
  return other === undefined ? { transform: one } : { condition: one, transform: other };
}

function optionalMap(flat: boolean): Expander {
  return (nodes, call) => {
    const { args, target, offset } = call;
    const variable = variableName(nodes, args[0], call);
    const body = args[1] ?? target;
    return nodes.make(offset, { kind: "optionalMap", operand: target, variable, body, flat });
  };
}

function bind(nodes: Nodes, call: Call): CelExpression {
  const variable = variableName(nodes, call.args[0], call);
  const [, value, body] = call.args;
  if (value === undefined || body === undefined) throw nodes.error(call.offset, "argument must be a simple name");
  return nodes.make(call.offset, { kind: "bind", variable, value, body });
}

/** The list sorted by keys that are computed from its elements. Source: cel-go ext lists. */
function sortBy(nodes: Nodes, call: Call & { readonly target: CelExpression }): CelExpression {
  const { args, target, offset } = call;
  const variable = variableName(nodes, args[0], call);
  const list = (): CelExpression => nodes.make(offset, { kind: "identifier", name: "@sortByList" });
  const transform = args[1] ?? target;
  const keys = nodes.make(offset, {
    kind: "comprehension",
    macro: "map",
    range: list(),
    variables: [variable],
    transform,
  });
  const body = nodes.make(offset, { kind: "call", name: "@sortByAssociatedKeys", target: list(), args: [keys] });
  return nodes.make(offset, { kind: "bind", variable: "@sortByList", value: target, body });
}
