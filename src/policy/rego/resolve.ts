import {
  dottedName,
  mapMembers,
  isDocument,
  type Comprehension,
  type Import,
  type Literal,
  type Operand,
  type RefTerm,
  type Term,
  type VarTerm,
  type With,
} from "./ast.ts";
import { builtinNamed } from "./builtins.ts";
import { RegoError, type RegoPlace } from "./rego-error.ts";

/** The meanings of names in one module. */
export interface Names {
  readonly package: readonly string[];
  /** The first names of the rules of the package, in all its modules. */
  readonly rules: ReadonlySet<string>;
  readonly imports: ReadonlyMap<string, Import>;
  /** A number that is new in this rule. */
  readonly fresh: () => number;
}

type How = "declared" | "assigned" | "arg";

interface Declared {
  readonly unique: string;
  readonly how: How;
  readonly at: RegoPlace;
  /** Whether anything refers to it; required only of variables that `some` and `every` declare. */
  isUsed: boolean;
}

/** Variables of one body; those of the enclosing bodies are visible inside. */
export interface Scope {
  readonly declared: Map<string, Declared>;
  readonly seen: Set<string>;
  readonly parent: Scope | undefined;
}

/** An empty scope. */
export function newScope(parent?: Scope): Scope {
  return { declared: new Map(), seen: new Set(), parent };
}

/** The scope and the module of a name. */
export interface Where {
  readonly scope: Scope;
  readonly names: Names;
}

function lookUp(name: string, { scope }: Where): string | undefined {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent) {
    const found = at.declared.get(name);
    if (found === undefined) continue;
    found.isUsed = true;
    return found.unique;
  }
  return undefined;
}

/** A reference that begins at a document: `data.a.b`. */
export function documentRef(root: string, path: readonly string[], at: RegoPlace): RefTerm {
  return {
    kind: "ref",
    head: { kind: "var", name: root, at },
    path: path.map((value) => ({ kind: "scalar", value, at })),
    at,
  };
}

/** The reference that a name means outside of all scopes; undefined for a variable. */
function globalRef(name: string, names: Names, at: RegoPlace): RefTerm | undefined {
  if (isDocument(name)) return documentRef(name, [], at);
  const found = names.imports.get(name);
  if (found !== undefined) return documentRef(found.path[0] ?? "", found.path.slice(1), at);
  return names.rules.has(name) ? documentRef("data", [...names.package, name], at) : undefined;
}

/** Declares the variables of a pattern. @throws RegoError `rego_compile_error` for a name that is in use */
export function declare(term: Term, how: How, where: Where): Term {
  const inner = (part: Term): Term => declare(part, how, where);
  switch (term.kind) {
    case "var":
      return declareVar(term, how, where);
    case "scalar":
      return term;
    case "array":
      return { ...term, items: term.items.map(inner) };
    case "object":
      return { ...term, pairs: term.pairs.map(([key, value]) => [resolveTerm(key, where), inner(value)]) };
    default:
      refusePattern(term, how);
      return resolveTerm(term, where);
  }
}

function refusePattern(term: Term, how: How): void {
  if (how === "assigned") throw new RegoError("rego_compile_error", `cannot assign to ${term.kind}`, term.at);
  if (how !== "arg") return;
  if (term.kind === "call") throw new RegoError("rego_compile_error", "rule arguments cannot contain calls", term.at);
  if (term.kind === "ref" && term.head.kind === "var" && isDocument(term.head.name))
    throw new RegoError("rego_unsafe_var_error", `var ${term.head.name} is unsafe`, term.at);
}

function declareVar(term: VarTerm, how: How, where: Where): Term {
  const { scope, names } = where;
  const { name, at } = term;
  if (name.startsWith("$")) return term;
  const before = scope.declared.get(name);
  if (before !== undefined && how === "arg") return { ...term, name: before.unique };
  const problem = before === undefined ? nameProblem(name, how, scope) : declaredProblem(name, before.how);
  if (problem !== undefined) throw new RegoError("rego_compile_error", problem, at);
  const unique = `${name}@${names.fresh()}`;
  scope.declared.set(name, { unique, how, at, isUsed: true });
  return { ...term, name: unique };
}

function declaredProblem(name: string, how: How): string {
  return how === "arg" ? `arg ${name} redeclared` : `var ${name} ${how} above`;
}

function nameProblem(name: string, how: How, { seen }: Scope): string | undefined {
  if (seen.has(name)) return `var ${name} referenced above`;
  const what = how === "arg" ? "args" : "variables";
  return isDocument(name) ? `${what} must not shadow ${name} (use a different variable name)` : undefined;
}

/** Declares a variable that must be used. */
function declareForUse(term: Term, at: RegoPlace, where: Where): Term {
  const { declared: known } = where.scope;
  const declared = declare(term, "declared", where);
  const entry = term.kind === "var" ? known.get(term.name) : undefined;
  if (entry !== undefined && term.kind === "var") known.set(term.name, { ...entry, at, isUsed: false });
  return declared;
}

/** @throws RegoError `rego_compile_error` for a variable of the scope that nothing refers to; called at the end of the scope */
export function refuseUnused(scope: Scope): void {
  for (const [name, { isUsed, at }] of scope.declared)
    if (!isUsed) throw new RegoError("rego_compile_error", `declared var ${name} unused`, at);
}

