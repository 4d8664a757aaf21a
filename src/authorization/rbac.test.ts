import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { serviceAccountUser, type UserInfo } from "../apimachinery/user.ts";
import type { Subject, PolicyRule } from "../apis/rbac.ts";
import type { Attributes, Decision } from "./authorizer.ts";
import {
  clusterRole,
  clusterRoleBinding,
  group,
  pathRule,
  role,
  roleBinding,
  rule,
  user,
} from "./bootstrap-policy/policy-object.ts";
import { firstDecision } from "./chain.ts";
import { rbac, rbacAuthorizer } from "./rbac.ts";
import { type RbacIndex, rbacIndex } from "./rbac-index.ts";
import type { AnyBinding, RbacKind, RbacObject } from "./rbac-types.ts";
import { ruleMatches } from "./compiled-rules.ts";

function indexOf(...objects: readonly RbacObject[]): RbacIndex {
  const index = rbacIndex();
  for (const object of objects) index.apply({ type: "put", kind: object.kind as RbacKind, object });
  return index;
}

function request(who: UserInfo, what: Partial<Attributes> = {}): Attributes {
  const pods = { group: "", version: "v1", resource: "pods", subresource: "", namespace: "prod", name: "" };
  return { user: who, verb: "get", ...pods, path: undefined, ...what };
}

const ann: UserInfo = { username: "ann", groups: ["devs", "system:authenticated"] };
const reader = clusterRole("reader", [rule("get list", "core", "pods")]);
const local = (name: string, subject: Subject, roleName = "reader"): AnyBinding => ({
  ...roleBinding({ namespace: "prod", name }, roleName, [subject]),
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: roleName },
});
const ask = async (index: RbacIndex, attributes: Attributes): Promise<Decision> => rbac(index)(attributes);
const noOpinion = { verdict: "noOpinion", reason: "" };

