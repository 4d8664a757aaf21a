import type { Comprehension, Literal, Operand, RefTerm, Term, With } from "./ast.ts";
import type { RegoPlace } from "./rego-error.ts";

/** One step of a body after nested calls, iterations and comprehensions were taken apart. Its terms hold none of these. */
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
  /** What the value must be; without it, anything but false. */
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

/** Makes variables that no source can name. */
export type Fresh = () => number;

/** Takes a body apart. */
export function goalsOf(body: readonly Literal[], fresh: Fresh): readonly Goal[] {
  const goals: Goal[] = [];
  for (const literal of body) addLiteral(literal, goals, fresh);
  return goals;
}

function addLiteral(literal: Literal, goals: Goal[], fresh: Fresh): void {
  if (literal.with.length === 0) return addBare(literal, goals, fresh);
  const body: Goal[] = [];
  addBare(literal, body, fresh);
  const replaced = literal.with.map(({ target, value }) => ({ target, value: valueOfWith(value, goals, fresh) }));
  goals.push({ kind: "with", replaced, body, at: literal.at });
}

function valueOfWith(value: Term, goals: Goal[], fresh: Fresh): Term {
  // A call without arguments may be the name of a function: see functionOr in resolve.ts.
  return value.kind === "call" && value.args.length === 0 ? value : simple(value, goals, fresh);
}

function addBare(literal: Literal, goals: Goal[], fresh: Fresh): void {
  const { at } = literal;
  switch (literal.kind) {
    case "expression": {
      const { term } = literal;
      // What it would print is nobody's business here, and may have no value.
      if (term.kind === "call" && term.name.join(".") === "print") return;
      if (term.kind === "call") addCall(term, undefined, goals, fresh);
      else goals.push({ kind: "truth", term: simple(term, goals, fresh), at });
      return;
    }
    case "assign":
    case "unify":
      return addUnify(literal.left, literal.right, goals, fresh);
    case "not": {
      const body: Goal[] = [];
      addNegated(literal.body, { inside: body, before: goals }, fresh);
      goals.push({ kind: "not", body, isExplicit: false, at });
      return;
    }
    case "notBody":
      goals.push(negated(literal.inner, at, fresh));
      return;
    case "logical":
      goals.push(...logical(literal, fresh));
      return;
    case "some":
      return;
    case "someIn": {
      const domain = simple(literal.domain, goals, fresh);
      const key = literal.key === undefined ? undefined : simple(literal.key, goals, fresh);
      goals.push({ kind: "someIn", key, value: simple(literal.value, goals, fresh), domain, at });
      return;
    }
    case "every": {
      const { key, value } = literal;
      const domain = simple(literal.domain, goals, fresh);
      goals.push({ kind: "every", key, value, domain, body: goalsOf(literal.body, fresh), at });
    }
  }
}

function negated({ body, isExplicit }: Operand, at: RegoPlace, fresh: Fresh): NotGoal {
  return { kind: "not", body: goalsOf(body, fresh), isExplicit, at };
}

/** `and` and `or` as negations, which bind nothing and hold in one way at most: `a or b` is `not {not a; not b}`. */
function logical(literal: Extract<Literal, { readonly kind: "logical" }>, fresh: Fresh): readonly Goal[] {
  const { at } = literal;
  const negations = literal.operands.map((operand) => negated(operand, at, fresh));
  const not = (...body: readonly Goal[]): Goal => ({ kind: "not", body, isExplicit: true, at });
  return literal.operator === "or" ? [not(...negations)] : negations.map((each) => not(each));
}

interface Places {
  readonly inside: Goal[];
  readonly before: Goal[];
}

/**
 * Takes apart what is negated as OPA does: operands of calls are evaluated before, so that `not f(x)` has no value where `x` has none;
 * what is compared with `==` or `=`, and a reference itself, are evaluated within.
 */
function addNegated(literal: Literal, { inside, before }: Places, fresh: Fresh): void {
  const operand = (term: Term): Term =>
    term.kind === "ref" ? valued(term, before, fresh) : partsValued(term, before, fresh);
  if (literal.kind === "expression") {
    const { term, at } = literal;
    if (term.kind !== "call") return addCompared(term, undefined, { inside, before }, fresh);
    const [left, right] = term.args;
    if (term.name[0] === "equal" && left !== undefined && right !== undefined)
      return addCompared(left, right, { inside, before }, fresh);
    inside.push({ kind: "call", name: term.name, args: term.args.map(operand), out: undefined, at });
  } else if (literal.kind === "unify") addCompared(literal.left, literal.right, { inside, before }, fresh);
  else addLiteral(literal, inside, fresh);
}

