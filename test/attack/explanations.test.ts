import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AccessExplanationStatus } from "../../src/apis/access-explanation.ts";
import { apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const group = "rbac.authorization.k8s.io";
const explanations = "/apis/access.pratique.dev/v1alpha1/accessexplanations";
const own = "/apis/access.pratique.dev/v1alpha1/selfaccessexplanations";

let hub: TestHub;
let admin: ApiClient;
let eve: ApiClient;

async function made(path: string, body: object): Promise<void> {
  expect((await admin(path, { method: "POST", body })).status).toBe(201);
}

const role = (name: string, rules: readonly object[]): Promise<void> =>
  made(`${rbac}/clusterroles`, { metadata: { name }, rules });

const bound = (name: string, roleName: string, subject: object): Promise<void> =>
  made(`${rbac}/clusterrolebindings`, {
    metadata: { name },
    subjects: [{ apiGroup: group, ...subject }],
    roleRef: { apiGroup: group, kind: "ClusterRole", name: roleName },
  });

const ask = (client: ApiClient, path: string, spec: object): Promise<Reply> =>
  client(path, { method: "POST", body: { spec } });

async function told(client: ApiClient, path: string, spec: object): Promise<AccessExplanationStatus> {
  const reply = await ask(client, path, spec);
  expect(reply.status).toBe(201);
  return reply.json()["status"] as AccessExplanationStatus;
}

beforeAll(async () => {
  hub = await startTestHub({ users: { eve: [], ann: ["secret-team"] } });
  admin = apiClient(hub);
  eve = apiClient(hub, { token: hub.token("eve") });
  await made("/api/v1/namespaces", { metadata: { name: "hidden-place" } });
  await role("treasurer-of-acme", [{ apiGroups: [""], resources: ["secrets"], verbs: ["get", "list"] }]);
  await bound("acme-merger", "treasurer-of-acme", { kind: "Group", name: "secret-team" });
  await role("lister", [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }]);
  await bound("lister", "lister", { kind: "User", name: "eve" });
});

afterAll(async () => {
  admin.close();
  eve.close();
  await hub.close();
});

const questions: readonly (readonly [string, object])[] = [
  ["what a role of others allows", { verb: "get", resource: "secrets", name: "x" }],
  ["it in a namespace of others", { verb: "get", resource: "secrets", namespace: "hidden-place" }],
  ["everything", { verb: "*", resource: "*", group: "*" }],
  ["a right on the role itself", { verb: "bind", group, resource: "clusterroles", name: "x" }],
  ["a word that is near", { verb: "get", resource: "secretz" }],
  ["a kind of others", { verb: "get", resource: "x", group: "acme.example" }],
];

describe("an explanation about oneself", () => {
  it.each(questions)("tells nothing of the roles and bindings of others: asked for %s", async (_what, asked) => {
    const status = await told(eve, own, { resourceAttributes: asked });
    const text = JSON.stringify(status);
    for (const word of ["acme-merger", "secret-team", "treasurer-of-acme", "cluster-admin", "kubeadm:"]) {
      expect(text).not.toContain(word);
    }
    expect(status.allowed).toBe(false);
    for (const { binding, role: named } of status.nearest ?? []) {
      expect([binding?.name, named?.name]).toSatisfy(
        ([one, other]) =>
          ["lister/lister", "pratique:self-explainer/pratique:self-explainer"].includes(`${one}/${other}`) ||
          String(one).startsWith("system:"),
      );
    }
  });

  it("does not tell apart a role that exists and one that does not, nor in its commands", async () => {
    const about = async (name: string): Promise<string> => {
      const status = await told(eve, own, {
        resourceAttributes: { verb: "get", group, resource: "clusterroles", name },
      });
      return JSON.stringify(status).replaceAll(name, "NAME");
    };
    expect(await about("treasurer-of-acme")).toBe(await about("treasurer-of-nobody"));
  });

  it("is about nobody else, whatever the question says", async () => {
    const asked = { resourceAttributes: { verb: "get", resource: "secrets", name: "x" } };
    for (const more of [{ user: "ann" }, { user: "ann", groups: ["secret-team"] }, { groups: ["system:masters"] }]) {
      const reply = await ask(eve, own, { ...asked, ...more });
      expect(reply.text).not.toContain('"allowed":true');
      expect(reply.text).toContain('"allowed":false');
    }
  });
});

describe("an explanation about others", () => {
  it("is refused without a right of its own, which no role that people are given holds", async () => {
    const asked = { user: "ann", resourceAttributes: { verb: "get", resource: "secrets" } };
    expect((await ask(eve, explanations, asked)).status).toBe(403);
    for (const [name, clusterRole] of [
      ["v", "view"],
      ["e", "edit"],
      ["a", "admin"],
      ["d", "system:auth-delegator"],
      ["n", "system:node"],
    ] as const) {
      await bound(`eve-${name}`, clusterRole, { kind: "User", name: "mallory" });
    }
    const { allowed } = await told(admin, explanations, {
      user: "mallory",
      groups: ["system:authenticated", "system:nodes"],
      resourceAttributes: { verb: "create", group: "access.pratique.dev", resource: "accessexplanations" },
    });
    expect(allowed).toBe(false);
  });

  it("gives commands in which no name is more than a word", async () => {
    const hostile = [
      "$(touch /tmp/x)",
      "`id`",
      "a; rm -rf /",
      "a' b",
      '"',
      "a\nb",
      "--as=root",
      "-n",
      "a\u001b[2Jb",
      "__proto__",
    ];
    for (const text of hostile) {
      const { toAllow = [] } = await told(admin, explanations, {
        user: text,
        resourceAttributes: { verb: text, resource: text, group: text, namespace: text, name: text, subresource: text },
      });
      // A quote or a line break is more than a word to kubectl itself, so that no command is advised at all.
      expect([text, toAllow.length]).toEqual([text, /["\n]/.test(text) ? 0 : 2]);
      for (const line of toAllow) {
        const words = execFileSync("sh", ["-c", `set -- ${line}; for word do printf '%s\\0' "$word"; done`])
          .toString()
          .split("\0")
          .slice(0, -1);
        expect(words.slice(0, 2)).toEqual(["kubectl", "create"]);
        expect(words.filter((word) => word.includes(text)).length).toBeGreaterThanOrEqual(2);
        // Beside the name of what is made, words are flags, or the namespace behind its flag.
        const loose = words
          .slice(4)
          .filter((word, at, rest) => !word.startsWith("--") && word !== "-n" && rest[at - 1] !== "-n");
        expect(loose).toEqual([]);
      }
    }
  });

  it("answers in bounded time and size, however many groups, names and roles there are", async () => {
    const groups = Array.from({ length: 4_000 }, (_, at) => `g-${at}`);
    const reply = await ask(admin, explanations, {
      user: "x".repeat(50_000),
      groups,
      resourceAttributes: { verb: "get", resource: "secrets", namespace: "default" },
    });
    expect(reply.status).toBe(201);
    const { nearest = [], toAllow = [] } = reply.json()["status"] as AccessExplanationStatus;
    expect(nearest.length).toBeLessThanOrEqual(9);
    expect(toAllow).toHaveLength(2);
    const more = Array.from({ length: 6_000 }, (_, at) => `g-${at}`);
    expect((await ask(admin, explanations, { groups: more })).status).toBe(413);
  });
});
