import type { Group, Det, Frame, Match, Run, State } from "./documents.ts";
import { charge, chargeKey } from "./limits.ts";
import { RegoError, type RegoPlace } from "./rego-error.ts";
import { built } from "./terms.ts";
import { isEqual, keyOf, objectOf, setOf, type MapKey, type RegoValue } from "./values.ts";

/** One head and body of a rule. */
export interface CompiledBranch {
  readonly run: Run;
  readonly value: Det;
  /** Whether the value is the same for every solution of the body. */
  readonly isConstant: boolean;
  /** The parts of the head after the name of the group. */
  readonly keys: readonly Det[];
  /** The member of a set. */
  readonly member: Det | undefined;
}

/** A compiled rule. */
export interface CompiledRule {
  readonly slots: () => number;
  readonly args: readonly Match[];
  readonly branches: readonly CompiledBranch[];
  readonly at: RegoPlace;
}

/** The values that the rules of a group define. */
export type GroupKind = "complete" | "object" | "set";

/** The rules of one name, compiled at their first evaluation. */
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

/** The evaluation of the rules of one name. */
export function ruleGroup({ path, kind, arity, rules }: GroupOptions): Group {
  const group: Group = {
    path,
    arity,
    evaluate: (state) => {
      const known = state.cache.get(group);
      if (known === "pending") throw new RegoError("rego_recursion_error", `rule ${path} is recursive`);
      if (known !== undefined) return known.value;
      state.cache.set(group, "pending");
      const value = values[kind](path, rules(), { state, args: none });
      state.cache.set(group, { value });
      return value;
    },
    call: (args, state) => completeValue(path, rules(), { state, args }),
  };
  return group;
}

/** An evaluation of rules; those that are no functions have no arguments. */
interface Call {
  readonly state: State;
  readonly args: readonly RegoValue[];
}

const none: readonly RegoValue[] = [];

/** Runs the first branch that has a solution. `yields` is called with the frame of each solution; true ends it. */
function runRule(
  rule: CompiledRule,
  { state, args }: Call,
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

function completeValue(path: string, { rules, fallback }: GroupRules, call: Call): RegoValue | undefined {
  let result: RegoValue | undefined;
  for (const rule of rules) {
    runRule(rule, call, (branch, frame) => {
      const value = branch.value(frame);
      if (value === undefined) return false;
      if (result === undefined) result = value;
      else if (!isEqual(result, value)) throw conflict(path, call, rule.at);
      return branch.isConstant;
    });
  }
  if (result === undefined && fallback !== undefined) {
    runRule(fallback, call, (branch, frame) => {
      result = branch.value(frame);
      return true;
    });
  }
  return result;
}

function conflict(path: string, { args }: Call, at: RegoPlace): RegoError {
  const text =
    args === none
      ? `complete rules must not produce multiple outputs: rule ${path} produced conflicting values`
      : `functions must not produce multiple outputs for same inputs: function ${path} produced conflicting values for the same inputs`;
  return new RegoError("eval_conflict_error", text, at);
}

function setValue(_path: string, { rules }: GroupRules, call: Call): RegoValue {
  const members: RegoValue[] = [];
  for (const rule of rules) {
    runRule(rule, call, (branch, frame) => {
      const member = branch.member?.(frame);
      if (member !== undefined) members.push(built(member, frame));
      return false;
    });
  }
  return setOf(members);
}

const values: Readonly<Record<GroupKind, (path: string, rules: GroupRules, call: Call) => RegoValue | undefined>> = {
  complete: completeValue,
  object: objectValue,
  set: setValue,
};

/** An object that rules define together, member by member. */
interface Growing {
  readonly children: Map<MapKey, readonly [RegoValue, Growing]>;
  value: RegoValue | undefined;
  members: RegoValue[] | undefined;
}

function objectValue(path: string, { rules, fallback }: GroupRules, call: Call): RegoValue | undefined {
  const { meter } = call.state;
  const root = newGrowing();
  for (const rule of rules) {
    runRule(rule, call, (branch, frame) => {
      charge(meter, 1);
      const keys = branch.keys.map((key) => key(frame));
      const value = (branch.member ?? branch.value)(frame);
      if (value === undefined || !keys.every((key) => key !== undefined)) return false;
      for (const key of keys) chargeKey(meter, key);
      const leaf = { value: built(value, frame), isMember: branch.member !== undefined };
      if (grow(root, keys, leaf)) return false;
      const text = `rule ${path} produced conflicting values: object keys must be unique`;
      throw new RegoError("eval_conflict_error", text, rule.at);
    });
  }
  if (root.children.size === 0 && fallback !== undefined) return completeValue(path, { rules: [], fallback }, call);
  return grown(root);
}

function newGrowing(): Growing {
  return { children: new Map(), value: undefined, members: undefined };
}

/** Sets a value at its path; false when there is another value already. */
function grow(
  root: Growing,
  keys: readonly RegoValue[],
  { value, isMember }: { readonly value: RegoValue; readonly isMember: boolean },
): boolean {
  let at = root;
  for (const key of keys) {
    if (at.value !== undefined || at.members !== undefined) return false;
    const [, inner] = at.children.get(keyOf(key)) ?? [key, newGrowing()];
    at.children.set(keyOf(key), [key, inner]);
    at = inner;
  }
  if (at.children.size > 0) return false;
  if (isMember) {
    (at.members ??= []).push(value);
    return at.value === undefined;
  }
  if (at.value === undefined) at.value = value;
  return at.members === undefined && isEqual(at.value, value);
}

function grown({ children, value, members }: Growing): RegoValue {
  if (value !== undefined) return value;
  if (members !== undefined) return setOf(members);
  return objectOf([...children.values()].map(([key, inner]) => [key, grown(inner)] as const));
}