describe("rbac", () => {
  it("has no opinion where nothing is bound", async () => {
    expect(await ask(indexOf(reader), request(ann))).toEqual(noOpinion);
  });

  it("says which binding of which role allowed whom", async () => {
    const index = indexOf(reader, clusterRoleBinding("b", "reader", [user("bob"), group("devs")]));
    expect(await ask(index, request(ann))).toEqual({
      verdict: "allow",
      reason: 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "reader" to Group "devs"',
    });
  });

  it("shows a RoleBinding and a service account with their namespaces", async () => {
    const own = role("prod", "r", [rule("get", "core", "pods")]);
    const subject: Subject = { kind: "ServiceAccount", name: "bot", namespace: "ci" };
    const index = indexOf(own, roleBinding({ namespace: "prod", name: "rb" }, "r", [subject]));
    expect((await ask(index, request(serviceAccountUser("ci", "bot")))).reason).toBe(
      'RBAC: allowed by RoleBinding "rb/prod" of Role "r" to ServiceAccount "bot/ci"',
    );
  });

  it("asks ClusterRoleBindings before RoleBindings, and each by name whatever the order of arrival", async () => {
    const z = clusterRoleBinding("z", "reader", [user("ann")]);
    const m = clusterRoleBinding("m", "reader", [group("devs")]);
    const index = indexOf(reader, local("a", user("ann")), z, m);
    expect((await ask(index, request(ann))).reason).toContain('ClusterRoleBinding "m"');
    index.apply({ type: "delete", kind: "ClusterRoleBinding", object: m });
    expect((await ask(index, request(ann))).reason).toContain('ClusterRoleBinding "z"');
    index.apply({ type: "delete", kind: "ClusterRoleBinding", object: z });
    expect((await ask(index, request(ann))).reason).toContain('RoleBinding "a/prod"');
  });

  describe("of a user with more rules than one part looks at", () => {
    const many = Array.from({ length: 40 }, (_, at) => [
      clusterRole(
        `many-${at}`,
        Array.from({ length: 10 }, (_rule, part) => rule("get", "core", "pods", [`p-${at}-${part}`])),
      ),
      clusterRoleBinding(`b-${at}`, `many-${at}`, [user("ann")]),
    ]).flat();
    const last = clusterRoleBinding("z", "reader", [group("devs")]);
    const searched = async (
      between: (index: RbacIndex) => void,
    ): Promise<{ readonly decision: Decision; readonly parts: number }> => {
      const index = indexOf(reader, ...many, last);
      let parts = 1;
      const turn = async (): Promise<void> => {
        parts += 1;
        if (parts === 3) between(index);
      };
      return { decision: await rbac(index, { turn, rulesOfPart: 100 })(request(ann, { name: "p" })), parts };
    };

    it("searches in parts, and leaves the event loop between them", async () => {
      const { decision, parts } = await searched(() => undefined);
      expect([parts, decision]).toEqual([6, await ask(indexOf(reader, last), request(ann))]);
    });

    it("allows nothing by a binding or a role that went while it searched", async () => {
      const gone = await searched((index) => index.apply({ type: "delete", kind: "ClusterRoleBinding", object: last }));
      const lesser = clusterRole("reader", []);
      const less = await searched((index) => index.apply({ type: "put", kind: "ClusterRole", object: lesser }));
      expect([gone.decision, less.decision]).toEqual([noOpinion, noOpinion]);
    });
  });

  it("follows changes of roles and bindings at once", async () => {
    const binding = clusterRoleBinding("b", "reader", [user("ann")]);
    const index = indexOf(reader, binding);
    const decide = rbac(index);
    expect((await decide(request(ann))).verdict).toBe("allow");
    index.apply({ type: "put", kind: "ClusterRole", object: clusterRole("reader", []) });
    expect((await decide(request(ann))).verdict).toBe("noOpinion");
    index.apply({ type: "put", kind: "ClusterRole", object: reader });
    index.apply({ type: "put", kind: "ClusterRoleBinding", object: { ...binding, subjects: [user("bob")] } });
    expect((await decide(request(ann))).verdict).toBe("noOpinion");
    expect((await decide(request({ ...ann, username: "bob" }))).verdict).toBe("allow");
  });

  it("names missing roles that bindings of the user refer to, each once", async () => {
    const index = indexOf(
      clusterRoleBinding("b1", "gone", [user("ann")]),
      clusterRoleBinding("b2", "gone", [group("devs")]),
      roleBinding({ namespace: "prod", name: "b3" }, "lost", [user("ann")]),
      clusterRoleBinding("b4", "other", [user("bob")]),
    );
    expect((await ask(index, request(ann))).reason).toBe(
      'RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, role.rbac.authorization.k8s.io "lost" not found]',
    );
    expect((await ask(index, request(ann, { namespace: "dev" }))).reason).toBe(
      'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found',
    );
    expect(await ask(index, request({ username: "carl", groups: [] }))).toEqual(noOpinion);
  });

  it("allows past a missing role", async () => {
    const index = indexOf(
      reader,
      clusterRoleBinding("a", "gone", [user("ann")]),
      clusterRoleBinding("b", "reader", [user("ann")]),
    );
    expect((await ask(index, request(ann))).verdict).toBe("allow");
  });

  it("forgets a missing role when the last binding to it goes", () => {
    const binding = clusterRoleBinding("b", "gone", [user("ann"), user("bob")]);
    const index = indexOf(binding);
    expect(index.missingRoles()).toBe(1);
    index.apply({ type: "delete", kind: "ClusterRoleBinding", object: binding });
    expect(index.missingRoles()).toBe(0);
  });

  it("grants paths through ClusterRoleBindings only", async () => {
    const paths = clusterRole("paths", [pathRule("get", "/metrics")]);
    const wide = indexOf(paths, clusterRoleBinding("b", "paths", [user("ann")]));
    const narrow = indexOf(paths, local("b", user("ann"), "paths"));
    const metrics = request(ann, { path: "/metrics" });
    expect((await ask(wide, metrics)).verdict).toBe("allow");
    expect((await ask(narrow, metrics)).verdict).toBe("noOpinion");
  });
});

