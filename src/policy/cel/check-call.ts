import type { CelExpression } from "./ast.ts";
import { freshType, issue, show, undeclared, type Checker } from "./checker.ts";
import type { CelFunction } from "./environment.ts";
import { dynType, innerTypes, type CelType } from "./types.ts";
import { newTypeBindings, sameType, substitute, unify } from "./unify.ts";

/** A function by its name, with the arguments' types; of a member the receiver comes first. */
export interface Application {
  readonly name: string;
  readonly args: readonly CelExpression[];
  readonly member: boolean;
  readonly types: readonly CelType[];
}

/** The result type of a call, by all overloads that fit; several results make it dyn. */
export function applied(checker: Checker, node: CelExpression, application: Application): CelType {
  const { name, args, member, types } = application;
  const overloads = checker.scope.overloads(name, member);
  const declared = overloads ?? checker.scope.overloads(name, !member);
  if (declared === undefined) return undeclared(checker, node, name);
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
