import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, startAttackedHub, type ApiReply, type AttackedHub } from "./attacked-hub.ts";

let hub: AttackedHub;
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const group = "rbac.authorization.k8s.io";
const adminRef = { apiGroup: group, kind: "ClusterRole", name: "cluster-admin" };
const user = (name: string): object => ({ kind: "User", apiGroup: group, name });

beforeAll(async () => {
  hub = await startAttackedHub();
  const writing = ["create", "get", "update", "patch"];
  await grant("binder", [{ apiGroups: [group], resources: ["rolebindings", "clusterrolebindings"], verbs: writing }]);
  await grant("editor", [{ apiGroups: [group], resources: ["roles", "clusterroles"], verbs: writing }]);
  await make(`${rbac}/namespaces/default/rolebindings`, {
    metadata: { name: "others" },
    subjects: [user("somebody")],
    roleRef: adminRef,
  });
  await make(`${rbac}/namespaces/default/roles`, {
    metadata: { name: "small" },
    rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }],
  });
});
afterAll(() => hub.close());

async function make(path: string, body: object): Promise<void> {
  const reply = await call(hub, hub.admin, { path, body });
  expect([path, reply.status, reply.status === 201 ? "" : reply.text]).toEqual([path, 201, ""]);
}

/** Gives a user the rules, by a ClusterRole of the user's name. */
async function grant(name: string, rules: readonly object[]): Promise<void> {
  await make(`${rbac}/clusterroles`, { metadata: { name }, rules });
  await make(`${rbac}/clusterrolebindings`, {
    metadata: { name },
    subjects: [user(name)],
    roleRef: { apiGroup: group, kind: "ClusterRole", name },
  });
}

async function get(path: string): Promise<ApiReply["json"]> {
  const reply = await call(hub, hub.admin, { path });
  return reply.status === 200 ? reply.json : { missing: reply.status };
}

/** The content types of the three patches. */
const patchTypes = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
] as const;

function patchOf(type: (typeof patchTypes)[number], path: string, value: unknown): unknown {
  if (type === "application/json-patch+json") return [{ op: "add", path, value }];
  return path
    .split("/")
    .slice(1)
    .reduceRight((inner: unknown, key) => ({ [key.replaceAll("~1", "/")]: inner }), value);
}

function expectEscalation(reply: ApiReply): void {
  expect([reply.status, reply.json["reason"]]).toEqual([403, "Forbidden"]);
  expect(reply.json["message"]).toContain("is attempting to grant RBAC permissions not currently held");
}

describe("privilege escalation by bindings", () => {
  const bindings = ["/namespaces/default/rolebindings", "/namespaces/kube-system/rolebindings", "/clusterrolebindings"];

  test.each(bindings)("who may only write %s cannot bind cluster-admin, by any verb", async (collection) => {
    const path = `${rbac}${collection}`;
    const binder = hub.as("binder");
    const body = { metadata: { name: "mine" }, subjects: [user("binder")], roleRef: adminRef };
    expectEscalation(await call(hub, binder, { path, body }));
    expectEscalation(await call(hub, binder, { path: `${path}?dryRun=All`, body }));
    expectEscalation(await call(hub, binder, { path, body: { ...body, metadata: { generateName: "mine-" } } }));
    expectEscalation(await call(hub, binder, { method: "PUT", path: `${path}/mine`, body }));
    expect(await get(`${path}/mine`)).toEqual({ missing: 404 });
  });

  test("nor a group, a ServiceAccount or nobody at all", async () => {
    for (const subjects of [
      [{ kind: "Group", apiGroup: group, name: "system:authenticated" }],
      [{ kind: "ServiceAccount", namespace: "default", name: "default" }],
      [],
    ]) {
      const body = { metadata: { name: "mine" }, subjects, roleRef: adminRef };
      expectEscalation(await call(hub, hub.as("binder"), { path: `${rbac}/clusterrolebindings`, body }));
    }
    expect(await get(`${rbac}/clusterrolebindings/mine`)).toEqual({ missing: 404 });
  });

  test("nor join a binding that others have, by update or any patch", async () => {
    const path = `${rbac}/namespaces/default/rolebindings/others`;
    const before = await get(path);
    const subjects = [user("somebody"), user("binder")];
    expectEscalation(await call(hub, hub.as("binder"), { method: "PUT", path, body: { ...before, subjects } }));
    for (const type of patchTypes) {
      const body = patchOf(type, "/subjects", subjects);
      expectEscalation(await call(hub, hub.as("binder"), { method: "PATCH", path, type, body }));
    }
    expect(await get(path)).toEqual(before);
  });

  test("nor turn a binding that is allowed to another role", async () => {
    const path = `${rbac}/namespaces/default/rolebindings/turned`;
    await make(`${rbac}/namespaces/default/rolebindings`, {
      metadata: { name: "turned" },
      subjects: [user("binder")],
      roleRef: { apiGroup: group, kind: "Role", name: "small" },
    });
    const before = await get(path);
    for (const dial of [hub.as("binder"), hub.admin]) {
      const reply = await call(hub, dial, { method: "PUT", path, body: { ...before, roleRef: adminRef } });
      expect([403, 422]).toContain(reply.status);
    }
    expect(await get(path)).toEqual(before);
  });

  test("a role that does not exist cannot be bound in advance", async () => {
    const body = { metadata: { name: "early" }, subjects: [user("binder")], roleRef: { ...adminRef, name: "not-yet" } };
    const reply = await call(hub, hub.as("binder"), { path: `${rbac}/clusterrolebindings`, body });
    expect(reply.status).toBe(404);
  });

  test("who holds the rights of a role may bind it, and gives away no more", async () => {
    const path = `${rbac}/clusterrolebindings`;
    const body = (name: string): object => ({
      metadata: { name: `again-${name}` },
      subjects: [user("friend")],
      roleRef: { apiGroup: group, kind: "ClusterRole", name },
    });
    expect((await call(hub, hub.as("binder"), { path, body: body("binder") })).status).toBe(201);
    expectEscalation(await call(hub, hub.as("friend"), { path, body: body("editor") }));
  });
});

