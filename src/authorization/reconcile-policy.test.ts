import { describe, expect, it } from "vitest";
import type { ClusterRole } from "../apis/rbac.ts";
import { bootstrapPolicy } from "./bootstrap-policy/system-roles.ts";
import { clusterRole, clusterRoleBinding, group, rule, user } from "./bootstrap-policy/policy-object.ts";
import { autoupdateAnnotation, reconcilePolicy } from "./reconcile-policy.ts";

const none = { kind: "none" };
const wanted = clusterRole("r", [rule("get list", "core", "pods")]);
const binding = clusterRoleBinding("b", "r", [user("ann")]);
const locked = (object: typeof wanted | typeof binding): typeof object => ({
  ...object,
  metadata: { ...object.metadata, annotations: { [autoupdateAnnotation]: "false" } },
});

describe("reconcilePolicy", () => {
  it("creates what is missing", () => {
    expect(reconcilePolicy(wanted, undefined)).toEqual({ kind: "create", object: wanted });
  });

  it("leaves every default object alone that is as it should be", () => {
    const policy = bootstrapPolicy();
    expect(policy.length).toBeGreaterThan(40);
    for (const object of policy) expect(reconcilePolicy(object, object)).toEqual(none);
  });

  it("adds missing rules and keeps extra ones", () => {
    const extra = rule("delete", "core", "nodes");
    const existing = { ...wanted, rules: [extra, rule("get", "core", "pods")] };
    expect(reconcilePolicy(wanted, existing)).toEqual({
      kind: "update",
      object: { ...existing, rules: [...existing.rules, rule("list", "core", "pods")] },
    });
  });

  it("takes rules as present that wider ones cover", () => {
    expect(reconcilePolicy(wanted, { ...wanted, rules: [rule("*", "*", "*")] })).toEqual(none);
  });

  it("adds missing labels and annotations without overwriting any", () => {
    const metadata = { name: "r", uid: "1", labels: { own: "x", "kubernetes.io/bootstrapping": "mine" } };
    const result = reconcilePolicy(wanted, { ...wanted, metadata });
    const { annotations } = wanted.metadata;
    expect(result).toEqual({ kind: "update", object: { ...wanted, metadata: { ...metadata, annotations } } });
  });

  it("leaves an object alone whose autoupdate annotation is false, even with another roleRef", () => {
    expect(reconcilePolicy(wanted, { ...locked(wanted), rules: [] })).toEqual(none);
    const other = { ...locked(binding), roleRef: { ...binding.roleRef, name: "x" } };
    expect(reconcilePolicy(binding, other)).toEqual(none);
  });

  it("does not touch the rules of an aggregated role, and adds missing selectors", () => {
    const { rules: _, ...bare } = clusterRole("edit", []);
    const selector = { matchLabels: { to: "edit" } };
    const aggregated: ClusterRole = { ...bare, aggregationRule: { clusterRoleSelectors: [selector] } };
    expect(reconcilePolicy(aggregated, { ...aggregated, rules: [rule("get", "core", "pods")] })).toEqual(none);
    const own = { matchLabels: { mine: "1" } };
    const existing: ClusterRole = { ...bare, aggregationRule: { clusterRoleSelectors: [own] } };
    expect(reconcilePolicy(aggregated, existing)).toEqual({
      kind: "update",
      object: { ...bare, aggregationRule: { clusterRoleSelectors: [own, selector] } },
    });
  });

  it("adds missing subjects and keeps extra ones", () => {
    const existing = { ...binding, subjects: [group("devs")] };
    expect(reconcilePolicy(binding, existing)).toEqual({
      kind: "update",
      object: { ...existing, subjects: [group("devs"), user("ann")] },
    });
  });

  it("takes a subject as present whose group is written out or not", () => {
    const existing = { ...binding, subjects: [{ kind: "User", name: "ann" } as const] };
    expect(reconcilePolicy(binding, existing)).toEqual(none);
  });

  it("recreates a binding of another role, because a roleRef cannot change", () => {
    const existing = { ...binding, roleRef: { ...binding.roleRef, name: "other" } };
    expect(reconcilePolicy(binding, existing)).toEqual({ kind: "recreate", object: binding });
  });

  it("is settled after one round", () => {
    const existing = { ...wanted, metadata: { name: "r" }, rules: [] };
    const first = reconcilePolicy(wanted, existing);
    expect(first.kind).toBe("update");
    expect(reconcilePolicy(wanted, first.kind === "none" ? undefined : first.object)).toEqual(none);
  });
});
