import { describe, expect, it } from "vitest";
import type { StatusError } from "../apimachinery/status.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import type { ClusterRole, PolicyRule } from "../apis/rbac.ts";
import {
  clusterRole,
  clusterRoleBinding,
  pathRule,
  role,
  roleBinding,
  rule,
  user,
} from "./bootstrap-policy/policy-object.ts";
import { type EscalationChecks, bindingWriteRefusal, roleWriteRefusal } from "./escalation.ts";
import { rbac } from "./rbac.ts";
import { rbacIndex } from "./rbac-index.ts";
import type { AnyBinding, AnyRole, RbacKind, RbacObject } from "./rbac-types.ts";

const ann: UserInfo = { username: "ann", groups: ["devs", "system:authenticated"] };
const boss: UserInfo = { username: "boss", groups: ["system:masters"] };
const admin = clusterRole("cluster-admin", [rule("*", "*", "*"), pathRule("*", "*")]);
const rbacRights = rule("create update patch", "rbac.authorization.k8s.io", "roles rolebindings clusterroles");

function world(...objects: readonly RbacObject[]): EscalationChecks {
  const index = rbacIndex();
  for (const object of [admin, ...objects]) index.apply({ type: "put", kind: object.kind as RbacKind, object });
  return { authorize: rbac(index), rules: index };
}

/** Gives ann these rules, cluster-wide or in one namespace. */
function held(rules: readonly PolicyRule[], namespace = ""): readonly RbacObject[] {
  const anns = clusterRole("anns", rules);
  const wide = clusterRoleBinding("anns", "anns", [user("ann")]);
  const narrow = roleBinding({ namespace, name: "anns" }, "anns", [user("ann")]);
  return [anns, namespace === "" ? wide : { ...narrow, roleRef: wide.roleRef }];
}

const write = async (checks: EscalationChecks, object: AnyRole, stored?: AnyRole): Promise<StatusError | undefined> =>
  roleWriteRefusal({ user: ann, object, stored }, checks);
const bind = async (
  checks: EscalationChecks,
  object: AnyBinding,
  stored?: AnyBinding,
): Promise<StatusError | undefined> => bindingWriteRefusal({ user: ann, object, stored }, checks);
const grant = (name: string): AnyBinding => clusterRoleBinding("mine", name, [user("ann")]);

describe("role writes", () => {
  it("refuses rules that the user does not hold, one line each, verbs joined", async () => {
    const wanted = role("prod", "r", [
      rule("get list delete", "core", "pods secrets"),
      rule("get", "apps", "scales", ["x"]),
    ]);
    const refusal = await write(world(...held([rule("get list", "core", "pods")], "prod")), wanted);
    expect(refusal?.toStatus()).toMatchObject({
      reason: "Forbidden",
      code: 403,
      details: { name: "r", group: "rbac.authorization.k8s.io", kind: "roles" },
    });
    expect(refusal?.message).toBe(
      'roles.rbac.authorization.k8s.io "r" is forbidden: user "ann" (groups=["devs" "system:authenticated"]) ' +
        "is attempting to grant RBAC permissions not currently held:\n" +
        '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}\n' +
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list" "delete"]}\n' +
        '{APIGroups:["apps"], Resources:["scales"], ResourceNames:["x"], Verbs:["get"]}',
    );
  });

  it("allows rules that the user holds, from several roles and by wider ones", async () => {
    const checks = world(...held([rule("*", "core", "pods"), rule("get", "*", "*/status")], "prod"));
    expect(await write(checks, role("prod", "r", [rule("get", "core", "pods nodes/status", ["x"])]))).toBeUndefined();
  });

  it("refuses in a namespace in which the user holds nothing", async () => {
    const checks = world(...held([rule("get", "core", "pods")], "prod"));
    expect((await write(checks, role("dev", "r", [rule("get", "core", "pods")])))?.code).toBe(403);
    expect((await write(checks, clusterRole("r", [rule("get", "core", "pods")])))?.code).toBe(403);
  });

  it("allows anything to whoever may escalate that role, and to system:masters", async () => {
    const escalate = rule("escalate", "rbac.authorization.k8s.io", "clusterroles", ["r"]);
    const checks = world(...held([escalate]));
    const everything = (name: string): ClusterRole => clusterRole(name, admin.rules ?? []);
    expect(await write(checks, everything("r"))).toBeUndefined();
    expect((await write(checks, everything("s")))?.code).toBe(403);
    expect(await roleWriteRefusal({ user: boss, object: everything("s"), stored: undefined }, checks)).toBeUndefined();
  });

  it("allows to change annotations, owners and finalizers of a role beyond the user's rights", async () => {
    const { metadata } = admin;
    const annotated = { ...admin, metadata: { ...metadata, annotations: { a: "b" }, finalizers: ["x/y"] } };
    expect(await write(world(), annotated, admin)).toBeUndefined();
  });

  it("names roles that could not be resolved", async () => {
    const checks = world(clusterRoleBinding("b", "gone", [user("ann")]));
    const refusal = await write(checks, role("prod", "r", [rule("get", "core", "pods")]));
    expect(refusal?.message).toMatch(
      /Verbs:\["get"\]\}; resolution errors: \[clusterrole\.rbac\.authorization\.k8s\.io "gone" not found\]$/,
    );
  });
});