describe("privilege escalation by roles", () => {
  const everything = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];

  test("who may write roles cannot write what is not held, by any verb", async () => {
    const editor = hub.as("editor");
    for (const collection of ["/namespaces/default/roles", "/clusterroles"]) {
      const path = `${rbac}${collection}`;
      const body = { metadata: { name: "large" }, rules: everything };
      expectEscalation(await call(hub, editor, { path, body }));
      expectEscalation(await call(hub, editor, { method: "PUT", path: `${path}/large`, body }));
      expect(await get(`${path}/large`)).toEqual({ missing: 404 });
    }
  });

  test("who is bound to a role cannot widen it, by update or any patch", async () => {
    const path = `${rbac}/clusterroles/editor`;
    const before = await get(path);
    const widened = [
      everything,
      [
        {
          apiGroups: [group],
          resources: ["roles", "clusterroles"],
          verbs: ["create", "get", "update", "patch", "escalate"],
        },
      ],
      [{ apiGroups: [group], resources: ["roles", "clusterroles", "rolebindings"], verbs: ["get"] }],
      [{ apiGroups: [group, ""], resources: ["roles"], verbs: ["get"] }],
      [{ apiGroups: [group], resources: ["roles/*"], verbs: ["get"] }],
      [{ nonResourceURLs: ["*"], verbs: ["get"] }],
    ];
    for (const rules of widened) {
      expectEscalation(await call(hub, hub.as("editor"), { method: "PUT", path, body: { ...before, rules } }));
      for (const type of patchTypes) {
        const body = patchOf(type, "/rules", rules);
        expectEscalation(await call(hub, hub.as("editor"), { method: "PATCH", path, type, body }));
      }
    }
    expect(await get(path)).toEqual(before);
  });

  test("labels do not carry the rules of one role into another that aggregates", async () => {
    const label = "rbac.authorization.k8s.io/aggregate-to-view";
    const editor = hub.as("editor");
    const path = `${rbac}/clusterroles`;
    const labels = { [label]: "true" };
    expectEscalation(
      await call(hub, editor, { path, body: { metadata: { name: "trick", labels }, rules: everything } }),
    );
    for (const name of ["cluster-admin", "system:node"]) {
      const before = await get(`${path}/${name}`);
      const metadata = { ...(before["metadata"] as object), labels };
      expectEscalation(
        await call(hub, editor, { method: "PUT", path: `${path}/${name}`, body: { ...before, metadata } }),
      );
      for (const type of patchTypes) {
        const body =
          type === "application/json-patch+json"
            ? [{ op: "add", path: `/metadata/labels/${label.replaceAll("/", "~1")}`, value: "true" }]
            : { metadata: { labels } };
        expectEscalation(await call(hub, editor, { method: "PATCH", path: `${path}/${name}`, type, body }));
      }
      expect(await get(`${path}/${name}`)).toEqual(before);
    }
    expect(JSON.stringify((await get(`${path}/view`))["rules"])).not.toContain('"*"');
  });

  test("an aggregation rule is for those who may do everything", async () => {
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] };
    const path = `${rbac}/clusterroles`;
    const created = await call(hub, hub.as("editor"), {
      path,
      body: { metadata: { name: "gather" }, aggregationRule, rules: [] },
    });
    expect([created.status, created.json["message"]]).toEqual([
      403,
      expect.stringContaining("must have cluster-admin privileges to use the aggregationRule"),
    ]);
    const patched = await call(hub, hub.as("editor"), {
      method: "PATCH",
      path: `${path}/editor`,
      type: "application/merge-patch+json",
      body: { aggregationRule },
    });
    expect(patched.status).toBe(403);
  });

  test("rights in one namespace allow no ClusterRole and no Role in another", async () => {
    await make(`${rbac}/namespaces/default/rolebindings`, {
      metadata: { name: "local" },
      subjects: [user("local")],
      roleRef: adminRef,
    });
    const local = hub.as("local");
    const body = { metadata: { name: "by-local" }, rules: everything };
    expect((await call(hub, local, { path: `${rbac}/namespaces/default/roles`, body })).status).toBe(201);
    expect((await call(hub, local, { path: `${rbac}/namespaces/kube-system/roles`, body })).status).toBe(403);
    expect((await call(hub, local, { path: `${rbac}/clusterroles`, body })).status).toBe(403);
    const binding = { metadata: { name: "by-local" }, subjects: [user("local")], roleRef: adminRef };
    expect(
      (await call(hub, local, { path: `${rbac}/namespaces/kube-system/rolebindings`, body: binding })).status,
    ).toBe(403);
    expect((await call(hub, local, { path: `${rbac}/clusterrolebindings`, body: binding })).status).toBe(403);
    expect((await call(hub, local, { path: "/api/v1/nodes" })).status).toBe(403);
    expect((await call(hub, local, { path: "/metrics" })).status).toBe(403);
  });

  test("the right to update alone does not create", async () => {
    await grant("updater", [
      { apiGroups: ["coordination.k8s.io", group, ""], resources: ["*"], verbs: ["update", "patch"] },
    ]);
    for (const [path, body] of [
      ["/apis/coordination.k8s.io/v1/namespaces/default/leases/new", { spec: {} }],
      [`${rbac}/namespaces/default/roles/new`, { rules: [] }],
      ["/api/v1/namespaces/default/configmaps/new", { data: {} }],
    ] as const) {
      const reply = await call(hub, hub.as("updater"), {
        method: "PUT",
        path,
        body: { metadata: { name: "new" }, ...body },
      });
      expect([path, [403, 404].includes(reply.status)]).toEqual([path, true]);
      expect(await get(path)).toEqual({ missing: 404 });
    }
  });
});

