import {
  isDocument,
  mapMembers,
  type CallTerm,
  type Comprehension,
  type Literal,
  type Operand,
  type RefTerm,
  type Term,
  type With,
} from "./ast.ts";
import type { RegoPlace } from "./rego-error.ts";

/** One step of a body after nested calls, iterations and comprehensions were extracted. Its terms contain none of these. */
export type Goal =
  | { readonly kind: "unify"; readonly left: Term; readonly right: Term; readonly at: RegoPlace }
  | { readonly kind: "truth"; readonly term: Term; readonly at: RegoPlace }
  | { readonly kind: "scan"; readonly ref: RefTerm; readonly out: Term; readonly at: RegoPlace }
  | CallGoal
  | ClosureGoal
  | {
      readonly kind: "someIn";
      readonly key: Term | undefined;
      readonly value: Term;
      readonly domain: Term;
      readonly at: RegoPlace;
    }
  | EveryGoal
  | NotGoal
  | WithGoal;

export interface CallGoal {
  readonly kind: "call";
  readonly name: readonly string[];
  readonly args: readonly Term[];
  /** The required value; without it, anything but false. */
  readonly out: Term | undefined;
  readonly at: RegoPlace;
}

/** A comprehension; `item` and `key` belong to its body. */
export interface ClosureGoal {
  readonly kind: "closure";
  readonly makes: Comprehension["makes"];
  readonly key: Term | undefined;
  readonly item: Term;
  readonly body: readonly Goal[];
  readonly out: Term;
  readonly isTemplate: boolean;
  readonly at: RegoPlace;
}

export interface EveryGoal {
  readonly kind: "every";
  readonly key: Term | undefined;
  readonly value: Term;
  readonly domain: Term;
  readonly body: readonly Goal[];
  readonly at: RegoPlace;
}

export interface NotGoal {
  readonly kind: "not";
  readonly body: readonly Goal[];
  /** Whether the body has variables of its own. */
  readonly isExplicit: boolean;
  readonly at: RegoPlace;
}

export interface WithGoal {
  readonly kind: "with";
  readonly replaced: readonly With[];
  readonly body: readonly Goal[];
  readonly at: RegoPlace;
}

/** Creates variables whose names cannot occur in a source. */
export type Fresh = () => number;

/** Where the goals of a body are collected. */
export interface Collecting {
  readonly goals: Goal[];
  readonly fresh: Fresh;
}

/** Splits a body into goals. */
export function goalsOf(body: readonly Literal[], fresh: Fresh): readonly Goal[] {
  const goals: Goal[] = [];
  for (const literal of body) addLiteral(literal, { goals, fresh });
  return goals;
}

function freshVar({ fresh }: Pick<Collecting, "fresh">, at: RegoPlace): Term {
  return { kind: "var", name: `%${fresh()}`, at };
}

function addLiteral(literal: Literal, to: Collecting): void {
  if (literal.with.length === 0) return addBare(literal, to);
  const body: Goal[] = [];
  addBare(literal, { ...to, goals: body });
  const replaced = literal.with.map(({ target, value }) => ({ target, value: valueOfWith(value, to) }));
  to.goals.push({ kind: "with", replaced, body, at: literal.at });
}

function valueOfWith(value: Term, to: Collecting): Term {
  // A call without arguments may be the name of a function: see functionOr in resolve.ts.
  return value.kind === "call" && value.args.length === 0 ? value : simple(value, to);
}

type LiteralOf<K extends Literal["kind"]> = Extract<Literal, { readonly kind: K }>;

