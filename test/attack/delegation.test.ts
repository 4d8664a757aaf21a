import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startAccessStage, type AccessStage } from "../kits/access-stage.ts";
import type { ApiClient, Reply } from "../kits/api-client.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const rbacGroup = "rbac.authorization.k8s.io";
const ours = "access.pratique.dev";
const policies = `/apis/${ours}/v1alpha1/recoverypolicies`;
const merge = "application/merge-patch+json";

/** A rule, and the namespace in which it holds; everywhere without one. */
interface Right {
  readonly group: string;
  readonly resource: string;
  readonly verb: string;
  readonly name?: string;
  readonly namespace?: string;
}

const writes = ["create", "get", "update", "patch", "delete"];
const accounts = (namespace: string): readonly Right[] => [
  { group: "", resource: "serviceaccounts", verb: "create", namespace },
  { group: "", resource: "serviceaccounts/token", verb: "create", namespace },
];
const bind = (name: string, namespace?: string): Right => ({
  group: rbacGroup,
  resource: "clusterroles",
  verb: "bind",
  name,
  ...(namespace === undefined ? {} : { namespace }),
});
const tokenSecrets: Right = { group: "", resource: "secrets", verb: "create", namespace: "kube-system" };
const approves = (name: string): readonly Right[] => [
  { group: ours, resource: "accessprofiles", verb: "approve", name },
  { group: ours, resource: "accessrequests/status", verb: "update" },
];

let stage: AccessStage;
let eve: ApiClient;

beforeAll(async () => {
  stage = await startAccessStage();
  eve = stage.person("eve");
  await allow("eve-writes", [{ apiGroups: [ours], resources: ["accessprofiles", "recoverypolicies"], verbs: writes }]);
});
afterAll(() => stage.close());

const eveSubject = { apiGroup: rbacGroup, kind: "User", name: "eve" };

/** Binds rules to eve, in one namespace or everywhere. */
async function allow(name: string, rules: readonly object[], namespace?: string): Promise<void> {
  const where = namespace === undefined ? rbac : `${rbac}/namespaces/${namespace}`;
  const kind = namespace === undefined ? "ClusterRole" : "Role";
  const made = [
    [`${where}/${kind.toLowerCase()}s`, { metadata: { name }, rules }],
    [
      `${where}/${kind.toLowerCase()}bindings`,
      { metadata: { name }, subjects: [eveSubject], roleRef: { apiGroup: rbacGroup, kind, name } },
    ],
  ] as const;
  for (const [path, body] of made) expect((await stage.admin(path, { method: "POST", body })).status).toBe(201);
}

/** Eve holds these for the time of `act`, and no others. */
async function holding<T>(rights: readonly Right[], act: () => Promise<T>): Promise<T> {
  const undo: string[] = [];
  for (const [index, { group, resource, verb, name, namespace }] of rights.entries()) {
    const role = `eve-${index}`;
    const rule = { apiGroups: [group], resources: [resource], verbs: [verb], ...(name && { resourceNames: [name] }) };
    await allow(role, [rule], namespace);
    const where = namespace === undefined ? `${rbac}/cluster` : `${rbac}/namespaces/${namespace}/`;
    undo.push(`${where}roles/${role}`, `${where}rolebindings/${role}`);
  }
  try {
    return await act();
  } finally {
    for (const path of undo) await stage.admin(path, { method: "DELETE" });
  }
}

const applied = (path: string, body: object): Promise<Reply> =>
  eve(`${path}?fieldManager=eve&force=true`, { method: "PATCH", type: "application/apply-patch+yaml", body });

const manifest = (kind: string, name: string, spec: object): object => ({
  apiVersion: `${ours}/v1alpha1`,
  kind,
  metadata: { name },
  spec,
});

