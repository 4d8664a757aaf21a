import type { CelExpression, CelNode } from "./ast.ts";
import { localNamed, undeclared, type Checker, type Locals } from "./checker.ts";
import type { CelType } from "./types.ts";

/** The type of a name that stands alone. */
export function identifier(checker: Checker, node: CelNode<"identifier">, locals: Locals | undefined): CelType {
  const local = localNamed(locals, node.name);
  if (local !== undefined) {
    checker.references[node.id] = { kind: "local", name: node.name };
    return local.type;
  }
  return named(checker, node, node.name) ?? undeclared(checker, node, node.name);
}

function named(checker: Checker, node: CelExpression, written: string): CelType | undefined {
  const name = written.startsWith(".") ? written.slice(1) : written;
  const variable = checker.scope.variable(name);
  if (variable !== undefined) {
    checker.references[node.id] = { kind: "variable", name };
    checker.variables.add(name);
    return variable;
  }
  const type = checker.scope.type(name);
  if (type !== undefined) checker.references[node.id] = { kind: "type", name };
  return type;
}

/** `a.b.c` when it is one dotted name. */
export function dottedName(node: CelExpression): string | undefined {
  if (node.kind === "identifier") return node.name;
  if (node.kind !== "select" || node.optional) return undefined;
  const operand = dottedName(node.operand);
  return operand === undefined ? undefined : `${operand}.${node.field}`;
}

/** The type of `a.b.c` where it is one dotted name of the environment; undefined where it is a selection. */
export function qualified(checker: Checker, node: CelNode<"select">, locals: Locals | undefined): CelType | undefined {
  const name = dottedName(node);
  if (name === undefined) return undefined;
  const head = name.slice(0, name.indexOf(".", 1));
  return localNamed(locals, head) === undefined ? named(checker, node, name) : undefined;
}
