import type { RegoPlace } from "./rego-error.ts";
import type { RegoValue } from "./values.ts";

/** A term. Variables are named as in the source, `_` as `$n`; after resolution, declared ones are `name@n`. */
export type Term =
  | { readonly kind: "scalar"; readonly value: RegoValue; readonly at: RegoPlace }
  | VarTerm
  | RefTerm
  | CallTerm
  | Composite
  | Comprehension;

type Composite =
  | { readonly kind: "array" | "set"; readonly items: readonly Term[]; readonly at: RegoPlace }
  | { readonly kind: "object"; readonly pairs: readonly (readonly [Term, Term])[]; readonly at: RegoPlace };

export interface VarTerm {
  readonly kind: "var";
  readonly name: string;
  readonly at: RegoPlace;
}

/** `head.path…`; a part after a dot is a string. */
export interface RefTerm {
  readonly kind: "ref";
  readonly head: Term;
  readonly path: readonly Term[];
  readonly at: RegoPlace;
}

export interface CallTerm {
  readonly kind: "call";
  /** The parts of the name. */
  readonly name: readonly string[];
  readonly args: readonly Term[];
  readonly at: RegoPlace;
}

/** `[item | body]`, `{item | body}`, `{key: item | body}`. */
export interface Comprehension {
  readonly kind: "comprehension";
  readonly makes: "array" | "set" | "object";
  readonly key: Term | undefined;
  readonly item: Term;
  readonly body: readonly Literal[];
  /** Whether it is an expression of a template: its variables are those of the enclosing bodies. */
  readonly isTemplate?: boolean;
  readonly at: RegoPlace;
}

export interface With {
  readonly target: Term;
  readonly value: Term;
}

/** One expression of a body. */
export type Literal = (
  | { readonly kind: "expression"; readonly term: Term }
  | { readonly kind: "assign" | "unify"; readonly left: Term; readonly right: Term }
  | { readonly kind: "not"; readonly body: Literal }
  /** `not` of `future.keywords.not`: evaluates all of its operand inside. */
  | { readonly kind: "notBody"; readonly inner: Operand }
  /** Two operands or more; a chain of one operator is flat, as chains can be long. */
  | { readonly kind: "logical"; readonly operator: "and" | "or"; readonly operands: readonly Operand[] }
  | { readonly kind: "some"; readonly vars: readonly VarTerm[] }
  | { readonly kind: "someIn"; readonly key: Term | undefined; readonly value: Term; readonly domain: Term }
  | {
      readonly kind: "every";
      readonly key: Term | undefined;
      readonly value: Term;
      readonly domain: Term;
      readonly body: readonly Literal[];
    }
) & { readonly with: readonly With[]; readonly at: RegoPlace };

/** The operand of `not`, `and` or `or`: one expression, or a body in braces, which has variables of its own. */
export interface Operand {
  readonly body: readonly Literal[];
  readonly isExplicit: boolean;
}

/** The value of a rule when its body is true. */
export interface Branch {
  readonly value: Term;
  readonly body: readonly Literal[];
}

export interface Rule {
  /** The head: the name of the rule, then strings and terms. */
  readonly path: readonly Term[];
  /** Of a function. */
  readonly args: readonly Term[] | undefined;
  /** Of a set: `contains member`. */
  readonly member: Term | undefined;
  /** The rule and its `else`s, in order. */
  readonly branches: readonly Branch[];
  readonly isDefault: boolean;
  readonly at: RegoPlace;
}

export interface Import {
  readonly alias: string;
  readonly path: readonly string[];
  readonly at: RegoPlace;
}

export interface Module {
  readonly file: string;
  /** Below `data`. */
  readonly package: readonly string[];
  readonly at: RegoPlace;
  readonly imports: readonly Import[];
  readonly rules: readonly Rule[];
  readonly version: RegoVersion;
}

/** v0 has the keywords `if`, `contains`, `in` and `every` only where they are imported, and rules without them. */
export type RegoVersion = "v0" | "v1";

/** The direct subterms of a term, except those of calls and comprehensions. */
export function innerTerms(term: Term): readonly Term[] {
  switch (term.kind) {
    case "ref":
      return [term.head, ...term.path];
    case "array":
    case "set":
      return term.items;
    case "object":
      return term.pairs.flat();
    default:
      return [];
  }
}

/** A composite with its items, keys and members replaced. */
export function mapMembers(term: Composite, change: (inner: Term) => Term): Composite {
  if (term.kind === "object")
    return { ...term, pairs: term.pairs.map(([key, value]) => [change(key), change(value)] as const) };
  return { ...term, items: term.items.map(change) };
}

/** The names that a path begins with. */
export function leadingNames(path: readonly Term[]): readonly string[] {
  const names: string[] = [];
  for (const part of path) {
    if (part.kind !== "scalar" || typeof part.value !== "string") break;
    names.push(part.value);
  }
  return names;
}

/** The parts of a name such as `a.b` or `a["b"]`; undefined for any other term. */
export function dottedName(term: Term): readonly string[] | undefined {
  if (term.kind === "var") return [term.name];
  if (term.kind !== "ref" || term.head.kind !== "var") return undefined;
  const names = leadingNames(term.path);
  return names.length === term.path.length ? [term.head.name, ...names] : undefined;
}

/** Whether a name is a document and not a variable. */
export function isDocument(name: string): boolean {
  return name === "input" || name === "data";
}