describe("reviews", () => {
  test("are not for those without the right to them", async () => {
    const nobody = hub.as("nobody");
    for (const path of [
      "/apis/authentication.k8s.io/v1/tokenreviews",
      "/apis/authorization.k8s.io/v1/subjectaccessreviews",
      "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews",
    ]) {
      for (const dial of [{}, nobody] as const) expect((await call(hub, dial, { path, body: {} })).status).toBe(403);
    }
  });

  test("of a bad token say no, and repeat nothing", async () => {
    const path = "/apis/authentication.k8s.io/v1/tokenreviews";
    for (const token of [
      "wrong-token-98765",
      "abcdef.0123456789abcdef",
      "wrong-token-98765 x",
      "\u0000",
      "__proto__",
      hub.tokens.operator.slice(0, -1),
    ]) {
      const reply = await call(hub, hub.admin, { path, body: { spec: { token } } });
      expect([
        token,
        reply.status,
        (reply.json["status"] as { readonly authenticated?: boolean }).authenticated ?? false,
      ]).toEqual([token, 201, false]);
      expect(reply.text).not.toContain("wrong-token");
    }
    expect((await call(hub, hub.admin, { path, body: { spec: { token: "" } } })).status).toBe(400);
    expect((await call(hub, hub.admin, { path, body: {} })).status).toBe(400);
  });

  test("about oneself tell of oneself, whatever the body says", async () => {
    const nobody = hub.as("nobody");
    const attributes = { verb: "get", resource: "secrets", namespace: "kube-system" };
    const body = {
      spec: { user: "kubernetes-admin", groups: ["system:masters"], resourceAttributes: attributes },
      status: { allowed: true },
    };
    const reply = await call(hub, nobody, { path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body });
    expect([reply.status, reply.json["status"]]).toEqual([201, expect.objectContaining({ allowed: false })]);
    const self = await call(hub, nobody, {
      path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
      body: { status: { userInfo: { username: "kubernetes-admin", groups: ["system:masters"] } } },
    });
    expect(self.text).not.toContain("masters");
  });

  test("of another namespace than that of the path are refused", async () => {
    await grant("local-reviewer", [
      { apiGroups: ["authorization.k8s.io"], resources: ["localsubjectaccessreviews"], verbs: ["create"] },
    ]);
    const attributes = { verb: "get", resource: "secrets", namespace: "kube-system" };
    const reply = await call(hub, hub.as("local-reviewer"), {
      path: "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews",
      body: { spec: { user: "jane", resourceAttributes: attributes } },
    });
    expect([400, 422]).toContain(reply.status);
  });
});

