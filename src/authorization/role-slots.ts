import { quoted } from "../apimachinery/quoted.ts";
import { type CompiledRules, compileRules } from "./compiled-rules.ts";
import { type RoleRef, rbacGroup, type PolicyRule } from "../apis/rbac.ts";

/** A role that exists or is only referred to; `rules` is undefined while it is missing. */
export interface RoleSlot {
  readonly rules: CompiledRules | undefined;
  /** Why there are no rules while it is missing, e.g. `clusterrole.rbac.authorization.k8s.io "x" not found`. */
  readonly missing: string;
}

/** Roles by reference, shared by all bindings that refer to them, so that a change of a role touches no binding. */
export interface RoleSlots {
  /** The slot that a binding in `namespace` (`""`: a ClusterRoleBinding) refers to, kept until released. */
  readonly use: (roleRef: RoleRef, namespace: string) => RoleSlot;
  readonly release: (roleRef: RoleRef, namespace: string) => void;
  /** The slot if it exists or a binding refers to it. */
  readonly find: (roleRef: Pick<RoleRef, "kind" | "name">, namespace: string) => RoleSlot | undefined;
  readonly put: (role: RoleKey, rules: readonly PolicyRule[] | null | undefined) => void;
  readonly remove: (role: RoleKey) => void;
  /** How many roles are referred to and missing. */
  readonly dangling: () => number;
  /** Every role that exists, with its rules. */
  readonly existing: () => Iterable<readonly [RoleKey, CompiledRules]>;
}

/** Which role object; `namespace` counts for Roles only. */
export interface RoleKey {
  readonly kind: "Role" | "ClusterRole";
  readonly namespace: string;
  readonly name: string;
}

interface MutableSlot extends RoleSlot {
  rules: CompiledRules | undefined;
  uses: number;
}

/** No roles. */
export function roleSlots(): RoleSlots {
  const slots = new Map<string, MutableSlot>();
  const dangling = new Set<MutableSlot>();

  const slotOf = (key: string, missing: string): MutableSlot => {
    const known = slots.get(key);
    if (known !== undefined) return known;
    const slot: MutableSlot = { rules: undefined, missing, uses: 0 };
    slots.set(key, slot);
    return slot;
  };

  /** Updates the two tables after a change of a slot. */
  const settle = (key: string, slot: MutableSlot): void => {
    if (slot.rules === undefined && slot.uses > 0) dangling.add(slot);
    else dangling.delete(slot);
    if (slot.rules === undefined && slot.uses === 0) slots.delete(key);
  };

  const setRules = (role: RoleKey, rules: CompiledRules | undefined): void => {
    // No binding can refer to it, and an unsupported reference must not find it.
    if (role.kind === "Role" && role.namespace === "") return;
    const key = slotKey(role, role.namespace);
    const slot = slotOf(key, missingText(role, role.namespace));
    slot.rules = rules;
    settle(key, slot);
  };

  const count = (roleRef: RoleRef, namespace: string, change: 1 | -1): RoleSlot => {
    const key = slotKey(roleRef, namespace);
    const slot = slotOf(key, missingText(roleRef, namespace));
    slot.uses += change;
    settle(key, slot);
    return slot;
  };

  return {
    use: (roleRef, namespace) => count(roleRef, namespace, 1),
    release: (roleRef, namespace) => void count(roleRef, namespace, -1),
    find: (roleRef, namespace) => slots.get(slotKey(roleRef, namespace)),
    put: (role, rules) => setRules(role, compileRules(rules)),
    remove: (role) => setRules(role, undefined),
    dangling: () => dangling.size,
    existing: function* existing() {
      for (const [key, { rules }] of slots) if (rules !== undefined) yield [roleKey(key), rules];
    },
  };
}

/** The message for a missing role that a binding in `namespace` refers to. */
export function missingText(roleRef: Pick<RoleRef, "kind" | "name">, namespace: string): string {
  const supported = roleRef.kind === "ClusterRole" || (roleRef.kind === "Role" && namespace !== "");
  return supported
    ? `${roleRef.kind.toLowerCase()}.${rbacGroup} ${quoted(roleRef.name)} not found`
    : `unsupported role reference kind: ${quoted(roleRef.kind)}`;
}

// Neither a namespace nor the name of an RBAC object can contain a slash. An unsupported reference gets a key
// that no object can have.
function slotKey(roleRef: Pick<RoleRef, "kind" | "name">, namespace: string): string {
  if (roleRef.kind === "ClusterRole") return `ClusterRole//${roleRef.name}`;
  return roleRef.kind === "Role" && namespace !== ""
    ? `Role/${namespace}/${roleRef.name}`
    : `unsupported/${roleRef.kind}/${roleRef.name}`;
}

// Callers pass existing roles only, so the kind is one of the two and no part contains a slash.
function roleKey(key: string): RoleKey {
  const [kind, namespace = "", name = ""] = key.split("/");
  return { kind: kind === "Role" ? "Role" : "ClusterRole", namespace, name };
}
