import type { CelElement, CelExpression, CelNode } from "./ast.ts";
import { celError } from "./cel-error.ts";
import {
  applied,
  fieldType,
  message,
  dottedName,
  identifier,
  qualified,
  fits,
  freshType,
  issue,
  localNamed,
  settled,
  show,
  type CelReference,
  type CelResolvedCall,
  type Application,
  type Checker,
  type Locals,
} from "./checker.ts";
import type { Scope } from "./environment.ts";
import type { CelParsed } from "./parser.ts";
import {
  boolType,
  bytesType,
  doubleType,
  dynType,
  intType,
  listType,
  mapType,
  nullType,
  optionalType,
  stringType,
  uintType,
  type CelType,
} from "./types.ts";
import { moreGeneral, newTypeBindings, substitute } from "./unify.ts";
import { kindOf } from "./values.ts";

/** The checker's findings on the nodes of an expression. */
export interface CelChecked {
  readonly root: CelExpression;
  readonly typeOf: (node: CelExpression) => CelType;
  readonly callOf: (node: CelExpression) => CelResolvedCall | undefined;
  readonly referenceOf: (node: CelExpression) => CelReference | undefined;
  /** The variables of the environment that occur. */
  readonly variables: readonly string[];
}

/**
 * Finds the type of every node.
 * @throws CelError `type` naming every problem
 */
export function checkCel(parsed: CelParsed, source: string, scope: Scope): CelChecked {
  const { root } = parsed;
  // Nodes that a macro replaced are never visited.
  const types = Array.from({ length: parsed.nodeCount }, () => dynType);
  const checker: Checker = {
    scope,
    types,
    calls: [],
    references: [],
    issues: [],
    variables: new Set(),
    known: newTypeBindings(),
    fresh: 0,
  };
  check(checker, root, undefined);
  const issues = checker.issues.toSorted((one, other) => one.offset - other.offset);
  if (issues.length > 0) throw celError("type", source, issues.slice(0, 10));
  for (const [id, type] of checker.types.entries()) checker.types[id] = settled(substitute(checker.known, type));
  return {
    root,
    typeOf: (node) => checker.types[node.id] ?? dynType,
    callOf: (node) => checker.calls[node.id],
    referenceOf: (node) => checker.references[node.id],
    variables: [...checker.variables],
  };
}

function check(checker: Checker, node: CelExpression, locals: Locals | undefined): CelType {
  const type = checks[node.kind](checker, node as never, locals);
  checker.types[node.id] = type;
  return type;
}

type Check<K extends CelExpression["kind"]> = (
  checker: Checker,
  node: CelNode<K>,
  locals: Locals | undefined,
) => CelType;

const checks: { readonly [K in CelExpression["kind"]]: Check<K> } = {
  literal: literalType,
  identifier,
  select: (checker, node, locals) =>
    qualified(checker, node, locals) ?? select(checker, node, check(checker, node.operand, locals)),
  has: (checker, node, locals) => {
    checkSelection(checker, node, check(checker, node.operand, locals));
    return boolType;
  },
  call,
  list,
  map,
  message: (checker, node, locals) => message(checker, node, (field) => element(checker, field, locals)),
  comprehension,
  bind: (checker, { variable, value, body }, locals) =>
    check(checker, body, { name: variable, type: check(checker, value, locals), outer: locals }),
  optionalMap,
};

function literalType(_: Checker, { value }: CelNode<"literal">): CelType {
  if (value === null) return nullType;
  if (typeof value === "boolean") return boolType;
  if (typeof value === "string") return stringType;
  if (typeof value === "number" || typeof value === "bigint") return intType;
  if (value instanceof Uint8Array) return bytesType;
  return kindOf(value) === "uint" ? uintType : doubleType;
}

function select(checker: Checker, node: CelNode<"select">, operand: CelType): CelType {
  const type = checkSelection(checker, node, operand);
  const lifted = node.optional || substitute(checker.known, operand).kind === "optional";
  return lifted && type.kind !== "optional" ? optionalType(type) : type;
}

function checkSelection(checker: Checker, node: CelNode<"select" | "has">, operandType: CelType): CelType {
  const found = substitute(checker.known, operandType);
  const operand = found.kind === "optional" ? substitute(checker.known, found.of) : found;
  switch (operand.kind) {
    case "object": {
      return fieldType(operand, node.field) ?? issue(checker, node, `undefined field '${node.field}'`);
    }
    case "map":
      return operand.value;
    case "dyn":
    case "parameter":
      return dynType;
    default:
      return issue(checker, node, `type '${show(checker, operand)}' does not support field selection`);
  }
}

function call(checker: Checker, node: CelNode<"call">, locals: Locals | undefined): CelType {
  const { target } = node;
  if (target === undefined) return resolve(checker, node, { name: node.name, args: node.args, member: false, locals });
  const name = dottedName(target);
  const head = name?.split(".", 1)[0] ?? "";
  if (name !== undefined && localNamed(locals, head) === undefined) {
    const full = `${name.startsWith(".") ? name.slice(1) : name}.${node.name}`;
    if (checker.scope.overloads(full, false) !== undefined) {
      return resolve(checker, node, { name: full, args: node.args, member: false, locals });
    }
  }
  return resolve(checker, node, { name: node.name, args: [target, ...node.args], member: true, locals });
}

type Callee = Pick<Application, "name" | "args" | "member"> & { readonly locals: Locals | undefined };

