import { describe, expect, it } from "vitest";
import {
  clusterRole,
  clusterRoleBinding,
  pathRule,
  roleBinding,
  rule,
  user,
} from "./bootstrap-policy/policy-object.ts";
import { rbacIndex } from "./rbac-index.ts";
import type { RbacKind } from "./rbac-types.ts";
import { allRules, alwaysAllowRules, alwaysDenyRules, rbacRules, unlistedRules } from "./rules-review.ts";

const ann = { username: "ann", groups: [] };
const nothing = { resourceRules: [], nonResourceRules: [], incomplete: false };

describe("rules of a user", () => {
  const index = rbacIndex();
  const wide = clusterRole("wide", [rule("get", "core", "nodes"), pathRule("get", "/metrics")]);
  const narrow = clusterRole("narrow", [rule("get", "core", "pods", ["x"]), pathRule("get", "/logs")]);
  const local = roleBinding({ namespace: "prod", name: "b" }, "narrow", [user("ann")]);
  const objects = [
    wide,
    narrow,
    clusterRoleBinding("a", "wide", [user("ann")]),
    { ...local, roleRef: { ...local.roleRef, kind: "ClusterRole" } },
    clusterRoleBinding("z", "gone", [user("ann")]),
  ];
  for (const object of objects) index.apply({ type: "put", kind: object.kind as RbacKind, object });

  it("are those of the cluster and of the namespace, paths only of the cluster", () => {
    expect(rbacRules(index)(ann, "prod")).toEqual({
      resourceRules: [rule("get", "core", "nodes"), rule("get", "core", "pods", ["x"])],
      nonResourceRules: [pathRule("get", "/metrics")],
      incomplete: false,
      errors: ['clusterrole.rbac.authorization.k8s.io "gone" not found'],
    });
    expect(rbacRules(index)(ann, "dev").resourceRules).toEqual([rule("get", "core", "nodes")]);
  });

  it("are lists even where there is nothing", () => {
    expect(rbacRules(index)({ username: "bob", groups: [] }, "prod")).toEqual({ ...nothing, errors: [] });
    expect(alwaysDenyRules(ann, "prod")).toEqual(nothing);
    expect(allRules([])(ann, "prod")).toEqual(nothing);
  });

  it("are everything under AlwaysAllow", () => {
    expect(alwaysAllowRules(ann, "prod")).toEqual({
      resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
      nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
      incomplete: false,
    });
  });

  it("are incomplete when one member of the chain cannot list its own", () => {
    const why = "webhook authorizer does not support user rule resolution";
    const status = allRules([unlistedRules(why), alwaysAllowRules, rbacRules(index)])(ann, "dev");
    expect(status.incomplete).toBe(true);
    expect(status.resourceRules).toHaveLength(2);
    expect(status.evaluationError).toBe(`[${why}, clusterrole.rbac.authorization.k8s.io "gone" not found]`);
  });

  it("tell all errors of all members in one list", () => {
    const more = rbacIndex();
    for (const name of ["one", "two"]) {
      const object = clusterRoleBinding(name, name, [user("ann")]);
      more.apply({ type: "put", kind: "ClusterRoleBinding", object });
    }
    const missing = (name: string): string => `clusterrole.rbac.authorization.k8s.io "${name}" not found`;
    expect(allRules([rbacRules(more), unlistedRules("no list")])(ann, "dev").evaluationError).toBe(
      `[${missing("one")}, ${missing("two")}, no list]`,
    );
  });

  it("are at most 1 MiB, however many bindings and rules there are, and say that more were left out", () => {
    const large = rbacIndex();
    const rules = Array.from({ length: 1000 }, (_, at) => rule("get", "core", `things-${at}`));
    large.apply({ type: "put", kind: "ClusterRole", object: clusterRole("large", rules) });
    for (let at = 0; at < 100; at += 1) {
      large.apply({
        type: "put",
        kind: "ClusterRoleBinding",
        object: clusterRoleBinding(`b-${at}`, "large", [user("ann")]),
      });
    }
    const status = allRules([rbacRules(large)])(ann, "prod");
    expect(status).toMatchObject({ incomplete: true, evaluationError: expect.stringContaining("longer than 1 MiB") });
    expect(status.resourceRules.length).toBeGreaterThan(5000);
    expect(JSON.stringify(status).length).toBeLessThan(1 << 20);
  });

  it("name 64 of the roles that are missing, and count the others", () => {
    const lost = rbacIndex();
    for (let at = 0; at < 1000; at += 1) {
      const object = clusterRoleBinding(`b-${at}`, `gone-${at}`, [user("ann")]);
      lost.apply({ type: "put", kind: "ClusterRoleBinding", object });
    }
    const { evaluationError = "" } = allRules([rbacRules(lost)])(ann, "prod");
    expect(evaluationError.match(/not found/g)).toHaveLength(64);
    expect(evaluationError).toMatch(/, and 936 more\]$/);
  });
});