/** The term with its names resolved: variables, or references to documents. */
export function resolveTerm(term: Term, where: Where): Term {
  const resolve = (inner: Term): Term => resolveTerm(inner, where);
  switch (term.kind) {
    case "scalar":
      return term;
    case "var":
      return resolveVar(term, where);
    case "ref": {
      const head = resolve(term.head);
      const path = term.path.map(resolve);
      return head.kind === "ref" ? { ...head, path: [...head.path, ...path] } : { ...term, head, path };
    }
    case "call":
      return { ...term, name: functionName(term.name, where), args: term.args.map(resolve) };
    case "array":
    case "set":
    case "object":
      return mapMembers(term, resolve);
    case "comprehension":
      return resolveComprehension(term, where);
  }
}

function resolveVar(term: VarTerm, where: Where): Term {
  const unique = lookUp(term.name, where);
  const ref = unique === undefined ? globalRef(term.name, where.names, term.at) : undefined;
  if (ref !== undefined) return ref;
  where.scope.seen.add(term.name);
  return unique === undefined ? term : { ...term, name: unique };
}

/** The full name of a function: for a function of the policy, from `data` on. */
export function functionName(name: readonly string[], where: Where): readonly string[] {
  const { names } = where;
  const [first = "", ...rest] = name;
  if (lookUp(first, where) !== undefined || isDocument(first)) return name;
  const found = names.imports.get(first);
  if (found !== undefined) return [...found.path, ...rest];
  return names.rules.has(first) ? ["data", ...names.package, ...name] : name;
}

function resolveComprehension(term: Comprehension, outer: Where): Comprehension {
  const where = term.isTemplate === true ? outer : within(outer);
  const body = resolveBody(term.body, where);
  const key = term.key && resolveTerm(term.key, where);
  const item = resolveTerm(term.item, where);
  if (where !== outer) refuseUnused(where.scope);
  return { ...term, body, key, item };
}

function within({ scope, names }: Where): Where {
  return { scope: newScope(scope), names };
}

/** The same, for a body with a scope of its own. */
function resolveWhole(body: readonly Literal[], where: Where): readonly Literal[] {
  const resolved = resolveBody(body, where);
  refuseUnused(where.scope);
  return resolved;
}

/** The expressions of a body with their names resolved. @throws RegoError `rego_compile_error` */
export function resolveBody(body: readonly Literal[], where: Where): readonly Literal[] {
  return body.map((literal) => resolveLiteral(literal, where));
}

function resolveLiteral(literal: Literal, where: Where): Literal {
  const replaced = literal.with.map((each) => resolveWith(each, where));
  return { ...resolveBare(literal, where), with: replaced };
}

type KindOf<K> = K extends "assign" | "unify" ? "assign" | "unify" : K;
type LiteralOf<K> = Extract<Literal, { readonly kind: KindOf<K> }>;

const resolvers: { readonly [K in Literal["kind"]]: (literal: LiteralOf<K>, where: Where) => Literal } = {
  expression: (literal, where) => ({ ...literal, term: resolveTerm(literal.term, where) }),
  assign: (literal, where) => {
    const right = resolveTerm(literal.right, where);
    return { ...literal, left: declare(literal.left, "assigned", where), right };
  },
  unify: (literal, where) => {
    const left = resolveTerm(literal.left, where);
    return { ...literal, left, right: resolveTerm(literal.right, where) };
  },
  not: (literal, where) => {
    refuseAssignment([literal.body], "negated expression");
    return { ...literal, body: resolveLiteral(literal.body, where) };
  },
  notBody: (literal, where) => ({ ...literal, inner: resolveOperand(literal.inner, "negated expression", where) }),
  logical: (literal, where) => {
    const what = `implicit ${literal.operator} operand`;
    return { ...literal, operands: literal.operands.map((each) => resolveOperand(each, what, where)) };
  },
  some: (literal, where) => {
    for (const each of literal.vars) declareForUse(each, literal.at, where);
    return literal;
  },
  someIn: (literal, where) => {
    const domain = resolveTerm(literal.domain, where);
    const key = literal.key && declare(literal.key, "declared", where);
    return { ...literal, domain, key, value: declare(literal.value, "declared", where) };
  },
  every: (literal, where) => {
    const { at } = literal;
    const domain = resolveTerm(literal.domain, where);
    const inner = within(where);
    const key = literal.key && declareForUse(literal.key, at, inner);
    const value = declareForUse(literal.value, at, inner);
    return { ...literal, domain, key, value, body: resolveWhole(literal.body, inner) };
  },
};

function resolveBare(literal: Literal, where: Where): Literal {
  return resolvers[literal.kind](literal as never, where);
}

function resolveOperand({ body, isExplicit }: Operand, what: string, where: Where): Operand {
  if (isExplicit) return { isExplicit, body: resolveWhole(body, within(where)) };
  refuseAssignment(body, what);
  return { isExplicit, body: resolveBody(body, where) };
}

/** Nothing can read a variable that a single expression assigns. */
function refuseAssignment(body: readonly Literal[], what: string): void {
  const found = body.find(({ kind }) => kind === "assign");
  if (found !== undefined) throw new RegoError("rego_compile_error", `cannot assign vars inside ${what}`, found.at);
}

/** The name of a function as a call, which distinguishes it from a variable. */
function resolveWith({ target, value }: With, where: Where): With {
  return { target: functionOr(target, where), value: functionOr(value, where) };
}

function functionOr(term: Term, where: Where): Term {
  const name = dottedName(term);
  const [first] = name ?? [];
  if (name === undefined || first === undefined) return resolveTerm(term, where);
  const isKnown = lookUp(first, where) !== undefined || globalRef(first, where.names, term.at) !== undefined;
  if (isKnown || builtinNamed(name.join(".")) === undefined) return resolveTerm(term, where);
  return { kind: "call", name: [name.join(".")], args: [], at: term.at };
}