describe("attacks on RBAC", () => {
  it("a RoleBinding reaches neither other namespaces nor the cluster scope", async () => {
    const index = indexOf(reader, local("b", user("ann")));
    expect((await ask(index, request(ann))).verdict).toBe("allow");
    for (const namespace of ["dev", "", "Prod", "prod ", "__proto__"]) {
      expect(await ask(index, request(ann, { namespace }))).toEqual(noOpinion);
    }
  });

  it("a ClusterRoleBinding never finds a Role", async () => {
    const stray = role("", "r", [rule("*", "*", "*")]);
    const binding = clusterRoleBinding("b", "r", [user("ann")]);
    const index = indexOf(stray, { ...binding, roleRef: { ...binding.roleRef, kind: "Role" } });
    expect(await ask(index, request(ann))).toEqual({
      verdict: "noOpinion",
      reason: 'RBAC: unsupported role reference kind: "Role"',
    });
  });

  it("a RoleBinding finds a Role of its own namespace only", async () => {
    const elsewhere = role("dev", "r", [rule("*", "*", "*")]);
    const index = indexOf(elsewhere, roleBinding({ namespace: "prod", name: "b" }, "r", [user("ann")]));
    expect((await ask(index, request(ann))).verdict).toBe("noOpinion");
  });

  it("a service account subject without a namespace is one of the RoleBinding's, and nobody in a ClusterRoleBinding", async () => {
    const bot = { kind: "ServiceAccount", name: "bot" } as const;
    const narrow = indexOf(reader, local("b", bot));
    const wide = indexOf(reader, clusterRoleBinding("b", "reader", [bot]));
    expect((await ask(narrow, request(serviceAccountUser("prod", "bot")))).verdict).toBe("allow");
    expect(await ask(narrow, request(serviceAccountUser("dev", "bot")))).toEqual(noOpinion);
    for (const username of ["system:serviceaccount::bot", "system:serviceaccount:prod:bot", "bot", ""]) {
      expect(await ask(wide, request({ username, groups: [] }))).toEqual(noOpinion);
    }
  });

  it("names are compared with regard to case, and a group is no user", async () => {
    const index = indexOf(reader, clusterRoleBinding("b", "reader", [user("ann"), group("devs")]));
    for (const [username, ...groups] of [["Ann"], ["devs"], ["x", "ann"], ["x", "Devs"], ["x", "dev"], [""]]) {
      expect(await ask(index, request({ username: username ?? "", groups }))).toEqual(noOpinion);
    }
  });

  it("impersonating another group than the one granted is refused, system:masters above all", async () => {
    const role = clusterRole("sudo", [rule("impersonate", "core", "groups", ["devs"])]);
    const index = indexOf(role, clusterRoleBinding("b", "sudo", [user("ann")]));
    const as = async (name: string, resource = "groups"): Promise<string> =>
      (await ask(index, request(ann, { verb: "impersonate", resource, name, namespace: "" }))).verdict;
    expect(await as("devs")).toBe("allow");
    for (const name of ["system:masters", "Devs", ""]) expect(await as(name)).toBe("noOpinion");
    expect(await as("devs", "users")).toBe("noOpinion");
    expect(await as("devs", "serviceaccounts")).toBe("noOpinion");
  });

  it("subjects of unknown kinds and inherited property names are nobody", async () => {
    const odd = { kind: "Everyone", name: "ann" } as unknown as Subject;
    const index = indexOf(reader, clusterRoleBinding("b", "reader", [odd, user("__proto__")]));
    expect(await ask(index, request(ann))).toEqual(noOpinion);
    expect(await ask(index, request({ username: "constructor", groups: ["toString"] }))).toEqual(noOpinion);
    expect((await ask(index, request({ username: "__proto__", groups: [] }))).verdict).toBe("allow");
  });
});

describe("the explanation of a permission", () => {
  const explained = async (index: RbacIndex, attributes: Attributes): Promise<unknown> => {
    const chain = firstDecision([rbacAuthorizer(index)]);
    return (await chain.decide(attributes, { trace: true })).trace?.[0]?.grant;
  };

  it("names binding, subject, role and the rule that permits it", async () => {
    const writer = clusterRole("writer", [rule("list", "core", "pods"), rule("get", "core", "pods")]);
    const index = indexOf(writer, reader, clusterRoleBinding("b", "writer", [group("devs")]), local("c", user("ann")));
    expect(await explained(index, request(ann))).toEqual({
      binding: { kind: "ClusterRoleBinding", name: "b" },
      subject: { kind: "Group", name: "devs" },
      role: { kind: "ClusterRole", name: "writer" },
      rule: '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}',
    });
  });

  it("is of the very decision, and absent for a refusal", async () => {
    const index = indexOf(reader, local("b", user("ann")), clusterRoleBinding("c", "gone", [user("ann")]));
    expect(await explained(index, request(ann))).toMatchObject({ binding: { kind: "RoleBinding", name: "b" } });
    expect(await explained(index, request(ann, { verb: "delete" }))).toBeUndefined();
  });
});

