import type { CelExpression, CelMacro, CelNode } from "../cel/ast.ts";
import type { CelChecked } from "../cel/check.ts";
import { dynType, intType, type CelType } from "../cel/types.ts";
import {
  callEstimate,
  computedSize,
  declaredSize,
  insideOf,
  product,
  sized,
  unsized,
  widest,
  type Estimate,
} from "./call-costs.ts";

/** What expressions refer to, innermost first: the variables that macros declare. */
interface Locals {
  readonly name: string;
  readonly estimate: Estimate;
  readonly outer: Locals | undefined;
}

interface Walk {
  readonly checked: CelChecked;
  readonly locals: Locals | undefined;
}

const listCost = 10;
const mapCost = 30;
const messageCost = 40;

/**
 * The maximum cost of evaluating an expression, from the sizes that the types of its variables declare; infinite without a bound.
 * Kubernetes rejects rules by this number, so it charges as cel-go does. Source: cel-go checker cost.
 */
export function estimateCost(checked: CelChecked): number {
  return estimate({ checked, locals: undefined }, checked.root).cost;
}

const estimates: { readonly [K in CelExpression["kind"]]: (walk: Walk, node: CelNode<K>) => Estimate } = {
  literal,
  identifier,
  select,
  has: (walk, node) => computed(estimate(walk, node.operand).cost, walk.checked.typeOf(node)),
  call,
  list,
  map,
  message: (walk, node) => computed(sumOf(walk, node.fields, messageCost), walk.checked.typeOf(node)),
  comprehension,
  bind: (walk, node) => {
    const value = estimate(walk, node.value);
    const body = estimate(within(walk, node.variable, value), node.body);
    return { ...body, cost: listCost + value.cost + body.cost };
  },
  optionalMap,
};

function estimate(walk: Walk, node: CelExpression): Estimate {
  return estimates[node.kind](walk, node as never);
}

function computed(cost: number, type: CelType): Estimate {
  const plain = unsized(type);
  return { cost, type: plain, size: computedSize(plain) };
}

/** The estimate that the declaration of a value implies. */
function declared(cost: number, type: CelType): Estimate {
  return { cost, type, size: declaredSize(type) };
}

function within(walk: Walk, name: string, known: Estimate): Walk {
  return { ...walk, locals: { name, estimate: { ...known, cost: 1 }, outer: walk.locals } };
}

function literal({ checked }: Walk, node: CelNode<"literal">): Estimate {
  const { value } = node;
  const size = typeof value === "string" || value instanceof Uint8Array ? value.length : 1;
  return { cost: 0, size, type: sized(checked.typeOf(node), size) };
}

function identifier({ checked, locals }: Walk, node: CelNode<"identifier">): Estimate {
  if (checked.referenceOf(node)?.kind === "local") {
    for (let local = locals; local !== undefined; local = local.outer) {
      if (local.name === node.name) return local.estimate;
    }
  }
  return declared(1, checked.typeOf(node));
}

function select(walk: Walk, node: CelNode<"select">): Estimate {
  // A dotted name that is one variable or type.
  if (walk.checked.referenceOf(node) !== undefined) return declared(1, walk.checked.typeOf(node));
  const operand = estimate(walk, node.operand);
  const holder = operand.type.kind === "optional" ? operand.type.of : operand.type;
  const found = fieldOf(holder, node.field);
  const charged = node.optional || holder.kind === "object" || holder.kind === "map" ? 1 : 0;
  const type: CelType = node.optional || operand.type.kind === "optional" ? { kind: "optional", of: found } : found;
  const known = declared(operand.cost + charged, type);
  // Sizes are declared for fields of objects only; all other fields count at least 1.
  return holder.kind === "object" ? known : { ...known, size: Math.max(1, known.size) };
}

function fieldOf(type: CelType, name: string): CelType {
  return (type.kind === "object" ? type.fields.get(name)?.type : undefined) ?? insideOf(type);
}

function call(walk: Walk, node: CelNode<"call">): Estimate {
  const { checked } = walk;
  const { name, args: given } = checked.callOf(node) ?? node;
  const args = given.map((argument) => estimate(walk, argument));
  const spent = args.reduce((sum, { cost }) => sum + cost, 0);
  const [one, two, three] = args;
  if (["_&&_", "_||_"].includes(name)) return computed(spent, checked.typeOf(node));
  if (name === "_?_:_" && one && two && three) return conditional(one, two, three);
  const numbers = given.map((argument) =>
    argument.kind === "literal" && typeof argument.value === "number" ? argument.value : undefined,
  );
  const result = unsized(checked.typeOf(node));
  const found = callEstimate(name, { args, result, numbers });
  const type = found.type ?? result;
  // A part of a declared value has the declared size.
  const size = found.size ?? (found.type === undefined ? computedSize(type) : declaredSize(type));
  return { cost: spent + found.cost, size, type: sized(type, size) };
}

