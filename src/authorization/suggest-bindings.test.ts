import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { UserInfo } from "../apimachinery/user.ts";
import type { Subject } from "../apis/rbac.ts";
import type { Attributes } from "./authorizer.ts";
import {
  clusterRole,
  clusterRoleBinding,
  group,
  pathRule,
  roleBinding,
  rule,
  user,
} from "./bootstrap-policy/policy-object.ts";
import { nearestOwnRights, unboundRoles } from "./suggest-bindings.ts";
import { type RbacIndex, rbacIndex } from "./rbac-index.ts";
import type { AnyBinding, RbacKind, RbacObject } from "./rbac-types.ts";
import { whoCan } from "./explained-grant.ts";

const ann: UserInfo = { username: "ann", groups: ["devs"] };

function indexOf(...objects: readonly RbacObject[]): RbacIndex {
  const index = rbacIndex();
  for (const object of objects) index.apply({ type: "put", kind: object.kind as RbacKind, object });
  return index;
}

function request(what: Partial<Attributes> = {}): Attributes {
  const pods = { group: "", version: "v1", resource: "pods", subresource: "", namespace: "prod", name: "" };
  return { user: ann, verb: "get", ...pods, path: undefined, ...what };
}

const local = (name: string, subject: Subject, roleName: string, namespace = "prod"): AnyBinding => ({
  ...roleBinding({ namespace, name }, roleName, [subject]),
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: roleName },
});

const reader = clusterRole("reader", [rule("get list", "core", "pods")]);

describe("the nearest right of one's own", () => {
  const index = indexOf(
    reader,
    clusterRole("one", [rule("get", "core", "secrets", ["db"])]),
    clusterRole("logs", [rule("get", "apps", "pods/log")]),
    clusterRole("urls", [pathRule("get", "/metrics")]),
    local("a", user("ann"), "reader"),
    local("b", group("devs"), "one"),
    local("c", user("ann"), "logs"),
    local("d", user("ann"), "urls"),
    local("e", user("bob"), "reader", "dev"),
  );

  it.each([
    ["verb", { verb: "delete" }, "a"],
    ["name", { resource: "secrets", name: "web" }, "b"],
    ["name", { resource: "secrets" }, "b"],
    ["subresource", { subresource: "log" }, "a"],
    ["subresource", { group: "apps" }, "c"],
    ["group", { group: "extensions", verb: "list" }, "a"],
    ["namespace", { namespace: "dev" }, "a"],
    ["namespace", { namespace: "" }, "a"],
    ["namespace", { path: "/metrics", resource: "", namespace: "" }, "d"],
  ] as const)("lacks its %s: %j", (lacks, changes, binding) => {
    expect(nearestOwnRights(index, request(changes))[0]).toMatchObject({ lacks, binding: { name: binding } });
  });

  it("is none where two things are missing, or where only others hold it", () => {
    expect(nearestOwnRights(index, request({ verb: "delete", group: "x" }))).toEqual([]);
    const bob = { ...request({ verb: "delete" }), user: { username: "eve", groups: [] } };
    expect(nearestOwnRights(index, bob)).toEqual([]);
  });

  it("is looked for in 10,000 rules at most, and roles of more are passed over", () => {
    const rules = Array.from({ length: 10_001 }, () => rule("get list", "core", "pods"));
    const [large, bindings] = [clusterRole("large", rules), [local("a", user("ann"), "large")]];
    expect(nearestOwnRights(indexOf(large, ...bindings), request({ verb: "delete" }))).toEqual([]);
    const both = [large, reader, ...bindings, local("b", user("ann"), "reader")];
    expect(nearestOwnRights(indexOf(...both), request({ verb: "delete" }))).toMatchObject([{ binding: { name: "b" } }]);
  });

  it("tells of a few only, however many bindings there are", () => {
    const bindings = Array.from({ length: 50 }, (_, at) => local(`b-${at}`, user("ann"), "reader"));
    expect(nearestOwnRights(indexOf(reader, ...bindings), request({ verb: "delete" }))).toHaveLength(5);
  });
});