describe("who writes a profile", () => {
  const path = (): string => stage.profiles;
  beforeEach(async () => {
    await stage.admin(`${path()}/mine`, { method: "DELETE" });
  });

  const cases: readonly (readonly [string, object, readonly Right[]])[] = [
    ["accounts in a namespace", { namespace: "vms" }, accounts("vms")],
    ["accounts in the namespace of the system", { namespace: "kube-system" }, accounts("kube-system")],
    [
      "a role in the namespace",
      { namespace: "vms", roles: [{ kind: "ClusterRole", name: "viewer" }] },
      [...accounts("vms"), bind("viewer", "vms")],
    ],
    [
      "a role in all namespaces",
      { namespace: "vms", roles: [{ kind: "ClusterRole", name: "viewer", clusterWide: true }] },
      [...accounts("vms"), bind("viewer")],
    ],
    [
      "bootstrap tokens of a group",
      { namespace: "vms", bootstrapToken: { groups: ["system:bootstrappers:kubeadm:default-node-token"] } },
      [...accounts("vms"), tokenSecrets],
    ],
    ["bootstrap tokens of no group", { namespace: "vms", bootstrapToken: {} }, [...accounts("vms"), tokenSecrets]],
    [
      "approval by a rule",
      { namespace: "vms", rules: [{ expression: "true", effect: "Approve" }] },
      [...accounts("vms"), ...approves("mine")],
    ],
    [
      "refusal by a rule",
      { namespace: "vms", rules: [{ expression: "true", effect: "Refuse" }] },
      [...accounts("vms"), ...approves("mine")],
    ],
    [
      "approval of machines that come back",
      { namespace: "vms", recovery: { times: 1 } },
      [...accounts("vms"), ...approves("mine")],
    ],
  ];

  it.each(cases)(
    "that hands out %s must hold each right for it, however it is written",
    async (_what, spec, rights) => {
      const create = (): Promise<Reply> => eve(path(), { method: "POST", body: { metadata: { name: "mine" }, spec } });
      for (const without of rights) {
        const reply = await holding(
          rights.filter((right) => right !== without),
          create,
        );
        expect([without.resource, reply.status, reply.text]).toEqual([
          without.resource,
          403,
          expect.stringContaining(`verb \\"${without.verb}\\" on ${without.resource}`),
        ]);
      }
      expect((await applied(`${path()}/mine`, manifest("AccessProfile", "mine", spec))).status).toBe(403);
      expect((await stage.admin(`${path()}/mine`)).status).toBe(404);
      expect((await holding(rights, create)).status).toBe(201);
      // What is there already is no reason to refuse a note on it.
      const body = { metadata: { annotations: { note: "a" } } };
      expect((await eve(`${path()}/mine`, { method: "PATCH", type: merge, body })).status).toBe(200);
    },
  );

  it("is told everything that is missing at once", async () => {
    const spec = { namespace: "vms", roles: [{ kind: "ClusterRole", name: "viewer" }], bootstrapToken: {} };
    const { text } = await eve(path(), { method: "POST", body: { metadata: { name: "mine" }, spec } });
    for (const missing of ["serviceaccounts in", "serviceaccounts/token in", "clusterroles.rbac", "secrets in"]) {
      expect(text).toContain(missing);
    }
  });

  const base = {
    namespace: "vms",
    approvers: 2,
    tokenSeconds: 3600,
    sourceNetworks: ["10.0.0.0/8"],
    requirePossession: true,
    audiences: ["a"],
    roles: [{ kind: "ClusterRole", name: "viewer" }],
  };
  it.each<readonly [string, object]>([
    ["another namespace", { spec: { namespace: "default" } }],
    ["another role", { spec: { roles: [{ kind: "ClusterRole", name: "cluster-admin" }] } }],
    ["the same role everywhere", { spec: { roles: [{ kind: "ClusterRole", name: "viewer", clusterWide: true }] } }],
    ["a Role of the same name", { spec: { roles: [{ kind: "Role", name: "viewer" }] } }],
    ["fewer approvers", { spec: { approvers: 1 } }],
    ["the default number of approvers", { spec: { approvers: null } }],
    ["tokens of longer life", { spec: { tokenSeconds: 7200 } }],
    ["another audience", { spec: { audiences: ["a", "b"] } }],
    ["the API as audience", { spec: { audiences: null } }],
    ["more networks", { spec: { sourceNetworks: ["10.0.0.0/8", "0.0.0.0/0"] } }],
    ["all networks", { spec: { sourceNetworks: null } }],
    ["no proof", { spec: { requirePossession: null } }],
    ["a bootstrap token", { spec: { bootstrapToken: {} } }],
    ["a rule", { spec: { rules: [{ expression: "true", effect: "Approve" }] } }],
    ["recovery", { spec: { approvers: null, recovery: {} } }],
    ["all requests that name no profile", { metadata: { annotations: { [`${ours}/is-default-profile`]: "true" } } }],
  ])("must hold what a change hands out: %s", async (_what, body) => {
    await stage.profile("mine", base);
    const reply = await eve(`${path()}/mine`, { method: "PATCH", type: merge, body });
    expect([reply.status, reply.text]).toEqual([403, expect.stringContaining("must hold")]);
  });

  it("may take back without holding anything", async () => {
    await stage.profile("mine", { ...base, bootstrapToken: { ttlSeconds: 900, groups: ["system:bootstrappers:a"] } });
    for (const spec of [
      { approvers: 3, tokenSeconds: 600, pendingSeconds: 60 },
      { sourceNetworks: ["10.0.0.0/8"], bootstrapToken: { ttlSeconds: 600, groups: null } },
      { bootstrapToken: null },
      { roles: null },
    ]) {
      const reply = await eve(`${path()}/mine`, { method: "PATCH", type: merge, body: { spec } });
      expect([spec, reply.status]).toEqual([spec, 200]);
    }
  });

  it("gains nothing by deleting it and making it again", async () => {
    await stage.profile("mine", { namespace: "vms" });
    expect((await eve(`${path()}/mine`, { method: "DELETE" })).status).toBe(200);
    const body = { metadata: { name: "mine" }, spec: { namespace: "vms" } };
    expect((await eve(path(), { method: "POST", body })).status).toBe(403);
  });
});

