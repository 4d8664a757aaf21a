import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { generatePrivateKey, exportPkcs8Pem } from "../../src/pki/keys.ts";
import { createCa } from "../../src/pki/ca.ts";
import { systemRandom } from "../../src/host/system-random.ts";
import { apiClient, type ApiClient, type Identity, type Reply } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const reviews = "/apis/authorization.k8s.io/v1";
const authentication = "/apis/authentication.k8s.io/v1";

let hub: TestHub;
const clients: ApiClient[] = [];
let admin: ApiClient;

function as(identity: Identity, protocol: "http1" | "http2" = "http1"): ApiClient {
  const client = apiClient(hub, identity, protocol);
  clients.push(client);
  return client;
}

const user = (name: string): ApiClient => as({ token: hub.token(name) });
const post = (client: ApiClient, path: string, body: object): Promise<Reply> => client(path, { method: "POST", body });

/** Gives a user rules in all namespaces. */
async function grant(name: string, rules: readonly object[]): Promise<void> {
  const role = await post(admin, `${rbac}/clusterroles`, { metadata: { name: `of-${name}` }, rules });
  const binding = await post(admin, `${rbac}/clusterrolebindings`, {
    metadata: { name: `of-${name}` },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: `of-${name}` },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name }],
  });
  if (role.status !== 201 || binding.status !== 201) throw new Error(role.text + binding.text);
}

beforeAll(async () => {
  hub = await startTestHub({ users: { alice: ["devs"], bob: [], carol: [], dora: [], ellen: [] } });
  admin = as("admin");
});

afterAll(async () => {
  for (const client of clients) client.close();
  await hub.close();
});

describe("credentials", () => {
  const whoami = async (client: ApiClient): Promise<unknown> =>
    ((await post(client, `${authentication}/selfsubjectreviews`, {})).json()["status"] as { userInfo: unknown })
      .userInfo;

  it("of a certificate and of a token make a user with groups, in both protocols", async () => {
    for (const protocol of ["http1", "http2"] as const) {
      expect(await whoami(as("admin", protocol))).toEqual({
        username: "kubernetes-admin",
        groups: ["system:masters", "system:authenticated"],
        extra: {
          "authentication.kubernetes.io/credential-id": [expect.stringMatching(/^X509SHA256=[\da-f]{64}$/) as unknown],
        },
      });
      expect(await whoami(as({ token: hub.token("alice") }, protocol))).toEqual({
        username: "alice",
        uid: "uid-alice",
        groups: ["devs", "system:authenticated"],
      });
    }
  });

  it("that nobody knows are 401 everywhere, also where anonymous may go", async () => {
    for (const path of ["/version", "/healthz", "/api", maps, "/none"]) {
      for (const token of ["nonsense", "abcdef.0123456789abcdef"]) {
        const reply = await as({ token })(path);
        expect(reply.status).toBe(401);
        expect(reply.json()).toEqual({
          kind: "Status",
          apiVersion: "v1",
          metadata: {},
          status: "Failure",
          message: "Unauthorized",
          reason: "Unauthorized",
          code: 401,
        });
        expect(reply.headers["www-authenticate"]).toBeUndefined();
      }
    }
  });

  it.each(["Basic YWRtaW46YWRtaW4=", "Bearer", "Bearer ", "Digest x"])(
    "%s are none at all, which is anonymous",
    async (authorization) => {
      const anonymous = as("anonymous");
      expect((await anonymous("/version", { headers: { authorization } })).status).toBe(200);
      expect((await anonymous(maps, { headers: { authorization } })).json()).toMatchObject({
        reason: "Forbidden",
        message:
          'configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" in API group "" in the namespace "default"',
        details: { kind: "configmaps" },
      });
    },
  );

  it("made for servers, or by another authority, are 401", async () => {
    const pki = (file: string): string => readFileSync(join(hub.dataDir, "pki", file), "utf8");
    const server = { certPem: pki("apiserver.crt"), keyPem: pki("apiserver.key") };
    const key = generatePrivateKey();
    const stranger = createCa({ commonName: "kubernetes-admin", key, now: Date.now(), years: 1, random: systemRandom });
    const strange = { certPem: stranger.pem, keyPem: exportPkcs8Pem(key) };
    for (const pair of [server, strange]) {
      for (const protocol of ["http1", "http2"] as const) {
        expect((await as(pair, protocol)("/version")).status).toBe(401);
      }
    }
  });

  it("of a certificate win over a token beside them", async () => {
    expect((await admin(maps, { headers: { authorization: "Bearer nonsense" } })).status).toBe(200);
  });
});