describe("index", () => {
  const oneOf = (...words: string[]): fc.Arbitrary<string> => fc.constantFrom(...words);
  const anySubject: fc.Arbitrary<Subject> = fc.oneof(
    oneOf("ann", "bob", "system:serviceaccount:prod:bot").map(user),
    oneOf("devs", "ops").map(group),
    oneOf("prod", "dev", "").map((namespace): Subject => ({ kind: "ServiceAccount", name: "bot", namespace })),
  );
  const subjects = fc.array(anySubject, { maxLength: 3 });
  const rules: fc.Arbitrary<PolicyRule[]> = fc.array(
    fc.oneof(
      fc
        .tuple(oneOf("get", "list", "*"), oneOf("pods", "pods/log", "*/log", "*"), oneOf("", "x"))
        .map(([verb, resource, name]) => rule(verb, "core", resource, name === "" ? [] : [name])),
      oneOf("/a", "/*").map((path) => pathRule("get", path)),
    ),
    { maxLength: 3 },
  );
  const name = oneOf("a", "b", "c");
  const namespace = oneOf("prod", "dev");
  const anyObject: fc.Arbitrary<RbacObject> = fc.oneof(
    fc.tuple(name, rules).map(([n, r]) => clusterRole(n, r)),
    fc.tuple(namespace, name, rules).map(([ns, n, r]) => role(ns, n, r)),
    fc.tuple(name, name, subjects).map(([n, r, s]) => clusterRoleBinding(n, r, s)),
    fc.tuple(namespace, name, name, oneOf("Role", "ClusterRole"), subjects).map(([ns, n, r, kind, s]) => {
      const binding = roleBinding({ namespace: ns, name: n }, r, s);
      return { ...binding, roleRef: { ...binding.roleRef, kind } };
    }),
  );
  const anyEvent = fc.tuple(fc.boolean(), anyObject, fc.boolean());
  const anyUser = fc.record({
    username: oneOf("ann", "bob", "system:serviceaccount:prod:bot", "system:serviceaccount:dev:bot"),
    groups: fc.array(oneOf("devs", "ops"), { maxLength: 2 }),
  });
  const anyRequest = fc
    .record({
      user: anyUser,
      verb: oneOf("get", "list"),
      subresource: oneOf("", "log"),
      namespace: oneOf("", "prod", "dev"),
      name: oneOf("", "x", "y"),
      path: fc.option(oneOf("/a", "/b"), { nil: undefined }),
    })
    .map(({ user, ...what }) => request(user, what));

  it("decides as a naive scan over all objects does, after any sequence of changes", async () => {
    let allowed = 0;
    const run = async (events: [boolean, RbacObject, boolean][], requests: Attributes[]): Promise<void> => {
      const index = rbacIndex();
      const objects = new Map<string, RbacObject>();
      for (const [put, object, again] of events) {
        const key = `${object.kind} ${object.metadata.namespace}/${object.metadata.name}`;
        const type = put || again ? "put" : "delete";
        index.apply({ type, kind: object.kind as RbacKind, object });
        if (type === "put") objects.set(key, object);
        else objects.delete(key);
      }
      for (const attributes of requests) {
        const decision = await ask(index, attributes);
        const wanted = scan([...objects.values()], attributes);
        if (wanted !== undefined) allowed += 1;
        expect(decision.verdict).toBe(wanted === undefined ? "noOpinion" : "allow");
        expect(decision.reason).toContain(wanted ?? "");
      }
    };
    const cases = fc.asyncProperty(
      fc.array(anyEvent, { minLength: 4, maxLength: 24 }),
      fc.array(anyRequest, { minLength: 5, maxLength: 10 }),
      run,
    );
    await fc.assert(cases, { numRuns: 200, seed: 20_261_121 });
    expect(allowed).toBeGreaterThan(50);
  });
});

/** The naive evaluation: every binding, in order, against every subject, straight from the objects. */
function scan(objects: readonly RbacObject[], attributes: Attributes): string | undefined {
  const { user: who, path } = attributes;
  const namespace = path === undefined ? attributes.namespace : "";
  const inScope = (kind: string): RbacObject[] =>
    objects
      .filter(
        (object) => object.kind === kind && (kind === "ClusterRoleBinding" || object.metadata.namespace === namespace),
      )
      .sort((one, other) => ((one.metadata.name ?? "") < (other.metadata.name ?? "") ? -1 : 1));
  for (const object of [...inScope("ClusterRoleBinding"), ...inScope("RoleBinding")]) {
    const binding = object as AnyBinding;
    const home = binding.metadata.namespace ?? "";
    const subject = (binding.subjects ?? []).find((one) => {
      if (one.kind === "Group") return who.groups.includes(one.name);
      if (one.kind === "User") return one.name === who.username;
      const where = one.namespace === undefined || one.namespace === "" ? home : one.namespace;
      return where !== "" && who.username === `system:serviceaccount:${where}:${one.name}`;
    });
    const target = objects.find(
      ({ kind, metadata }) =>
        kind === binding.roleRef.kind &&
        metadata.name === binding.roleRef.name &&
        (kind === "ClusterRole" || metadata.namespace === home),
    );
    const found = (target as { rules?: PolicyRule[] } | undefined)?.rules ?? [];
    if (subject === undefined || !found.some((one) => ruleMatches(one, attributes))) continue;
    const shown = binding.kind === "RoleBinding" ? `${binding.metadata.name}/${home}` : binding.metadata.name;
    const { kind: roleKind, name: roleName } = binding.roleRef;
    return `allowed by ${binding.kind} "${shown}" of ${roleKind} "${roleName}" to ${subject.kind} "${subject.name}`;
  }
  return undefined;
}