describe("who writes a policy for machines that come back", () => {
  const signer = "kubernetes.io/kube-apiserver-client-kubelet";
  const approval: readonly Right[] = [
    { group: "certificates.k8s.io", resource: "signers", verb: "approve", name: signer },
    { group: "certificates.k8s.io", resource: "certificatesigningrequests/approval", verb: "update" },
  ];
  const spec = { nodeNames: ["edge-*"], windowSeconds: 3600, times: 1, networks: ["10.0.0.0/8"] };
  const create = (): Promise<Reply> => eve(policies, { method: "POST", body: { metadata: { name: "edge" }, spec } });
  beforeEach(async () => {
    await stage.admin(`${policies}/edge`, { method: "DELETE" });
  });

  it("must be one who may approve on the signer", async () => {
    for (const right of approval) {
      const reply = await holding(
        approval.filter((one) => one !== right),
        create,
      );
      expect([reply.status, reply.text]).toEqual([403, expect.stringContaining(right.resource)]);
    }
    expect((await applied(`${policies}/edge`, manifest("RecoveryPolicy", "edge", spec))).status).toBe(403);
    expect((await holding(approval, create)).status).toBe(201);
  });

  it("may hold the right for all signers of the domain", async () => {
    const all = approval.map((right) => (right.name === undefined ? right : { ...right, name: "kubernetes.io/*" }));
    expect((await holding(all, create)).status).toBe(201);
  });

  it.each<readonly [string, object]>([
    ["other nodes", { nodeNames: ["edge-*", "core-*"] }],
    ["a longer window", { windowSeconds: 7200 }],
    ["the default window", { windowSeconds: null }],
    ["more times", { times: 2 }],
    ["a shorter period", { perSeconds: 60 }],
    ["all networks", { networks: null }],
  ])("must be so for a change that lets in more: %s", async (_what, change) => {
    await stage.admin(policies, { method: "POST", body: { metadata: { name: "edge" }, spec } });
    const body = { spec: change };
    expect((await eve(`${policies}/edge`, { method: "PATCH", type: merge, body })).status).toBe(403);
  });

  it("may let in fewer without it", async () => {
    await stage.admin(policies, { method: "POST", body: { metadata: { name: "edge" }, spec: { ...spec, times: 3 } } });
    const body = { spec: { windowSeconds: 600, times: 1, perSeconds: 8_640_000 } };
    expect((await eve(`${policies}/edge`, { method: "PATCH", type: merge, body })).status).toBe(200);
  });
});

describe("who writes the inventory of nodes, by which serving certificates are approved", () => {
  const maps = "/api/v1/namespaces/kube-system/configmaps";
  const map = `${maps}/pratique-node-inventory`;
  const signer = "kubernetes.io/kubelet-serving";
  const approval: readonly Right[] = [
    { group: "certificates.k8s.io", resource: "signers", verb: "approve", name: signer },
    { group: "certificates.k8s.io", resource: "certificatesigningrequests/approval", verb: "update" },
  ];
  const body = { metadata: { name: "pratique-node-inventory" }, data: { "n-1": "n-1.example" } };
  const create = (): Promise<Reply> => eve(maps, { method: "POST", body });
  const patch = (change: object): Promise<Reply> => eve(map, { method: "PATCH", type: merge, body: change });
  beforeAll(() => allow("eve-maps", [{ apiGroups: [""], resources: ["configmaps"], verbs: writes }], "kube-system"));
  beforeEach(async () => {
    await stage.admin(map, { method: "DELETE" });
  });

  it("must be one who may approve them", async () => {
    for (const right of approval) {
      const reply = await holding(
        approval.filter((one) => one !== right),
        create,
      );
      expect([reply.status, reply.text]).toEqual([403, expect.stringContaining(right.resource)]);
    }
    expect((await create()).text).toContain('must hold what the ConfigMap hands out; missing: verb \\"approve\\"');
    expect((await holding(approval, create)).status).toBe(201);
    expect((await patch({ data: { "n-2": "n-1.example" } })).status).toBe(403);
  });

  it("needs no such right for what says nothing of names, for other ConfigMaps, or to delete it", async () => {
    expect((await stage.admin(maps, { method: "POST", body })).status).toBe(201);
    expect((await patch({ metadata: { labels: { a: "b" } } })).status).toBe(200);
    expect((await eve(maps, { method: "POST", body: { ...body, metadata: { name: "other" } } })).status).toBe(201);
    expect((await eve(map, { method: "DELETE" })).status).toBe(200);
  });
});