describe("permissions", () => {
  it("by name let a user get, list and watch that one object and no other", async () => {
    await grant("alice", [
      { apiGroups: [""], resources: ["configmaps"], resourceNames: ["mine"], verbs: ["get", "list", "watch"] },
    ]);
    await post(admin, maps, { metadata: { name: "mine" } });
    await post(admin, maps, { metadata: { name: "other" } });
    const alice = user("alice");
    expect((await alice(`${maps}/mine`)).status).toBe(200);
    expect((await alice(`${maps}/other`)).status).toBe(403);
    expect((await alice(maps)).status).toBe(403);
    expect((await alice(`${maps}?watch=true`)).status).toBe(403);
    expect((await alice(`${maps}?fieldSelector=metadata.name%3Dmine`)).items()).toHaveLength(1);
    const stream = await alice.stream(`${maps}?watch=true&fieldSelector=metadata.name%3Dmine`);
    expect((await stream.next()).object.metadata.name).toBe("mine");
    stream.close();
    for (const trick of [
      "metadata.name%3Dmine%2Cmetadata.name%3Dother",
      "metadata.name%3Dmine%2Cmetadata.name!%3Dmine",
      "metadata.name%3D%3Dmine%2Cmetadata.namespace%3Ddefault",
    ]) {
      const items = (await alice(`${maps}?fieldSelector=${trick}`)).items?.call(undefined) ?? [];
      expect(items.filter(({ metadata }) => metadata.name !== "mine")).toEqual([]);
    }
    expect((await alice(`${maps}/other?watch=true&fieldSelector=metadata.name%3Dmine`)).status).toBe(403);
  });

  it("to update are not permissions to create, where PUT could do so", async () => {
    const leases = "/apis/coordination.k8s.io/v1";
    await grant("bob", [{ apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "update"] }]);
    const put = await user("bob")(`${leases}/namespaces/default/leases/new`, {
      method: "PUT",
      body: { metadata: { name: "new" } },
    });
    expect(put.json()).toMatchObject({
      reason: "Forbidden",
      message:
        'leases.coordination.k8s.io "new" is forbidden: User "bob" cannot create resource "leases" in API group "coordination.k8s.io" in the namespace "default"',
    });
    expect((await admin(`${leases}/namespaces/default/leases/new`)).status).toBe(404);
  });

  it("on a resource are none on its subresources", async () => {
    await grant("dora", [
      { apiGroups: ["certificates.k8s.io"], resources: ["certificatesigningrequests"], verbs: ["*"] },
      { apiGroups: [""], resources: ["pods", "pods/*"], verbs: ["get"] },
    ]);
    const ask = async (attributes: object): Promise<unknown> =>
      (
        (
          await post(admin, `${reviews}/subjectaccessreviews`, {
            spec: { user: "dora", resourceAttributes: attributes },
          })
        ).json()["status"] as { allowed: unknown }
      ).allowed;
    expect(await ask({ verb: "update", group: "certificates.k8s.io", resource: "certificatesigningrequests" })).toBe(
      true,
    );
    expect(
      await ask({
        verb: "update",
        group: "certificates.k8s.io",
        resource: "certificatesigningrequests",
        subresource: "approval",
      }),
    ).toBe(false);
    expect(await ask({ verb: "get", resource: "pods" })).toBe(true);
    expect(await ask({ verb: "get", resource: "pods", subresource: "exec" })).toBe(false);
  });

  it("cannot be handed out by who does not hold them", async () => {
    await grant("carol", [
      { apiGroups: ["rbac.authorization.k8s.io"], resources: ["*"], verbs: ["create", "update", "patch", "get"] },
    ]);
    const carol = user("carol");
    const role = await post(carol, `${rbac}/clusterroles`, {
      metadata: { name: "all" },
      rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }],
    });
    expect(role.json()).toMatchObject({
      reason: "Forbidden",
      message: expect.stringContaining("is attempting to grant RBAC permissions not currently held") as unknown,
    });
    const bound = await post(carol, `${rbac}/clusterrolebindings`, {
      metadata: { name: "me" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "carol" }],
    });
    expect(bound.status).toBe(403);
    const grown = await carol(`${rbac}/clusterroles/of-carol`, {
      method: "PATCH",
      type: "application/json-patch+json",
      body: [{ op: "add", path: "/rules/-", value: { apiGroups: [""], resources: ["secrets"], verbs: ["get"] } }],
    });
    expect(grown.status).toBe(403);
    expect((await carol("/api/v1/secrets")).status).toBe(403);
  });

  it("that are taken away are gone with the reply", async () => {
    await grant("ellen", [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }]);
    const ellen = user("ellen");
    expect((await ellen(maps)).status).toBe(200);
    await admin(`${rbac}/clusterrolebindings/of-ellen`, { method: "DELETE" });
    expect((await ellen(maps)).status).toBe(403);
  });
});