function resolve(checker: Checker, node: CelExpression, { locals, ...callee }: Callee): CelType {
  return applied(checker, node, { ...callee, types: callee.args.map((argument) => check(checker, argument, locals)) });
}

/** The type of a list's elements so far, and one more: their common type, or dyn. */
function join(checker: Checker, sofar: CelType | undefined, type: CelType): CelType {
  if (sofar === undefined) return type;
  return fits(checker, sofar, type)
    ? moreGeneral(checker.known, substitute(checker.known, sofar), substitute(checker.known, type))
    : dynType;
}

/** The type of an element's value; of an optional one, the type of the value inside. */
function element(checker: Checker, { value, optional }: CelElement, locals: Locals | undefined): CelType {
  const given = check(checker, value, locals);
  if (!optional) return given;
  const type = substitute(checker.known, given);
  if (type.kind === "optional") return type.of;
  if (type.kind === "dyn" || type.kind === "parameter") return dynType;
  return issue(checker, value, `expected type 'optional_type(dyn)' but found '${show(checker, type)}'`);
}

function list(checker: Checker, node: CelNode<"list">, locals: Locals | undefined): CelType {
  let type: CelType | undefined;
  for (const each of node.elements) type = join(checker, type, element(checker, each, locals));
  return listType(type ?? freshType(checker));
}

function map(checker: Checker, node: CelNode<"map">, locals: Locals | undefined): CelType {
  let keyType: CelType | undefined;
  let valueType: CelType | undefined;
  for (const entry of node.entries) {
    keyType = join(checker, keyType, check(checker, entry.key, locals));
    valueType = join(checker, valueType, element(checker, entry, locals));
  }
  return mapType(keyType ?? freshType(checker), valueType ?? freshType(checker));
}

function comprehension(checker: Checker, node: CelNode<"comprehension">, locals: Locals | undefined): CelType {
  const rangeType = check(checker, node.range, locals);
  const [key, value] = rangeTypes(checker, node, rangeType);
  const [first, second] = node.variables;
  const single = substitute(checker.known, rangeType).kind === "map" ? key : value;
  const inner: Locals =
    second === undefined
      ? { name: first, type: single, outer: locals }
      : { name: second, type: value, outer: { name: first, type: key, outer: locals } };
  if (node.condition !== undefined) predicate(checker, node, check(checker, node.condition, inner));
  const transformed = node.transform === undefined ? dynType : check(checker, node.transform, inner);
  if (node.macro === "filter") return listType(single);
  if (node.macro === "map" || node.macro === "transformList") return listType(transformed);
  if (node.macro === "transformMap") return mapType(key, transformed);
  return node.macro === "transformMapEntry"
    ? mapEntry(checker, node, substitute(checker.known, transformed))
    : boolType;
}

function optionalMap(checker: Checker, node: CelNode<"optionalMap">, locals: Locals | undefined): CelType {
  const operand = substitute(checker.known, check(checker, node.operand, locals));
  const known = operand.kind === "optional" || operand.kind === "dyn" || operand.kind === "parameter";
  if (!known) {
    const message = `found no matching overload for 'hasValue' applied to '${show(checker, operand)}.()'`;
    issue(checker, node, message);
  }
  const type = operand.kind === "optional" ? operand.of : dynType;
  const body = substitute(checker.known, check(checker, node.body, { name: node.variable, type, outer: locals }));
  if (!node.flat) return optionalType(body);
  if (body.kind === "optional" || body.kind === "dyn" || body.kind === "parameter") return body;
  return issue(
    checker,
    node,
    `found no matching overload for '_?_:_' applied to '(bool, ${show(checker, body)}, optional_type(dyn))'`,
  );
}

/** The types of a range's two parts: index and element, or key and value. */
function rangeTypes(checker: Checker, node: CelNode<"comprehension">, range: CelType): readonly [CelType, CelType] {
  const type = substitute(checker.known, range);
  switch (type.kind) {
    case "list":
      return [intType, type.element];
    case "map":
      return [type.key, type.value];
    case "dyn":
    case "parameter":
      return [dynType, dynType];
    default: {
      const shown = show(checker, type);
      const message = `expression of type '${shown}' cannot be range of a comprehension (must be list, map, or dynamic)`;
      issue(checker, node.range, message);
      return [dynType, dynType];
    }
  }
}

/** The map that `transformMapEntry` returns, from the type of its transform. */
function mapEntry(checker: Checker, node: CelExpression, type: CelType): CelType {
  if (type.kind === "map" || type.kind === "dyn") return type;
  const applied = `(map(dyn, dyn), ${show(checker, type)})`;
  return issue(checker, node, `found no matching overload for 'cel.@mapInsert' applied to '${applied}'`);
}

/** Reports a predicate that is not boolean, as cel-go does: with the functions of the macro's expansion. */
function predicate(checker: Checker, node: CelNode<"comprehension">, type: CelType): void {
  if (fits(checker, type, boolType)) return;
  const shown = show(checker, type);
  const applied = (name: string, types: string): CelType =>
    issue(checker, node, `found no matching overload for '${name}' applied to '(${types})'`);
  if (node.macro === "all") applied("_&&_", `bool, ${shown}`);
  else if (node.macro === "exists") applied("_||_", `bool, ${shown}`);
  else if (node.macro === "exists_one") applied("_?_:_", `${shown}, int, int`);
  else applied("_?_:_", `${shown}, list(dyn), list(dyn)`);
}