function addBare(literal: Literal, to: Collecting): void {
  const { goals, fresh } = to;
  const { at } = literal;
  switch (literal.kind) {
    case "expression":
      return addExpression(literal, to);
    case "assign":
    case "unify":
      return addUnify(literal.left, literal.right, to);
    case "not": {
      const body: Goal[] = [];
      addNegated(literal.body, { goals: body, fresh }, to);
      goals.push({ kind: "not", body, isExplicit: false, at });
      return;
    }
    case "notBody":
      goals.push(negate(literal.inner, at, fresh));
      return;
    case "logical":
      goals.push(...logical(literal, fresh));
      return;
    case "some":
      return;
    case "someIn":
      return addSomeIn(literal, to);
    case "every": {
      const { key, value } = literal;
      const domain = simple(literal.domain, to);
      goals.push({ kind: "every", key, value, domain, body: goalsOf(literal.body, fresh), at });
    }
  }
}

function addSomeIn(literal: LiteralOf<"someIn">, to: Collecting): void {
  const domain = simple(literal.domain, to);
  const key = literal.key && simple(literal.key, to);
  to.goals.push({ kind: "someIn", key, value: simple(literal.value, to), domain, at: literal.at });
}

function addExpression({ term, at }: LiteralOf<"expression">, to: Collecting): void {
  if (term.kind !== "call") to.goals.push({ kind: "truth", term: simple(term, to), at });
  // The output of `print` is not shown; its arguments may have no value.
  else if (term.name.join(".") !== "print") addCall(term, undefined, to);
}

function negate({ body, isExplicit }: Operand, at: RegoPlace, fresh: Fresh): NotGoal {
  return { kind: "not", body: goalsOf(body, fresh), isExplicit, at };
}

/** `and` and `or` as negations, which bind nothing and have one solution at most: `a or b` is `not {not a; not b}`. */
function logical({ operands, operator, at }: LiteralOf<"logical">, fresh: Fresh): readonly Goal[] {
  const negations = operands.map((operand) => negate(operand, at, fresh));
  const not = (...body: readonly Goal[]): Goal => ({ kind: "not", body, isExplicit: true, at });
  return operator === "or" ? [not(...negations)] : negations.map((each) => not(each));
}

/**
 * Splits a negated expression as OPA does: operands of calls are evaluated before, so that `not f(x)` has no value where `x` has none;
 * operands of `==` or `=`, and a bare reference, are evaluated inside.
 */
function addNegated(literal: Literal, inside: Collecting, before: Collecting): void {
  /** One side of a comparison inside the negation. */
  const side = (term: Term): Term => {
    if (term.kind !== "ref") return valueParts(term, before);
    const head = simple(term.head, before);
    const path = term.path.map((part) => valueTerm(part, before));
    return simple({ ...term, head, path }, inside);
  };
  const compare = (left: Term, right: Term): void => {
    inside.goals.push({ kind: "unify", left: side(left), right: side(right), at: left.at });
  };
  if (literal.kind === "unify") return compare(literal.left, literal.right);
  if (literal.kind !== "expression") return addLiteral(literal, inside);
  const { term, at } = literal;
  if (term.kind !== "call") {
    inside.goals.push({ kind: "truth", term: side(term), at: term.at });
    return;
  }
  const [left, right] = term.args;
  if (term.name[0] === "equal" && left !== undefined && right !== undefined) return compare(left, right);
  const args = term.args.map((arg) => (arg.kind === "ref" ? valueTerm(arg, before) : valueParts(arg, before)));
  inside.goals.push({ kind: "call", name: term.name, args, out: undefined, at });
}

/** A variable for the value of the term, or the term itself where it is a variable or a constant. */
function valueTerm(term: Term, to: Collecting): Term {
  const right = simple(term, to);
  if (right.kind !== "ref") return right;
  const left = freshVar(to, term.at);
  to.goals.push({ kind: "unify", left, right, at: term.at });
  return left;
}

/** The term with variables for the values of its references. */
function valueParts(term: Term, to: Collecting): Term {
  if (term.kind !== "array" && term.kind !== "set" && term.kind !== "object") return simple(term, to);
  return mapMembers(term, (inner) => (inner.kind === "ref" ? valueTerm(inner, to) : valueParts(inner, to)));
}

