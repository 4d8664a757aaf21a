import type { Group, Det, Frame, Match, Run, State } from "./documents.ts";
import { charge, chargeKey } from "./limits.ts";
import { RegoError, type RegoPlace } from "./rego-error.ts";
import { built } from "./terms.ts";
import { isEqual, keyOf, objectOf, setOf, type MapKey, type RegoValue } from "./values.ts";

/** One way for a rule to have a value. */
export interface CompiledBranch {
  readonly run: Run;
  readonly value: Det;
  /** Whether the value is the same however the body holds. */
  readonly isConstant: boolean;
  /** The parts of the head behind the name of the group. */
  readonly keys: readonly Det[];
  /** The member of a set. */
  readonly member: Det | undefined;
}

/** A rule, ready to be evaluated. */
export interface CompiledRule {
  readonly slots: () => number;
  readonly args: readonly Match[];
  readonly branches: readonly CompiledBranch[];
  readonly at: RegoPlace;
}

/** What the rules of a group make. */
export type GroupKind = "complete" | "function" | "object" | "set";

/** The rules of one name, compiled when they are evaluated for the first time. */
export interface GroupRules {
  readonly rules: readonly CompiledRule[];
  readonly fallback: CompiledRule | undefined;
}

interface GroupOptions {
  readonly path: string;
  readonly kind: GroupKind;
  readonly arity: number | undefined;
  readonly rules: () => GroupRules;
}

/** The rules of one name as what evaluates them. */
export function ruleGroup({ path, kind, arity, rules }: GroupOptions): Group {
  const group: Group = {
    path,
    arity,
    evaluate: (state) => {
      const known = state.cache.get(group);
      if (known === "pending") throw new RegoError("rego_recursion_error", `rule ${path} is recursive`);
      if (known !== undefined) return known.value;
      state.cache.set(group, "pending");
      const value =
        kind === "complete"
          ? completeValue(path, rules(), state)
          : kind === "set"
            ? setValue(rules(), state)
            : objectValue(path, rules(), state);
      state.cache.set(group, { value });
      return value;
    },
    call: (args, state) => completeValue(path, rules(), state, args),
  };
  return group;
}

/** Runs the first branch that holds. `yields` is given the frame for each way in which it does; true ends it. */
function runRule(
  rule: CompiledRule,
  state: State,
  args: readonly RegoValue[],
  yields: (branch: CompiledBranch, frame: Frame) => boolean,
): void {
  charge(state.meter, 1);
  const frame: Frame = { slots: Array.from<RegoValue | undefined>({ length: rule.slots() }), state };
  if (!rule.args.every((match, at) => match(frame, args[at] ?? null))) return;
  for (const branch of rule.branches) {
    let holds = false;
    branch.run(frame, () => {
      holds = true;
      return yields(branch, frame);
    });
    if (holds) return;
  }
}

const none: readonly RegoValue[] = [];

function completeValue(
  path: string,
  { rules, fallback }: GroupRules,
  state: State,
  args = none,
): RegoValue | undefined {
  let result: RegoValue | undefined;
  for (const rule of rules) {
    runRule(rule, state, args, (branch, frame) => {
      const value = branch.value(frame);
      if (value === undefined) return false;
      if (result === undefined) result = value;
      else if (!isEqual(result, value)) throw conflict(path, args, rule.at);
      return branch.isConstant;
    });
  }
  if (result === undefined && fallback !== undefined) {
    runRule(fallback, state, args, (branch, frame) => {
      result = branch.value(frame);
      return true;
    });
  }
  return result;
}

function conflict(path: string, args: readonly RegoValue[], at: RegoPlace): RegoError {
  const text =
    args === none
      ? `complete rules must not produce multiple outputs: rule ${path} produced conflicting values`
      : `functions must not produce multiple outputs for same inputs: function ${path} produced conflicting values for the same inputs`;
  return new RegoError("eval_conflict_error", text, at);
}

function setValue({ rules }: GroupRules, state: State): RegoValue {
  const members: RegoValue[] = [];
  for (const rule of rules) {
    runRule(rule, state, none, (branch, frame) => {
      const member = branch.member?.(frame);
      if (member !== undefined) members.push(built(member, frame));
      return false;
    });
  }
  return setOf(members);
}

/** An object that rules make together, member by member. */
interface Growing {
  readonly children: Map<MapKey, readonly [RegoValue, Growing]>;
  value: RegoValue | undefined;
  members: RegoValue[] | undefined;
}

function objectValue(path: string, { rules, fallback }: GroupRules, state: State): RegoValue | undefined {
  const root: Growing = { children: new Map(), value: undefined, members: undefined };
  for (const rule of rules) {
    runRule(rule, state, none, (branch, frame) => {
      charge(state.meter, 1);
      const keys = branch.keys.map((key) => key(frame));
      const value = branch.member === undefined ? branch.value(frame) : branch.member(frame);
      if (value === undefined || keys.includes(undefined)) return false;
      for (const key of keys) if (key !== undefined) chargeKey(state.meter, key);
      const problem = grow(root, keys as readonly RegoValue[], {
        value: built(value, frame),
        isMember: branch.member !== undefined,
      });
      if (problem)
        throw new RegoError(
          "eval_conflict_error",
          `rule ${path} produced conflicting values: object keys must be unique`,
          rule.at,
        );
      return false;
    });
  }
  if (root.children.size === 0 && fallback !== undefined) return completeValue(path, { rules: [], fallback }, state);
  return grown(root);
}

/** Puts a value where it belongs; true when there is another already. */
function grow(
  root: Growing,
  keys: readonly RegoValue[],
  leaf: { readonly value: RegoValue; readonly isMember: boolean },
): boolean {
  let at = root;
  for (const key of keys) {
    if (at.value !== undefined || at.members !== undefined) return true;
    const found = at.children.get(keyOf(key))?.[1];
    const inner = found ?? { children: new Map(), value: undefined, members: undefined };
    if (found === undefined) at.children.set(keyOf(key), [key, inner]);
    at = inner;
  }
  if (at.children.size > 0) return true;
  if (leaf.isMember) {
    if (at.value !== undefined) return true;
    (at.members ??= []).push(leaf.value);
    return false;
  }
  if (at.members !== undefined || (at.value !== undefined && !isEqual(at.value, leaf.value))) return true;
  at.value = leaf.value;
  return false;
}

function grown({ children, value, members }: Growing): RegoValue {
  if (value !== undefined) return value;
  if (members !== undefined) return setOf(members);
  return objectOf([...children.values()].map(([key, inner]) => [key, grown(inner)] as const));
}
