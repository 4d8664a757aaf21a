import type { CelExpression, CelNode, CelFieldValue } from "./ast.ts";
import type { CelIssue } from "./cel-error.ts";
import type { CelFunction, Scope } from "./environment.ts";
import { dynType, formatType, mapInnerTypes, typeParameter, innerTypes, type CelType } from "./types.ts";
import { substitute, unify, newTypeBindings, sameType, type TypeBindings } from "./unify.ts";
import { truncate } from "../../apimachinery/truncate.ts";

/** The meaning of a name: a variable, a type, or a variable that a macro declares. */
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

/** One check in progress: the findings by node id, and the issues. */
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

/** The variables that macros declare, innermost first. */
export interface Locals {
  readonly name: string;
  readonly type: CelType;
  readonly outer: Locals | undefined;
}

/** The innermost variable of that name that a macro declares. */
export function localNamed(locals: Locals | undefined, name: string): Locals | undefined {
  for (let local = locals; local !== undefined; local = local.outer) if (local.name === name) return local;
  return undefined;
}

/** Undecided type parameters are dyn. */
export function settled(type: CelType): CelType {
  return type.kind === "parameter" ? dynType : mapInnerTypes(type, settled);
}

/** Reports an issue at a node, and continues with dyn. */
export function issue(checker: Checker, node: CelExpression, message: string): CelType {
  checker.issues.push({ offset: node.offset, message });
  return dynType;
}

/** Reports an undeclared name. */
function reportUndeclared(checker: Checker, node: CelExpression, name: string): CelType {
  return issue(checker, node, `undeclared reference to '${name}' (in container '')`);
}

/** A type as far as it is known, as messages show it, at most 500 characters. */
export function show(checker: Checker, type: CelType): string {
  const shown = formatType(settled(substitute(checker.known, type)));
  return truncate(shown, 500);
}

/** Whether a type can be another one; binds parameters where that needs it. */
export function fits(checker: Checker, given: CelType, wanted: CelType): boolean {
  return unify(checker.known, [given], [wanted]);
}

/** A type parameter without a binding. */
export function freshType(checker: Checker): CelType {
  return typeParameter(`_${checker.fresh++}`);
}

/** The type of a single name. */
export function identifier(checker: Checker, node: CelNode<"identifier">, locals: Locals | undefined): CelType {
  const local = localNamed(locals, node.name);
  if (local !== undefined) {
    checker.references[node.id] = { kind: "local", name: node.name };
    return local.type;
  }
  return named(checker, node, node.name) ?? reportUndeclared(checker, node, node.name);
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

/** A function by its name, with the arguments' types; of a member the receiver comes first. */
export interface Application {
  readonly name: string;
  readonly args: readonly CelExpression[];
  readonly member: boolean;
  readonly types: readonly CelType[];
}

/** The result type of a call, by all overloads that fit; several result types become dyn. */
export function applied(checker: Checker, node: CelExpression, application: Application): CelType {
  const { name, args, member, types } = application;
  const overloads = checker.scope.overloads(name, member);
  const declared = overloads ?? checker.scope.overloads(name, !member);
  if (declared === undefined) return reportUndeclared(checker, node, name);
  const matching: CelFunction[] = [];
  let result: CelType | undefined;
  for (const overload of overloads ?? []) {
    const candidate = apply(checker, overload, types);
    if (candidate === undefined) continue;
    matching.push(overload);
    if (result === undefined) result = candidate;
    else if (!sameType(checker.known, result, candidate)) result = dynType;
  }
  if (result === undefined) {
    const shown = types.map((type) => show(checker, type));
    const written = member ? `${shown[0]}.(${shown.slice(1).join(", ")})` : `(${shown.join(", ")})`;
    return issue(checker, node, `found no matching overload for '${name}' applied to '${written}'`);
  }
  checker.calls[node.id] = { name, args, overloads: matching };
  return result;
}

/** The result of an overload for arguments of these types; undefined when it does not fit. */
function apply(checker: Checker, overload: CelFunction, types: readonly CelType[]): CelType | undefined {
  if (overload.args.length !== types.length) return undefined;
  const renamed = newTypeBindings();
  const rename = (type: CelType): CelType => {
    for (const name of parameterNames(type)) if (!renamed.known.has(name)) renamed.known.set(name, freshType(checker));
    return substitute(renamed, type);
  };
  if (!unify(checker.known, types, overload.args.map(rename))) return undefined;
  return substitute(checker.known, rename(overload.result));
}

function parameterNames(type: CelType): readonly string[] {
  return type.kind === "parameter" ? [type.name] : innerTypes(type).flatMap(parameterNames);
}

/** The type of `name{field: value, …}`; `typeOf` checks the value of a field. Source: cel-go checker, checkCreateStruct. */
export function message(
  checker: Checker,
  node: CelNode<"message">,
  typeOf: (field: CelFieldValue) => CelType,
): CelType {
  const type = checker.scope.message(node.name);
  if (type === undefined) return reportUndeclared(checker, node, node.name);
  for (const field of node.fields) {
    const { name, offset } = field;
    const given = typeOf(field);
    const wanted = fieldType(type, name);
    if (wanted === undefined) checker.issues.push({ offset, message: `undefined field '${name}'` });
    else if (!fits(checker, given, wanted)) {
      const [expected, provided] = [show(checker, wanted), show(checker, given)];
      const problem = `expected type of field '${name}' is '${expected}' but provided type is '${provided}'`;
      checker.issues.push({ offset, message: problem });
    }
  }
  return type;
}

/** The type of a field of an object; undefined where it has no such field. */
export function fieldType(type: CelType, name: string): CelType | undefined {
  if (type.kind !== "object") return undefined;
  return type.fields.get(name)?.type ?? (type.open === true ? dynType : undefined);
}