function conditional(condition: Estimate, one: Estimate, other: Estimate): Estimate {
  const size = Math.max(one.size, other.size);
  return { cost: condition.cost + Math.max(one.cost, other.cost), size, type: widest(one.type, other.type) };
}

function sumOf(walk: Walk, parts: readonly { readonly value: CelExpression }[], base: number): number {
  return parts.reduce((sum, { value }) => sum + estimate(walk, value).cost, base);
}

function list(walk: Walk, node: CelNode<"list">): Estimate {
  const elements = node.elements.map(({ value }) => estimate(walk, value));
  const cost = elements.reduce((sum, element) => sum + element.cost, listCost);
  const size = elements.length;
  return { cost, size, type: { kind: "list", element: commonType(elements), maxSize: size } };
}

function commonType([first, ...rest]: readonly Estimate[]): CelType {
  return rest.reduce((sofar, { type }) => widest(sofar, type), first?.type ?? dynType);
}

function map(walk: Walk, node: CelNode<"map">): Estimate {
  const keys = node.entries.map(({ key }) => estimate(walk, key));
  const values = node.entries.map(({ value }) => estimate(walk, value));
  const cost = [...keys, ...values].reduce((sum, part) => sum + part.cost, mapCost);
  const size = keys.length;
  return { cost, size, type: { kind: "map", key: commonType(keys), value: commonType(values), maxSize: size } };
}

/**
 * A macro costs as much as its expansion in cel-go: an accumulator that is read and changed once for each element. The numbers are
 * those of that expansion.
 */
function comprehension(walk: Walk, node: CelNode<"comprehension">): Estimate {
  const range = estimate(walk, node.range);
  const inner = withElements(walk, node, range.type);
  const condition = node.condition === undefined ? undefined : estimate(inner, node.condition);
  const transform = node.transform === undefined ? undefined : estimate(inner, node.transform);
  const expansion = expansions[node.macro];
  const step = expansion.step + (condition?.cost ?? 0) + (transform?.cost ?? 0);
  const cost = range.cost + expansion.start + product(range.size, step) + expansion.finish;
  const type = comprehensionType(node, range.type, transform?.type ?? dynType);
  if (type === undefined) return computed(cost, walk.checked.typeOf(node));
  return { cost, size: range.size, type: sized(type, range.size) };
}

/** The cost of cel-go's expansion of each macro before its loop, in each round besides condition and transform, and after it. */
const expansions: Readonly<
  Record<CelMacro, { readonly start: number; readonly step: number; readonly finish: number }>
> = {
  all: { start: 0, step: 3, finish: 1 },
  exists: { start: 0, step: 4, finish: 1 },
  exists_one: { start: 0, step: 2, finish: 2 },
  filter: { start: listCost, step: 13, finish: 1 },
  map: { start: listCost, step: 12, finish: 1 },
  transformList: { start: listCost, step: 12, finish: 1 },
  transformMap: { start: mapCost, step: 3, finish: 1 },
  transformMapEntry: { start: mapCost, step: 2, finish: 1 },
};

function withElements(walk: Walk, node: CelNode<"comprehension">, range: CelType): Walk {
  const [one, other] = node.variables;
  const key = range.kind === "map" ? range.key : range.kind === "list" ? intType : dynType;
  const value = insideOf(range);
  if (other === undefined) return within(walk, one, declared(1, memberOf(range)));
  return within(within(walk, one, declared(1, key)), other, declared(1, value));
}

/** The type of what a macro of one variable iterates over: the keys of a map, or the elements of a list. */
function memberOf(range: CelType): CelType {
  return range.kind === "map" ? range.key : insideOf(range);
}

/** The type of the list or map that a macro creates, or undefined where it creates none. */
function comprehensionType(node: CelNode<"comprehension">, range: CelType, made: CelType): CelType | undefined {
  switch (node.macro) {
    case "all":
    case "exists":
    case "exists_one":
      return undefined;
    case "filter":
      return { kind: "list", element: memberOf(range) };
    case "map":
    case "transformList":
      return { kind: "list", element: made };
    case "transformMap":
      return { kind: "map", key: range.kind === "map" ? range.key : intType, value: made };
    case "transformMapEntry":
      return made;
  }
}

function optionalMap(walk: Walk, node: CelNode<"optionalMap">): Estimate {
  const operand = estimate(walk, node.operand);
  const content = operand.type.kind === "optional" ? operand.type.of : dynType;
  const body = estimate(within(walk, node.variable, declared(1, content)), node.body);
  const wrapped: CelType = node.flat ? body.type : { kind: "optional", of: body.type };
  // The presence test, the value, and the body.
  const cost = 1 + operand.cost + (1 + listCost + 1 + operand.cost + body.cost);
  return { cost, size: body.size, type: wrapped };
}
