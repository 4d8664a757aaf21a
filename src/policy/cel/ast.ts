import { celError } from "./cel-error.ts";
import type { CelUint, CelDouble, CelInt } from "./values.ts";

/** The macros that walk a list or map. */
export type CelMacro =
  | "all"
  | "exists"
  | "exists_one"
  | "map"
  | "filter"
  | "transformList"
  | "transformMap"
  | "transformMapEntry";

/** The value of a literal. */
export type CelLiteral = null | boolean | CelInt | string | Uint8Array | CelDouble | CelUint;

interface Node {
  /** Unique within the expression, counted from 0; the checker keeps its findings by it. */
  readonly id: number;
  /** Where messages point, in UTF-16 units of the source. */
  readonly offset: number;
}

/** An element of a list; `optional` ones are left out when they are absent. */
export interface CelElement {
  readonly value: CelExpression;
  readonly optional: boolean;
}

/** An entry of a map. */
export interface CelEntry extends CelElement {
  readonly key: CelExpression;
}

/** A field of a message. */
export interface CelFieldValue extends CelElement {
  readonly name: string;
  /** Position of the colon, at which cel-go reports an error of the field. */
  readonly offset: number;
}

/** A node of an expression. Operators are calls of functions such as `_+_`, as in cel-go; macros are nodes of their own. */
export type CelExpression = Node &
  (
    | { readonly kind: "literal"; readonly value: CelLiteral }
    | { readonly kind: "identifier"; readonly name: string }
    | { readonly kind: "select"; readonly operand: CelExpression; readonly field: string; readonly optional: boolean }
    | { readonly kind: "has"; readonly operand: CelExpression; readonly field: string }
    | {
        readonly kind: "call";
        readonly name: string;
        readonly target?: CelExpression;
        readonly args: readonly CelExpression[];
      }
    | { readonly kind: "list"; readonly elements: readonly CelElement[] }
    | { readonly kind: "map"; readonly entries: readonly CelEntry[] }
    | { readonly kind: "message"; readonly name: string; readonly fields: readonly CelFieldValue[] }
    | {
        readonly kind: "comprehension";
        readonly macro: CelMacro;
        readonly range: CelExpression;
        /** One name: the element, or the key of a map. Two: index and element, or key and value. */
        readonly variables: readonly [string] | readonly [string, string];
        /** The condition; optional for `map` and its kin. */
        readonly condition?: CelExpression;
        /** The result for an element, for `map` and its kin; for `transformMapEntry` a map of one entry. */
        readonly transform?: CelExpression;
      }
    | { readonly kind: "bind"; readonly variable: string; readonly value: CelExpression; readonly body: CelExpression }
    | {
        /** `operand.optMap(variable, body)`; `flat` for optFlatMap, whose body is optional itself. */
        readonly kind: "optionalMap";
        readonly operand: CelExpression;
        readonly variable: string;
        readonly body: CelExpression;
        readonly flat: boolean;
      }
  );

/** One kind of node. */
export type CelNode<Kind extends CelExpression["kind"]> = Extract<CelExpression, { readonly kind: Kind }>;

/** Maximum depth of nodes; recursive walks of the tree rely on it. */
const maxNesting = 400;

type WithoutPlace<Expression> = Expression extends unknown ? Omit<Expression, "id" | "offset"> : never;

/** A node before it has an id and an offset. */
export type NewNode = WithoutPlace<CelExpression>;

/** Creates the nodes of one expression. */
export interface Nodes {
  readonly make: (offset: number, node: NewNode) => CelExpression;
  readonly count: () => number;
  /** A syntax error at an offset. */
  readonly error: (offset: number, message: string) => Error;
}

/** Creates nodes with ascending ids and rejects nesting that is too deep. */
export function newNodes(source: string): Nodes {
  const depths: number[] = [];
  return {
    make: (offset, node) => {
      const expression: CelExpression = { ...node, id: depths.length, offset };
      let depth = 0;
      for (const child of children(expression)) depth = Math.max(depth, depths[child.id] ?? 0);
      if (depth >= maxNesting) {
        throw celError("size", source, [{ offset, message: `expression recursion limit exceeded: ${maxNesting}` }]);
      }
      depths.push(depth + 1);
      return expression;
    },
    count: () => depths.length,
    error: (offset, message) => celError("syntax", source, [{ offset, message }]),
  };
}

const childrenOf: { readonly [K in CelExpression["kind"]]: (node: CelNode<K>) => readonly CelExpression[] } = {
  literal: () => [],
  identifier: () => [],
  select: ({ operand }) => [operand],
  has: ({ operand }) => [operand],
  call: ({ target, args }) => (target === undefined ? args : [target, ...args]),
  list: ({ elements }) => elements.map(({ value }) => value),
  map: ({ entries }) => entries.flatMap(({ key, value }) => [key, value]),
  message: ({ fields }) => fields.map(({ value }) => value),
  comprehension: ({ range, condition, transform }) =>
    [range, condition, transform].filter((child) => child !== undefined),
  bind: ({ value, body }) => [value, body],
  optionalMap: ({ operand, body }) => [operand, body],
};

/** The direct children of a node, in the order of the source. */
export function children(node: CelExpression): readonly CelExpression[] {
  return childrenOf[node.kind](node as never);
}