function addCompared(left: Term, right: Term | undefined, { inside, before }: Places, fresh: Fresh): void {
  const side = (term: Term): Term => {
    if (term.kind !== "ref") return partsValued(term, before, fresh);
    const head = simple(term.head, before, fresh);
    const path = term.path.map((part) => valued(part, before, fresh));
    return simple({ ...term, head, path }, inside, fresh);
  };
  const { at } = left;
  if (right === undefined) inside.push({ kind: "truth", term: side(left), at });
  else inside.push({ kind: "unify", left: side(left), right: side(right), at });
}

/** A variable for what the term is worth, unless it is one or a constant already. */
function valued(term: Term, goals: Goal[], fresh: Fresh): Term {
  const found = simple(term, goals, fresh);
  if (found.kind !== "ref") return found;
  const out: Term = { kind: "var", name: `%${fresh()}`, at: term.at };
  goals.push({ kind: "unify", left: out, right: found, at: term.at });
  return out;
}

/** The term with variables for what the references in it are worth. */
function partsValued(term: Term, goals: Goal[], fresh: Fresh): Term {
  const part = (inner: Term): Term =>
    inner.kind === "ref" ? valued(inner, goals, fresh) : partsValued(inner, goals, fresh);
  if (term.kind === "array" || term.kind === "set") return { ...term, items: term.items.map(part) };
  if (term.kind === "object") return { ...term, pairs: term.pairs.map(([key, value]) => [part(key), part(value)]) };
  return simple(term, goals, fresh);
}

function addUnify(left: Term, right: Term, goals: Goal[], fresh: Fresh): void {
  if (isComplex(right)) return addInto(right, simple(left, goals, fresh), goals, fresh);
  if (isComplex(left)) return addInto(left, simple(right, goals, fresh), goals, fresh);
  goals.push({
    kind: "unify",
    left: simple(left, goals, fresh),
    right: simple(right, goals, fresh),
    at: left.at,
  });
}

/** Whether the term itself, its parts aside, is more than a value or a place in a document. */
function isComplex(term: Term): boolean {
  return term.kind === "call" || term.kind === "comprehension" || (term.kind === "ref" && !isDirect(term));
}

/** Whether a reference names one place: it has no variables but its head. */
function isDirect({ head, path }: RefTerm): boolean {
  return head.kind === "var" && path.every(isGround);
}

function isGround(term: Term): boolean {
  if (term.kind === "scalar") return true;
  return term.kind === "ref" && term.head.kind === "var" && isDocument(term.head.name) && isDirect(term);
}

/** Whether a name is that of a document, and no variable. */
export function isDocument(name: string): boolean {
  return name === "input" || name === "data";
}

function addInto(term: Term, out: Term, goals: Goal[], fresh: Fresh): void {
  const { at } = term;
  switch (term.kind) {
    case "call":
      return addCall(term, out, goals, fresh);
    case "comprehension": {
      const [only] = term.body;
      // A variable of a template is looked at where it stands.
      if (term.isTemplate === true && only?.kind === "unify" && only.right.kind === "var" && only.with.length === 0) {
        const value: Term = { kind: "set", items: [only.right], at };
        goals.push({ kind: "unify", left: out, right: value, at });
        return;
      }
      const body: Goal[] = [...goalsOf(term.body, fresh)];
      const key = term.key === undefined ? undefined : simple(term.key, body, fresh);
      const item = simple(term.item, body, fresh);
      goals.push({
        kind: "closure",
        makes: term.makes,
        key,
        item,
        body,
        out,
        isTemplate: term.isTemplate === true,
        at,
      });
      return;
    }
    case "ref": {
      const head = simple(term.head, goals, fresh);
      const path = term.path.map((part) => simple(part, goals, fresh));
      goals.push({ kind: "scan", ref: { ...term, head, path }, out, at });
      return;
    }
    case "scalar":
    case "var":
    case "array":
    case "set":
    case "object":
      goals.push({ kind: "unify", left: out, right: simple(term, goals, fresh), at });
  }
}

function addCall(
  term: Extract<Term, { readonly kind: "call" }>,
  out: Term | undefined,
  goals: Goal[],
  fresh: Fresh,
): void {
  const args = term.args.map((arg) => simple(arg, goals, fresh));
  goals.push({ kind: "call", name: term.name, args, out, at: term.at });
}

/** The term without calls, iterations and comprehensions, which become goals of their own before it. */
export function simple(term: Term, goals: Goal[], fresh: Fresh): Term {
  switch (term.kind) {
    case "scalar":
    case "var":
      return term;
    case "array":
    case "set":
      return { ...term, items: term.items.map((item) => simple(item, goals, fresh)) };
    case "object":
      return {
        ...term,
        pairs: term.pairs.map(([key, value]) => [simple(key, goals, fresh), simple(value, goals, fresh)]),
      };
    case "ref":
    case "call":
    case "comprehension": {
      if (!isComplex(term)) return term;
      const out: Term = { kind: "var", name: `%${fresh()}`, at: term.at };
      addInto(term, out, goals, fresh);
      return out;
    }
  }
}