describe("reviews", () => {
  it("answer 201 with every list there, for who asks about himself", async () => {
    const rules = await post(user("bob"), `${reviews}/selfsubjectrulesreviews`, { spec: { namespace: "default" } });
    expect(rules.status).toBe(201);
    expect(rules.json()["status"]).toMatchObject({
      resourceRules: expect.any(Array) as unknown,
      nonResourceRules: expect.any(Array) as unknown,
      incomplete: false,
    });
    const self = await post(user("bob"), `${reviews}/selfsubjectaccessreviews`, {
      spec: { resourceAttributes: { verb: "get", resource: "secrets" } },
    });
    expect([self.status, self.json()["status"]]).toEqual([201, { allowed: false }]);
  });

  it("of access in one namespace take it from the path", async () => {
    const local = await post(admin, `${reviews}/namespaces/default/localsubjectaccessreviews`, {
      spec: { user: "u", resourceAttributes: { namespace: "default", verb: "get", resource: "secrets" } },
    });
    expect([local.status, local.json()["status"]]).toEqual([201, { allowed: false }]);
    expect(local.object().metadata.namespace).toBe("default");
  });

  it("of tokens tell who it is and never repeat the token", async () => {
    const good = await post(admin, `${authentication}/tokenreviews`, { spec: { token: hub.token("alice") } });
    expect(good.status).toBe(201);
    expect(good.json()["status"]).toMatchObject({
      authenticated: true,
      user: { username: "alice", groups: ["devs", "system:authenticated"] },
    });
    const bad = await post(admin, `${authentication}/tokenreviews`, { spec: { token: "nonsense-token" } });
    expect([bad.status, bad.json()["status"]]).toEqual([201, { user: {}, error: "invalid bearer token" }]);
    expect(good.text + bad.text).not.toMatch(/nonsense-token|alice-token/);
    expect((await post(admin, `${authentication}/tokenreviews`, { spec: {} })).json()).toMatchObject({
      reason: "BadRequest",
      message: "token is required for TokenReview in authentication",
    });
    expect((await post(user("bob"), `${authentication}/tokenreviews`, { spec: { token: "x" } })).status).toBe(403);
  });

  it.each([
    [`${reviews}/subjectaccessreviews`, { spec: {} }, 422],
    [`${reviews}/subjectaccessreviews`, { spec: { user: "u" } }, 422],
    [`${reviews}/subjectaccessreviews`, { metadata: { name: "n" }, spec: { user: "u", resourceAttributes: {} } }, 422],
    [`${reviews}/selfsubjectrulesreviews`, { spec: {} }, 400],
    [
      `${reviews}/namespaces/default/localsubjectaccessreviews`,
      { spec: { user: "u", resourceAttributes: { namespace: "other" } } },
      422,
    ],
    [
      `${reviews}/namespaces/default/localsubjectaccessreviews`,
      { spec: { user: "u", nonResourceAttributes: { path: "/" } } },
      422,
    ],
  ])("at %s refuse %o", async (path, body, code) => {
    const reply = await post(admin, path, body);
    expect(reply.status).toBe(code);
  });
});