describe("binding writes", () => {
  const reader = clusterRole("reader", [rule("get", "core", "pods")]);

  it("allows to hand out a role whose rules the user holds", async () => {
    expect(await bind(world(reader, ...held([rule("get", "core", "pods")])), grant("reader"))).toBeUndefined();
  });

  it("allows what verb bind on the role permits, in the binding's namespace only", async () => {
    const may = rule("bind", "rbac.authorization.k8s.io", "clusterroles", ["reader"]);
    const checks = world(reader, ...held([may], "prod"));
    const { roleRef } = grant("reader");
    const inside = (namespace: string): AnyBinding => ({
      ...roleBinding({ namespace, name: "b" }, "reader", [user("ann")]),
      roleRef,
    });
    expect(await bind(checks, inside("prod"))).toBeUndefined();
    expect((await bind(checks, inside("dev")))?.code).toBe(403);
    expect((await bind(checks, grant("reader")))?.code).toBe(403);
  });

  it("answers 404 for a missing role", async () => {
    const refusal = await bind(world(...held([rbacRights])), grant("gone"));
    expect(refusal?.toStatus()).toMatchObject({
      code: 404,
      reason: "NotFound",
      message: 'clusterrole.rbac.authorization.k8s.io "gone" not found',
    });
  });

  it("allows to change labels of a binding, and nothing that grants", async () => {
    const stored = clusterRoleBinding("b", "cluster-admin", []);
    const labelled = { ...stored, metadata: { ...stored.metadata, labels: { a: "b" } } };
    expect(await bind(world(), labelled, stored)).toBeUndefined();
    expect((await bind(world(), { ...stored, subjects: [user("ann")] }, stored))?.code).toBe(403);
  });

  it("allows system:masters to bind anything", async () => {
    const object = grant("cluster-admin");
    expect(await bindingWriteRefusal({ user: boss, object, stored: undefined }, world())).toBeUndefined();
  });
});

describe("privilege escalation by self-binding", () => {
  it("a user who may create every RBAC object cannot bind cluster-admin to itself", async () => {
    const checks = world(...held([rule("*", "rbac.authorization.k8s.io", "clusterrolebindings rolebindings")]));
    const refusal = await bind(checks, grant("cluster-admin"));
    expect(refusal?.message).toBe(
      'clusterrolebindings.rbac.authorization.k8s.io "mine" is forbidden: user "ann" (groups=["devs" "system:authenticated"]) ' +
        "is attempting to grant RBAC permissions not currently held:\n" +
        '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}\n{NonResourceURLs:["*"], Verbs:["*"]}',
    );
  });

  it("a namespace administrator cannot take its rights to another namespace or to the cluster", async () => {
    const checks = world(...held(admin.rules ?? [], "prod"));
    const { roleRef } = grant("cluster-admin");
    const inside = (namespace: string): AnyBinding => ({
      ...roleBinding({ namespace, name: "b" }, "x", [user("eve")]),
      roleRef,
    });
    expect(await bind(checks, inside("prod"))).toBeUndefined();
    expect((await bind(checks, inside("dev")))?.code).toBe(403);
    expect((await bind(checks, grant("cluster-admin")))?.code).toBe(403);
  });

  it("widening a role that is already bound to the user is refused", async () => {
    const checks = world(...held([rbacRights]));
    const [anns] = held([rbacRights]);
    const wider = clusterRole("anns", [rbacRights, rule("get", "core", "secrets")]);
    expect((await write(checks, wider, anns as AnyRole))?.code).toBe(403);
  });

  it("labelling a powerful role into an aggregated one is refused", async () => {
    const labels = { "rbac.authorization.k8s.io/aggregate-to-edit": "true" };
    const fed = clusterRole("cluster-admin", admin.rules ?? [], labels);
    expect((await write(world(...held([rbacRights])), fed, admin))?.code).toBe(403);
  });

  it("an aggregationRule takes full authority, also to change or remove one", async () => {
    const empty = clusterRole("r", []);
    const gathering = { ...empty, aggregationRule: { clusterRoleSelectors: [{}] } };
    const checks = world(...held([rbacRights, rule("get create delete", "*", "*"), pathRule("*", "*")]));
    const why =
      'clusterroles.rbac.authorization.k8s.io "r" is forbidden: must have cluster-admin privileges to use the aggregationRule';
    expect((await write(checks, gathering))?.message).toBe(why);
    expect((await write(checks, empty, gathering))?.message).toBe(why);
    expect(await write(world(...held(admin.rules ?? [])), gathering)).toBeUndefined();
  });

  it("an authorizer that fails or denies the verb gives nothing", async () => {
    const { rules } = world();
    const denying = { rules, authorize: async () => ({ verdict: "deny", reason: "" }) as const };
    expect((await bind(denying, grant("cluster-admin")))?.code).toBe(403);
    const failing = { rules, authorize: async () => ({ verdict: "noOpinion", reason: "", error: "down" }) as const };
    expect((await bind(failing, grant("cluster-admin")))?.code).toBe(403);
  });

  it("a reference to an unknown kind of role is refused", async () => {
    const binding = grant("cluster-admin");
    const odd = { ...binding, roleRef: { ...binding.roleRef, kind: "SuperRole" } };
    expect((await bind(world(...held([rule("bind", "*", "*")])), odd))?.code).toBe(400);
  });

  it("a role with a huge number of combinations is refused in bounded time with a bounded message", async () => {
    const many = Array.from({ length: 400 }, (_, index) => `word${index}`);
    const bomb = { verbs: many, apiGroups: many, resources: many, resourceNames: many };
    const refusal = await write(world(...held([rbacRights])), role("prod", "r", [bomb]));
    expect(refusal?.code).toBe(403);
    expect(refusal?.message.length).toBeLessThan(20_000);
    expect(await write(world(...held(admin.rules ?? [])), role("prod", "r", [bomb]))).toBeUndefined();
  });
});
