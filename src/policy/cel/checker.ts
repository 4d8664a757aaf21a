import type { CelExpression } from "./ast.ts";
import type { CelIssue } from "./cel-error.ts";
import type { CelFunction } from "./environment.ts";
import type { Scope } from "./environment.ts";
import { dynType, formatType, mapInnerTypes, typeParameter, type CelType } from "./types.ts";
import { substitute, unify, type TypeBindings } from "./unify.ts";

/** What a name stands for: a variable, a type, or a variable that a macro made. */
export type CelReference =
  | { readonly kind: "variable"; readonly name: string }
  | { readonly kind: "local"; readonly name: string }
  | { readonly kind: "type"; readonly name: string };

/** A call whose function is known: its arguments, the receiver first, and the overloads that may apply. */
export interface CelResolvedCall {
  readonly name: string;
  readonly args: readonly CelExpression[];
  readonly overloads: readonly CelFunction[];
}

/** One check under way: what is known of each node by its id, and what is wrong. */
export interface Checker {
  readonly scope: Scope;
  readonly types: CelType[];
  readonly calls: CelResolvedCall[];
  readonly references: CelReference[];
  readonly issues: CelIssue[];
  readonly variables: Set<string>;
  readonly known: TypeBindings;
  fresh: number;
}

/** The variables that macros made, innermost first. */
export interface Locals {
  readonly name: string;
  readonly type: CelType;
  readonly outer: Locals | undefined;
}

/** The innermost variable of that name that a macro made. */
export function localNamed(locals: Locals | undefined, name: string): Locals | undefined {
  for (let local = locals; local !== undefined; local = local.outer) if (local.name === name) return local;
  return undefined;
}

/** Parameters that nothing decided are dyn. */
export function settled(type: CelType): CelType {
  return type.kind === "parameter" ? dynType : mapInnerTypes(type, settled);
}

/** Notes a problem at a node, and goes on as if anything might stand there. */
export function issue(checker: Checker, node: CelExpression, message: string): CelType {
  checker.issues.push({ offset: node.offset, message });
  return dynType;
}

/** A name that nothing stands for. */
export function undeclared(checker: Checker, node: CelExpression, name: string): CelType {
  return issue(checker, node, `undeclared reference to '${name}' (in container '')`);
}

/** A type as far as it is known, in the words of messages, at most 500 characters. */
export function show(checker: Checker, type: CelType): string {
  const shown = formatType(settled(substitute(checker.known, type)));
  return shown.length > 500 ? `${shown.slice(0, 500)}…` : shown;
}

/** Whether a type can be another one; what must hold of parameters for that is kept. */
export function fits(checker: Checker, given: CelType, wanted: CelType): boolean {
  return unify(checker.known, [given], [wanted]);
}

/** A type of which nothing is known yet. */
export function freshType(checker: Checker): CelType {
  return typeParameter(`_${checker.fresh++}`);
}