function addUnify(left: Term, right: Term, to: Collecting): void {
  if (isComplex(right)) return addInto(right, simple(left, to), to);
  if (isComplex(left)) return addInto(left, simple(right, to), to);
  to.goals.push({ kind: "unify", left: simple(left, to), right: simple(right, to), at: left.at });
}

type Complex = CallTerm | Comprehension | RefTerm;

/** Whether the term itself, its parts aside, is more than a value or a path in a document. */
function isComplex(term: Term): term is Complex {
  return term.kind === "call" || term.kind === "comprehension" || (term.kind === "ref" && !isDirect(term));
}

/** Whether a reference names one path: it has no variables but its head. */
function isDirect({ head, path }: RefTerm): boolean {
  return head.kind === "var" && path.every(isGround);
}

function isGround(term: Term): boolean {
  if (term.kind === "scalar") return true;
  return term.kind === "ref" && term.head.kind === "var" && isDocument(term.head.name) && isDirect(term);
}

/** Adds the goals that unify `out` with the value of the term. */
function addInto(term: Complex, out: Term, to: Collecting): void {
  if (term.kind === "call") return addCall(term, out, to);
  if (term.kind === "comprehension") return addComprehension(term, out, to);
  const head = simple(term.head, to);
  const path = term.path.map((part) => simple(part, to));
  to.goals.push({ kind: "scan", ref: { ...term, head, path }, out, at: term.at });
}

function addComprehension(term: Comprehension, out: Term, { goals, fresh }: Collecting): void {
  const { at, makes } = term;
  const isTemplate = term.isTemplate === true;
  const [only] = term.body;
  // A variable of a template is evaluated in place.
  if (isTemplate && only?.kind === "unify" && only.right.kind === "var" && only.with.length === 0) {
    goals.push({ kind: "unify", left: out, right: { kind: "set", items: [only.right], at }, at });
    return;
  }
  const body: Goal[] = [...goalsOf(term.body, fresh)];
  const key = term.key && simple(term.key, { goals: body, fresh });
  const item = simple(term.item, { goals: body, fresh });
  goals.push({ kind: "closure", makes, key, item, body, out, isTemplate, at });
}

function addCall({ name, args, at }: CallTerm, out: Term | undefined, to: Collecting): void {
  to.goals.push({ kind: "call", name, args: args.map((arg) => simple(arg, to)), out, at });
}

/** The term with calls, iterations and comprehensions extracted into goals that precede it. */
export function simple(term: Term, to: Collecting): Term {
  if (term.kind === "array" || term.kind === "set" || term.kind === "object")
    return mapMembers(term, (inner) => simple(inner, to));
  if (!isComplex(term)) return term;
  const out = freshVar(to, term.at);
  addInto(term, out, to);
  return out;
}

/** The terms of a goal outside of its body. */
export function termsOf(goal: Goal): readonly Term[] {
  return termsOrNone(goal).filter((term) => term !== undefined);
}

function termsOrNone(goal: Goal): readonly (Term | undefined)[] {
  switch (goal.kind) {
    case "unify":
      return [goal.left, goal.right];
    case "truth":
      return [goal.term];
    case "scan":
      return [goal.ref, goal.out];
    case "call":
      return [...goal.args, goal.out];
    case "closure":
      return [goal.out];
    case "someIn":
      return [goal.key, goal.value, goal.domain];
    case "every":
      return [goal.domain];
    case "not":
      return [];
    case "with":
      return goal.replaced.map(({ value }) => value);
  }
}

/** The terms of a goal that belong to its body: the parts of a comprehension, and the variables of `every`. */
export function bodyTermsOf(goal: Goal): readonly Term[] {
  const terms = goal.kind === "closure" ? [goal.key, goal.item] : goal.kind === "every" ? [goal.key, goal.value] : [];
  return terms.filter((term) => term !== undefined);
}
