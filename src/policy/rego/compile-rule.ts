import type { Module, Rule, Term } from "./ast.ts";
import { boundVars, type Bound } from "./bound.ts";
import { calleesOf } from "./callee.ts";
import type { Branching, Match } from "./documents.ts";
import { goalsOf, simple, type Goal } from "./goals.ts";
import type { CompiledBranch, CompiledRule } from "./group.ts";
import { declare, newScope, refuseUnused, resolveBody, resolveTerm, type Names, type Scope } from "./resolve.ts";
import { compileBody, type Context } from "./run-goals.ts";
import { varsOf } from "./safety.ts";
import { termMatch, termValue, type Unit } from "./terms.ts";

/** A rule of a module, as part of a group whose name is the first parts of its head. */
export interface RuleSource {
  readonly module: Module;
  readonly rule: Rule;
  /** The parts of the head after the name of the group. */
  readonly keys: readonly Term[];
}

interface RuleCompiler {
  readonly names: Names;
  readonly context: Context;
  readonly unit: Unit;
  /** Every compiled goal, for the check of dependencies. */
  readonly goals: Goal[];
  readonly terms: Term[];
}

/** A rule and the terms that its bodies refer to. */
export interface CompiledSource {
  readonly compiled: CompiledRule;
  readonly goals: readonly Goal[];
  readonly terms: readonly Term[];
}

/** Compiles one rule. @throws RegoError for a rule that OPA does not compile either */
export function compileRule(source: RuleSource, names: Omit<Names, "fresh">, rules: Branching): CompiledSource {
  const { rule, module } = source;
  let counter = 0;
  const fresh = (): number => (counter += 1);
  const slots = new Map<string, number>();
  const slotOf = (name: string): number => {
    const slot = slots.get(name) ?? slots.size;
    slots.set(name, slot);
    return slot;
  };
  const unit: Unit = { slotOf, rules };
  const compiler: RuleCompiler = {
    names: { ...names, fresh },
    unit,
    context: { unit, callee: calleesOf(rules, module.version), outer: boundVars() },
    goals: [],
    terms: [],
  };
  const head = newScope();
  const patterns = (rule.args ?? []).map((arg) => declare(arg, "arg", { scope: head, names: compiler.names }));
  let bound = boundVars();
  const args = patterns.map((pattern): Match => {
    const match = termMatch(pattern, unit, bound);
    bound = bound.and(varsOf(pattern));
    return match;
  });
  const branches = rule.branches.map((branch) => {
    const scope: Scope = { declared: new Map(head.declared), seen: new Set(), parent: undefined };
    return compileBranch({ source, branch, scope, bound }, compiler);
  });
  const compiled = { slots: () => slots.size, args, branches, at: rule.at };
  return { compiled, goals: compiler.goals, terms: compiler.terms };
}

/** Resolves every function before any other check. @throws RegoError `rego_type_error` for an unknown one */
function findFunctions(goals: readonly Goal[], context: Context): void {
  for (const goal of goals) {
    if (goal.kind === "call") context.callee(goal);
    if ("body" in goal) findFunctions(goal.body, context);
  }
}

interface BranchSource {
  readonly source: RuleSource;
  readonly branch: Rule["branches"][number];
  readonly scope: Scope;
  readonly bound: Bound;
}

function compileBranch({ source, branch, scope, bound }: BranchSource, compiler: RuleCompiler): CompiledBranch {
  const { names, unit, context } = compiler;
  const where = { scope, names };
  const goals: Goal[] = [...goalsOf(resolveBody(branch.body, where), names.fresh)];
  const head = (term: Term): Term => simple(resolveTerm(term, where), { goals, fresh: names.fresh });
  const value = head(branch.value);
  const keys = source.keys.map(head);
  const member = source.rule.member === undefined ? undefined : head(source.rule.member);
  refuseUnused(scope);
  // The terms of the head need a value after the body.
  for (const term of [value, ...keys, ...(member === undefined ? [] : [member])]) {
    compiler.terms.push(term);
    if (varsOf(term).size > 0)
      goals.push({
        kind: "unify",
        left: term,
        right: { kind: "var", name: `%${names.fresh()}`, at: term.at },
        at: term.at,
      });
  }
  compiler.goals.push(...goals);
  findFunctions(goals, context);
  const { run } = compileBody(goals, bound, context);
  return {
    run,
    value: termValue(value, unit),
    isConstant: value.kind === "scalar",
    keys: keys.map((key) => termValue(key, unit)),
    member: member === undefined ? undefined : termValue(member, unit),
  };
}
