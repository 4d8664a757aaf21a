import type { CelExpression } from "./ast.ts";
import { celError } from "./cel-error.ts";

/** How deep nodes may nest. What walks the tree relies on it. */
const maxNesting = 400;

type WithoutPlace<Expression> = Expression extends unknown ? Omit<Expression, "id" | "offset"> : never;

/** A node before it has an identity and a place. */
export type NewNode = WithoutPlace<CelExpression>;

/** What makes the nodes of one expression. */
export interface Nodes {
  readonly make: (offset: number, node: NewNode) => CelExpression;
  readonly count: () => number;
  /** A syntax error at an offset. */
  readonly error: (offset: number, message: string) => Error;
}

/** Makes nodes with growing identities and refuses to nest them too deeply. */
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

/** The nodes right under a node, in the order of the source. */
export function children(node: CelExpression): readonly CelExpression[] {
  switch (node.kind) {
    case "literal":
    case "identifier":
      return [];
    case "select":
    case "has":
      return [node.operand];
    case "call":
      return node.target === undefined ? node.args : [node.target, ...node.args];
    case "list":
      return node.elements.map((element) => element.value);
    case "map":
      return node.entries.flatMap((entry) => [entry.key, entry.value]);
    case "message":
      return node.fields.map((field) => field.value);
    case "comprehension":
      return [node.range, node.condition, node.transform].filter((child) => child !== undefined);
    case "bind":
      return [node.value, node.body];
    case "optionalMap":
      return [node.operand, node.body];
  }
}
