import type { Comprehension, Import, Literal, Operand, RefTerm, Term, VarTerm, With } from "./ast.ts";
import { builtinNamed } from "./builtins.ts";
import { RegoError, type RegoPlace } from "./rego-error.ts";

/** What names stand for in one module. */
export interface Names {
  readonly package: readonly string[];
  /** The first names of the rules of the package, of whichever module. */
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
  /** Whether anything refers to it; only what `some` and `every` declare has to be. */
  isUsed: boolean;
}

/** Variables of one body; those of the bodies around it are seen from within. */
export interface Scope {
  readonly declared: Map<string, Declared>;
  readonly seen: Set<string>;
  readonly parent: Scope | undefined;
}

/** An empty scope. */
export function newScope(parent?: Scope): Scope {
  return { declared: new Map(), seen: new Set(), parent };
}

function lookUp(name: string, scope: Scope): string | undefined {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent) {
    const found = at.declared.get(name);
    if (found !== undefined) {
      found.isUsed = true;
      return found.unique;
    }
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

/** The reference that a name stands for outside of all scopes; undefined for one that is a variable. */
function globalRef(name: string, names: Names, at: RegoPlace): RefTerm | undefined {
  if (isRoot(name)) return documentRef(name, [], at);
  const found = names.imports.get(name);
  if (found !== undefined) return documentRef(found.path[0] ?? "", found.path.slice(1), at);
  return names.rules.has(name) ? documentRef("data", [...names.package, name], at) : undefined;
}

/** Declares the variables of a pattern. @throws RegoError `rego_compile_error` for one that is taken */
export function declare(term: Term, how: How, scope: Scope, names: Names): Term {
  switch (term.kind) {
    case "var":
      return declareVar(term, how, scope, names);
    case "array":
      return { ...term, items: term.items.map((item) => declare(item, how, scope, names)) };
    case "object":
      return {
        ...term,
        pairs: term.pairs.map(([key, value]) => [resolveTerm(key, scope, names), declare(value, how, scope, names)]),
      };
    case "scalar":
      return term;
    case "set":
    case "call":
    case "ref":
    case "comprehension":
      if (how === "arg" && term.kind === "call")
        throw new RegoError("rego_compile_error", "rule arguments cannot contain calls", term.at);
      if (how === "assigned") throw new RegoError("rego_compile_error", `cannot assign to ${term.kind}`, term.at);
      if (how === "arg" && term.kind === "ref" && term.head.kind === "var" && isRoot(term.head.name))
        throw new RegoError("rego_unsafe_var_error", `var ${term.head.name} is unsafe`, term.at);
      return resolveTerm(term, scope, names);
  }
}

const isRoot = (name: string): boolean => name === "input" || name === "data";

function declareVar(term: VarTerm, how: How, scope: Scope, names: Names): Term {
  const { name, at } = term;
  if (name.startsWith("$")) return term;
  const before = scope.declared.get(name);
  if (before !== undefined && how === "arg") return { ...term, name: before.unique };
  const problem =
    before?.how === "arg"
      ? `arg ${name} redeclared`
      : before !== undefined
        ? `var ${name} ${before.how} above`
        : scope.seen.has(name)
          ? `var ${name} referenced above`
          : isRoot(name)
            ? `${how === "arg" ? "args" : "variables"} must not shadow ${name} (use a different variable name)`
            : undefined;
  if (problem !== undefined) throw new RegoError("rego_compile_error", problem, at);
  const unique = `${name}@${names.fresh()}`;
  scope.declared.set(name, { unique, how, at, isUsed: true });
  return { ...term, name: unique };
}

/** Declares a variable that has to be used. */
function declareForUse(term: Term, at: RegoPlace, scope: Scope, names: Names): Term {
  const declared = declare(term, "declared", scope, names);
  const entry = term.kind === "var" ? scope.declared.get(term.name) : undefined;
  if (entry !== undefined && term.kind === "var") scope.declared.set(term.name, { ...entry, at, isUsed: false });
  return declared;
}

/** @throws RegoError `rego_compile_error` for a variable of the scope that nothing refers to; to be called behind its end */
export function refuseUnused(scope: Scope): void {
  for (const [name, { isUsed, at }] of scope.declared)
    if (!isUsed) throw new RegoError("rego_compile_error", `declared var ${name} unused`, at);
}

/** The term with its names told apart: variables from references to documents. */
export function resolveTerm(term: Term, scope: Scope, names: Names): Term {
  const resolve = (inner: Term): Term => resolveTerm(inner, scope, names);
  switch (term.kind) {
    case "scalar":
      return term;
    case "var": {
      const unique = lookUp(term.name, scope);
      if (unique !== undefined) {
        scope.seen.add(term.name);
        return { ...term, name: unique };
      }
      const ref = globalRef(term.name, names, term.at);
      if (ref !== undefined) return ref;
      scope.seen.add(term.name);
      return term;
    }
    case "ref": {
      const head = resolve(term.head);
      const path = term.path.map(resolve);
      return head.kind === "ref" ? { ...head, path: [...head.path, ...path] } : { ...term, head, path };
    }
    case "call":
      return { ...term, name: functionName(term.name, scope, names), args: term.args.map(resolve) };
    case "array":
    case "set":
      return { ...term, items: term.items.map(resolve) };
    case "object":
      return { ...term, pairs: term.pairs.map(([key, value]) => [resolve(key), resolve(value)]) };
    case "comprehension":
      return resolveComprehension(term, scope, names);
  }
}

/** The whole name of a function: of our own, from `data` on. */
export function functionName(name: readonly string[], scope: Scope, names: Names): readonly string[] {
  const [first = "", ...rest] = name;
  if (lookUp(first, scope) !== undefined || first === "data" || first === "input") return name;
  const found = names.imports.get(first);
  if (found !== undefined) return [...found.path, ...rest];
  return names.rules.has(first) ? ["data", ...names.package, ...name] : name;
}

function resolveComprehension(term: Comprehension, outer: Scope, names: Names): Comprehension {
  const scope = term.isTemplate === true ? outer : newScope(outer);
  const body = resolveBody(term.body, scope, names);
  const key = term.key === undefined ? undefined : resolveTerm(term.key, scope, names);
  const item = resolveTerm(term.item, scope, names);
  if (scope !== outer) refuseUnused(scope);
  return { ...term, body, key, item };
}

/** The same, for a body that nothing else belongs to. */
function resolveWhole(body: readonly Literal[], scope: Scope, names: Names): readonly Literal[] {
  const resolved = resolveBody(body, scope, names);
  refuseUnused(scope);
  return resolved;
}

/** The expressions of a body with their names told apart. @throws RegoError `rego_compile_error` */
export function resolveBody(body: readonly Literal[], scope: Scope, names: Names): readonly Literal[] {
  return body.map((literal) => resolveLiteral(literal, scope, names));
}

function resolveLiteral(literal: Literal, scope: Scope, names: Names): Literal {
  const replaced = literal.with.map((each) => resolveWith(each, scope, names));
  return { ...resolveBare(literal, scope, names), with: replaced };
}

function resolveBare(literal: Literal, scope: Scope, names: Names): Literal {
  const resolve = (term: Term): Term => resolveTerm(term, scope, names);
  switch (literal.kind) {
    case "expression":
      return { ...literal, term: resolve(literal.term) };
    case "assign": {
      const right = resolve(literal.right);
      return { ...literal, left: declare(literal.left, "assigned", scope, names), right };
    }
    case "unify":
      return { ...literal, left: resolve(literal.left), right: resolve(literal.right) };
    case "not":
      refuseAssignment([literal.body], "negated expression");
      return { ...literal, body: resolveLiteral(literal.body, scope, names) };
    case "notBody":
      return { ...literal, inner: resolveOperand(literal.inner, "negated expression", scope, names) };
    case "logical": {
      const { operator } = literal;
      const operand = (each: Operand): Operand => resolveOperand(each, `implicit ${operator} operand`, scope, names);
      return { ...literal, operands: literal.operands.map(operand) };
    }
    case "some":
      for (const each of literal.vars) declareForUse(each, literal.at, scope, names);
      return literal;
    case "someIn": {
      const domain = resolve(literal.domain);
      const key = literal.key === undefined ? undefined : declare(literal.key, "declared", scope, names);
      return { ...literal, domain, key, value: declare(literal.value, "declared", scope, names) };
    }
    case "every": {
      const domain = resolve(literal.domain);
      const inner = newScope(scope);
      const { at } = literal;
      const key = literal.key === undefined ? undefined : declareForUse(literal.key, at, inner, names);
      const value = declareForUse(literal.value, at, inner, names);
      return { ...literal, domain, key, value, body: resolveWhole(literal.body, inner, names) };
    }
  }
}

// oxlint-disable-next-line max-params
function resolveOperand({ body, isExplicit }: Operand, what: string, scope: Scope, names: Names): Operand {
  if (isExplicit) return { isExplicit, body: resolveWhole(body, newScope(scope), names) };
  refuseAssignment(body, what);
  return { isExplicit, body: resolveBody(body, scope, names) };
}

/** What a single expression assigns would be seen by nobody. */
function refuseAssignment(body: readonly Literal[], what: string): void {
  const found = body.find(({ kind }) => kind === "assign");
  if (found !== undefined) throw new RegoError("rego_compile_error", `cannot assign vars inside ${what}`, found.at);
}

/** The name of a function as a call, so that it is told from a variable. */
function resolveWith({ target, value }: With, scope: Scope, names: Names): With {
  return { target: functionOr(target, scope, names), value: functionOr(value, scope, names) };
}

function functionOr(term: Term, scope: Scope, names: Names): Term {
  const { head, path } = term.kind === "ref" ? term : { head: term, path: [] };
  if (head.kind !== "var" || lookUp(head.name, scope) !== undefined) return resolveTerm(term, scope, names);
  if (globalRef(head.name, names, term.at) !== undefined) return resolveTerm(term, scope, names);
  const name = [head.name];
  for (const part of path) {
    if (part.kind !== "scalar" || typeof part.value !== "string") return resolveTerm(term, scope, names);
    name.push(part.value);
  }
  if (builtinNamed(name.join(".")) === undefined) return resolveTerm(term, scope, names);
  return { kind: "call", name: [name.join(".")], args: [], at: term.at };
}