describe("roles that would allow it", () => {
  it("come with the smallest first, without those of one program, and without everything where less would do", () => {
    const all = clusterRole("all", [rule("*", "*", "*")]);
    const wide = clusterRole("wide", [rule("get list watch", "core", "pods secrets")]);
    const own = clusterRole("system:controller:x", [rule("get", "core", "pods")]);
    const names = (...roles: readonly RbacObject[]): unknown =>
      unboundRoles(indexOf(...roles), request()).map(({ role }) => role?.name);
    expect(names(all, wide, own, reader)).toEqual(["reader", "wide"]);
    expect(names(all, own)).toEqual(["all"]);
    const system = clusterRole("system:node", [rule("get", "core", "pods")]);
    expect(names(all, system)).toEqual(["system:node"]);
    expect(names(all, system, wide)).toEqual(["wide"]);
    expect(names(clusterRole("other", [rule("get", "core", "nodes")]))).toEqual([]);
  });

  it("of other namespaces are left out", () => {
    const role = { ...reader, kind: "Role", metadata: { name: "r", namespace: "dev" } } as RbacObject;
    expect(unboundRoles(indexOf(role), request())).toEqual([]);
    expect(unboundRoles(indexOf(role), request({ namespace: "dev" }))).toHaveLength(1);
  });
});

describe("a random policy", () => {
  const oneOf = (...words: string[]): fc.Arbitrary<string> => fc.constantFrom(...words);
  const anyRule = fc
    .tuple(oneOf("get", "list", "*"), oneOf("core", "apps", "*"), oneOf("pods", "pods/log", "*"), oneOf("", "x"))
    .map(([verb, group_, resource, name]) => rule(verb, group_, resource, name === "" ? [] : [name]));
  const roles = fc.array(anyRule, { maxLength: 3 });
  const subject = oneOf("ann", "bob", "devs", "ops").map((name) =>
    name.length === 3 && name !== "ops" ? user(name) : group(name),
  );
  const policy = fc
    .tuple(
      fc.array(roles, { minLength: 3, maxLength: 3 }),
      fc.array(fc.tuple(subject, fc.nat(2), oneOf("", "prod", "dev")), { maxLength: 6 }),
    )
    .map(([rules, bindings]) => ({
      subjects: bindings.map(([{ name }]) => name),
      index: indexOf(
        ...rules.map((each, at) => clusterRole(`r${at}`, each)),
        ...bindings.map(([who, at, namespace], place) =>
          namespace === ""
            ? clusterRoleBinding(`b${place}`, `r${at}`, [who])
            : local(`b${place}`, who, `r${at}`, namespace),
        ),
      ),
    }));
  const asked = fc
    .tuple(oneOf("get", "delete"), oneOf("", "apps"), oneOf("", "log"), oneOf("", "x", "y"), oneOf("", "prod"))
    .map(([verb, group_, subresource, name, namespace]) =>
      request({ verb, group: group_, subresource, name, namespace }),
    );

  it("lets exactly those in whom who-can lists", () => {
    let listedOnes = 0;
    fc.assert(
      fc.property(policy, asked, ({ index }, attributes) => {
        const listed = new Set(whoCan(index, attributes).map(({ subject: { kind, name } }) => `${kind} ${name}`));
        listedOnes += listed.size;
        const may = (who: UserInfo): boolean => index.firstAllowing({ ...attributes, user: who }) !== undefined;
        for (const name of ["ann", "bob"]) expect(listed.has(`User ${name}`)).toBe(may({ username: name, groups: [] }));
        for (const name of ["devs", "ops"]) {
          expect(listed.has(`Group ${name}`)).toBe(may({ username: "x", groups: [name] }));
        }
      }),
      { numRuns: 200 },
    );
    expect(listedOnes).toBeGreaterThan(20);
  });

  it("shows as the nearest of one's own rights bindings of one's own that do not allow it, and misses none that lacks its verb", () => {
    const found = { near: 0, byVerb: 0 };
    fc.assert(
      fc.property(policy, asked, ({ index, subjects }, attributes) => {
        if (index.firstAllowing(attributes) !== undefined) return;
        const near = nearestOwnRights(index, attributes);
        const verbs = ["get", "list"].filter((verb) => index.firstAllowing({ ...attributes, verb }) !== undefined);
        expect(verbs.length === 0 ? "verb" : near[0]?.lacks).toBe("verb");
        found.byVerb += verbs.length;
        for (const { binding } of near) {
          expect(["ann", "devs"]).toContain(subjects[Number(binding?.name.slice(1))]);
        }
        found.near += near.length;
      }),
      { numRuns: 200 },
    );
    expect(found.near).toBeGreaterThan(20);
    expect(found.byVerb).toBeGreaterThan(5);
  });
});