describe("bootstrap token Secrets", () => {
  /** A Secret that would be a token if everything about it were right. */
  async function tokenSecret(
    id: string,
    change: { readonly namespace?: string; readonly type?: string; readonly name?: string; readonly data?: object },
  ): Promise<string> {
    const {
      namespace = "kube-system",
      type = "bootstrap.kubernetes.io/token",
      name = `bootstrap-token-${id}`,
      data = {},
    } = change;
    await make(`/api/v1/namespaces/${namespace}/secrets`, {
      metadata: { name },
      type,
      stringData: {
        "token-id": id,
        "token-secret": "0123456789abcdef",
        "usage-bootstrap-authentication": "true",
        ...data,
      },
    });
    return `${id}.0123456789abcdef`;
  }

  const status = async (token: string): Promise<number> =>
    (
      await call(
        hub,
        {},
        {
          path: "/apis/certificates.k8s.io/v1/certificatesigningrequests",
          headers: [["Authorization", `Bearer ${token}`]],
        },
      )
    ).status;

  let nextId = 10_000;

  test("one in order lets in", async () => {
    const token = await tokenSecret("aaaaaa", {
      data: { "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token" },
    });
    expect(await status(token)).toBe(200);
    const secrets = await call(
      hub,
      {},
      { path: "/api/v1/namespaces/kube-system/secrets", headers: [["Authorization", `Bearer ${token}`]] },
    );
    expect(secrets.status).toBe(403);
  });

  test.each([
    ["in another namespace", { namespace: "default" }],
    ["of another type", { type: "Opaque" }],
    ["of another name", { name: "bootstrap-token-zzzzzz" }],
    ["with the id of another", { data: { "token-id": "aaaaaa" } }],
    ["without the usage", { data: { "usage-bootstrap-authentication": "false" } }],
    ["with a usage that is nearly true", { data: { "usage-bootstrap-authentication": "True" } }],
    ["that has expired", { data: { expiration: "2020-01-01T00:00:00Z" } }],
    ["whose expiration is no time", { data: { expiration: "tomorrow" } }],
    ["with the group system:masters", { data: { "auth-extra-groups": "system:masters" } }],
    ["with one bad group among good ones", { data: { "auth-extra-groups": "system:bootstrappers:a,system:masters" } }],
    ["with a blank in the groups", { data: { "auth-extra-groups": "system:bootstrappers:a, system:bootstrappers:b" } }],
    [
      "with a group that only begins right",
      { data: { "auth-extra-groups": "system:bootstrappers:a\nsystem:masters" } },
    ],
    ["with an empty secret", { data: { "token-secret": "" } }],
  ] as const)("one %s is 401", async (_name, change) => {
    nextId += 1;
    const id = `b${nextId}`;
    expect(await status(await tokenSecret(id, change))).toBe(401);
  });

  test("one that is deleted is worth nothing at once", async () => {
    const token = await tokenSecret("cccccc", {
      data: { "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token" },
    });
    expect(await status(token)).toBe(200);
    await call(hub, hub.admin, {
      method: "DELETE",
      path: "/api/v1/namespaces/kube-system/secrets/bootstrap-token-cccccc",
    });
    expect(await status(token)).toBe(401);
  });
});