describe("impersonation", () => {
  const review = (client: ApiClient, headers: Record<string, string | string[]>): Promise<Reply> =>
    client(`${authentication}/selfsubjectreviews`, { method: "POST", body: {}, headers });
  const seen = (reply: Reply): unknown => (reply.json()["status"] as { userInfo: unknown }).userInfo;

  it("makes the request that of another user, with groups, uid and extra", async () => {
    for (const client of [admin, as("admin", "http2")]) {
      const reply = await review(client, {
        "impersonate-user": "jane",
        "impersonate-group": ["a", "b"],
        "impersonate-uid": "u-1",
        "impersonate-extra-Scopes%2fx": "view",
      });
      expect(seen(reply)).toEqual({
        username: "jane",
        uid: "u-1",
        groups: ["a", "b", "system:authenticated"],
        extra: { "scopes/x": ["view"] },
      });
    }
  });

  it("of a ServiceAccount gives it its groups, of anonymous takes away that it is authenticated", async () => {
    expect(seen(await review(admin, { "impersonate-user": "system:serviceaccount:ns:name" }))).toEqual({
      username: "system:serviceaccount:ns:name",
      groups: ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
    });
    expect((await review(admin, { "impersonate-user": "system:anonymous" })).status).toBe(403);
  });

  it("without a user, or of an empty one, is 400", async () => {
    for (const headers of [{ "impersonate-group": "x" }, { "impersonate-uid": "x" }, { "impersonate-extra-a": "b" }]) {
      const reply = await admin(maps, { headers });
      expect(reply.json()).toMatchObject({
        reason: "BadRequest",
        message: expect.stringMatching(/^requested \[.*\] without impersonating a user$/) as unknown,
      });
    }
    expect((await admin(maps, { headers: { "impersonate-user": "" } })).status).toBe(400);
  });

  it("needs the right for each part of it", async () => {
    const cases = [
      [
        { "impersonate-user": "jane" },
        'users "jane" is forbidden: User "bob" cannot impersonate resource "users" in API group "" at the cluster scope',
      ],
      [
        { "impersonate-user": "system:serviceaccount:kube-system:x" },
        'serviceaccounts "x" is forbidden: User "bob" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "kube-system"',
      ],
      [{ "impersonate-user": "bob", "impersonate-group": "system:masters" }, 'users "bob" is forbidden'],
    ] as const;
    for (const [headers, message] of cases) {
      const reply = await user("bob")(maps, { headers });
      expect(reply.json()).toMatchObject({ reason: "Forbidden", message: expect.stringContaining(message) as unknown });
    }
    await post(admin, `${rbac}/clusterroles`, {
      metadata: { name: "as-jane" },
      rules: [{ apiGroups: [""], resources: ["users"], resourceNames: ["jane"], verbs: ["impersonate"] }],
    });
    await post(admin, `${rbac}/clusterrolebindings`, {
      metadata: { name: "as-jane" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "as-jane" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "bob" }],
    });
    expect((await review(user("bob"), { "impersonate-user": "jane" })).status).toBe(201);
    expect(
      (await review(user("bob"), { "impersonate-user": "jane", "impersonate-group": "system:masters" })).json(),
    ).toMatchObject({
      reason: "Forbidden",
      message: expect.stringContaining(
        'groups "system:masters" is forbidden: User "bob" cannot impersonate resource "groups"',
      ) as unknown,
    });
    expect((await review(user("bob"), { "impersonate-user": "joe" })).status).toBe(403);
  });
});
