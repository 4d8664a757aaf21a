import { innerTerms, type Term } from "./ast.ts";
import { groupAt } from "./callee.ts";
import type { CompiledSource } from "./compile-rule.ts";
import type { Branching, Group } from "./documents.ts";
import { bodyTermsOf, termsOf, type Goal } from "./goals.ts";
import { RegoError } from "./rego-error.ts";

/** Rejects rules that need their own value. @throws RegoError `rego_recursion_error` */
export function checkRecursion(groups: ReadonlyMap<Group, readonly CompiledSource[]>, rules: Branching): void {
  const needs = new Map<Group, ReadonlySet<Group>>();
  for (const [group, sources] of groups) needs.set(group, needsOf(sources, rules));
  const done = new Set<Group>();
  for (const group of groups.keys()) {
    const cycle = findCycle(group, needs, done);
    if (cycle === undefined) continue;
    const [first] = cycle;
    const path = cycle.map((each) => each.path).join(" -> ");
    const at = first === undefined ? undefined : groups.get(first)?.[0]?.compiled.at;
    throw new RegoError("rego_recursion_error", `rule ${first?.path} is recursive: ${path}`, at);
  }
}

function needsOf(sources: readonly CompiledSource[], rules: Branching): ReadonlySet<Group> {
  const found = new Set<Group>();
  for (const { goals, terms } of sources) {
    for (const goal of goals) goalNeeds(goal, rules, found);
    for (const term of terms) termNeeds(term, rules, found);
  }
  return found;
}

function findCycle(
  start: Group,
  needs: ReadonlyMap<Group, ReadonlySet<Group>>,
  done: Set<Group>,
): readonly Group[] | undefined {
  // Iterative: a chain of rules may be longer than the stack is deep.
  const path: { readonly group: Group; readonly rest: Iterator<Group> }[] = [];
  const on = new Set<Group>();
  const push = (group: Group): void => {
    path.push({ group, rest: (needs.get(group) ?? new Set<Group>()).values() });
    on.add(group);
  };
  if (!done.has(start)) push(start);
  for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
    const { value: next, done: isLast } = top.rest.next();
    if (isLast === true) {
      path.pop();
      on.delete(top.group);
      done.add(top.group);
    } else if (on.has(next)) {
      const from = path.findIndex(({ group }) => group === next);
      return [...path.slice(from).map(({ group }) => group), next];
    } else if (!done.has(next)) push(next);
  }
  return undefined;
}

function goalNeeds(goal: Goal, rules: Branching, into: Set<Group>): void {
  if (goal.kind === "call") callNeeds(goal.name, rules, into);
  for (const term of [...termsOf(goal), ...bodyTermsOf(goal)]) termNeeds(term, rules, into);
  if ("body" in goal) for (const inner of goal.body) goalNeeds(inner, rules, into);
}

function callNeeds(name: readonly string[], rules: Branching, into: Set<Group>): void {
  const group = groupAt(rules, name);
  if (group !== undefined) into.add(group);
}

/** A call as a subterm is the name of a function that `with` uses as a replacement. */
function termNeeds(term: Term, rules: Branching, into: Set<Group>): void {
  if (term.kind === "call") callNeeds(term.name, rules, into);
  if (term.kind === "ref" && term.head.kind === "var" && term.head.name === "data") pathNeeds(term.path, rules, into);
  for (const inner of innerTerms(term)) termNeeds(inner, rules, into);
}

/** The rules at a path, or all below it; after a variable, all that match. */
function pathNeeds(path: readonly Term[], rules: Branching, into: Set<Group>): void {
  if (rules.group !== undefined) {
    into.add(rules.group);
    return;
  }
  const [first, ...rest] = path;
  if (first?.kind === "scalar") {
    const next = typeof first.value === "string" ? rules.children.get(first.value) : undefined;
    if (next !== undefined) pathNeeds(rest, next, into);
  } else for (const child of rules.children.values()) pathNeeds(rest, child, into);
}
