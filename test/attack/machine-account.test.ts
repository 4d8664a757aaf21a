import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AccessRequest } from "../../src/apis/access-request.ts";
import { startAccessStage, type AccessStage } from "../kits/access-stage.ts";
import { eventually } from "../kits/peers-process.ts";
import { putChanged, type ApiClient, type Reply } from "../kits/api-client.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const core = "/api/v1/namespaces/vms";
const accounts = `${core}/serviceaccounts`;
const merge = "application/merge-patch+json";
const label = "access.pratique.dev/request-uid";

let stage: AccessStage;

beforeAll(async () => {
  const accessRequests = { perAddress: 10_000, inAll: 10_000, pending: 10_000 };
  stage = await startAccessStage({ accessRequests });
  const roles = [
    { kind: "ClusterRole", name: "edit" },
    { kind: "ClusterRole", name: "viewer", clusterWide: true },
  ];
  await stage.profile("editing", { namespace: "vms", tokenSeconds: 600, roles });
});
afterAll(() => stage.close());

/** A machine that is bound to role `edit` in the namespace of its account. */
async function editor(name: string): Promise<{ readonly machine: ApiClient; readonly uid: string }> {
  const { request, machine } = await stage.let(name, { spec: { profile: "editing" } });
  return { machine, uid: request.metadata.uid ?? "" };
}

const revoke = async (name: string): Promise<AccessRequest> => {
  expect((await stage.decide(name, { revoked: true })).status).toBe(200);
  return stage.until(
    name,
    ({ status }) => status?.grant === undefined && status?.conditions?.some(({ type }) => type === "Revoked") === true,
  );
};

/** What is left of the rights of a request. */
async function rightsOf(uid: string): Promise<readonly string[]> {
  const lists = [`${rbac}/namespaces/vms/rolebindings`, `${rbac}/clusterrolebindings`, `${rbac}/namespaces/vms/roles`];
  const found = await Promise.all(lists.map((path) => stage.admin(path)));
  return found
    .flatMap((reply) => (reply.json() as { readonly items: readonly AccessRequest[] }).items)
    .map(({ metadata }) => metadata.name ?? "")
    .filter((name) => name.includes(uid));
}

const apply = "application/apply-patch+yaml";
const owner = { apiVersion: "v1", kind: "Namespace", name: "vms", uid: "some" };
const strips: readonly (readonly [string, (who: ApiClient, path: string, name: string) => Promise<Reply>])[] = [
  [
    "an update without labels and owners",
    (who, path) =>
      putChanged(who, path, {
        change: ({ metadata: { labels: _l, ownerReferences: _o, ...metadata }, ...rest }) => ({ ...rest, metadata }),
      }),
  ],
  [
    "a merge patch of the owners",
    (who, path) => who(path, { method: "PATCH", type: merge, body: { metadata: { ownerReferences: null } } }),
  ],
  [
    "a merge patch of the label",
    (who, path) => who(path, { method: "PATCH", type: merge, body: { metadata: { labels: { [label]: null } } } }),
  ],
  [
    "a strategic merge patch",
    (who, path) =>
      who(path, {
        method: "PATCH",
        type: "application/strategic-merge-patch+json",
        body: { metadata: { ownerReferences: [{ $patch: "replace" }, owner] } },
      }),
  ],
  [
    "a JSON patch",
    (who, path) =>
      who(path, {
        method: "PATCH",
        type: "application/json-patch+json",
        body: JSON.stringify([{ op: "remove", path: "/metadata/ownerReferences" }]),
      }),
  ],
  [
    "server-side apply by force",
    (who, path, name) =>
      who(`${path}?fieldManager=m&force=true`, {
        method: "PATCH",
        type: apply,
        body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, labels: { [label]: "other" } } },
      }),
  ],
  [
    "another owner beside",
    (who, path) =>
      putChanged(who, path, {
        change: (stored) => ({
          ...stored,
          metadata: { ...stored.metadata, ownerReferences: [...(stored.metadata.ownerReferences ?? []), owner] },
        }),
      }),
  ],
  [
    "a finalizer",
    (who, path) => who(path, { method: "PATCH", type: merge, body: { metadata: { finalizers: ["a.b/c"] } } }),
  ],
];

describe("a machine with role edit", () => {
  it.each(strips)(
    "does not untie its account from its request by %s, and revocation ends all of it",
    async (_how, strip) => {
      const name = `tied-${strips.findIndex(([, one]) => one === strip)}`;
      const { machine, uid } = await editor(name);
      const path = `${accounts}/${name}`;
      const before = (await machine(path)).object();
      const reply = await strip(machine, path, name);
      expect([reply.status, reply.text]).toEqual([403, expect.stringContaining("of a machine")]);
      expect((await machine(path)).object()).toEqual(before);
      // What is no tie is the machine's to write, as its role says.
      const note = { metadata: { annotations: { note: "a" } } };
      expect((await machine(path, { method: "PATCH", type: merge, body: note })).status).toBe(200);
      await revoke(name);
      expect([(await stage.admin(path)).status, await rightsOf(uid)]).toEqual([404, []]);
      expect((await machine(path)).status).toBe(401);
    },
  );

  it("cannot delete its account and make it again, and neither can another one, until it is revoked", async () => {
    const [one, other] = [await editor("reborn"), await editor("helper")];
    expect((await one.machine(`${accounts}/reborn`, { method: "DELETE" })).status).toBe(200);
    expect((await one.machine(accounts)).status).toBe(401);
    const create = (who: ApiClient): Promise<Reply> =>
      who(accounts, { method: "POST", body: { metadata: { name: "reborn" } } });
    const reply = await create(other.machine);
    expect([reply.status, reply.text]).toEqual([403, expect.stringContaining("the name belongs to AccessRequest")]);
    const applied = await other.machine(`${accounts}/reborn?fieldManager=m`, {
      method: "PATCH",
      type: apply,
      body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "reborn" } },
    });
    expect(applied.status).toBe(403);
    await revoke("reborn");
    expect(await rightsOf(one.uid)).toEqual([]);
    // A name without rights is a name like any other.
    expect((await create(other.machine)).status).toBe(201);
  });

  it("makes no account that passes for one of a request", async () => {
    const { machine } = await editor("maker");
    await stage.ask("awaited", { spec: { profile: "editing" } });
    const { metadata } = await stage.until("awaited", () => true);
    const { uid = "", name = "" } = metadata;
    const owns = { apiVersion: "access.pratique.dev/v1alpha1", kind: "AccessRequest", name, uid };
    for (const tie of [{ ownerReferences: [owns] }, { labels: { [label]: uid } }]) {
      const body = { metadata: { name: "awaited", ...tie } };
      expect((await machine(accounts, { method: "POST", body })).status).toBe(403);
      await machine(accounts, { method: "POST", body: { metadata: { name: "plain" } } });
      const patch = { method: "PATCH", type: merge, body: { metadata: tie } } as const;
      expect((await machine(`${accounts}/plain`, patch)).status).toBe(403);
    }
  });

  it("gets no token Secret for its own account, another machine's, or by way of a third account", async () => {
    const { machine } = await editor("hoarder");
    await editor("neighbour");
    const secret = (name: string, account: string): object => ({
      metadata: { name, annotations: { "kubernetes.io/service-account.name": account } },
      type: "kubernetes.io/service-account-token",
    });
    for (const account of ["hoarder", "neighbour"]) {
      const reply = await machine(`${core}/secrets`, { method: "POST", body: secret(`for-${account}`, account) });
      expect([reply.status, reply.text]).toEqual([403, expect.stringContaining("would outlive the terms")]);
    }
    await machine(accounts, { method: "POST", body: { metadata: { name: "third" } } });
    expect((await machine(`${core}/secrets`, { method: "POST", body: secret("for-third", "third") })).status).toBe(201);
    const body = { metadata: { annotations: { "kubernetes.io/service-account.name": "neighbour" } } };
    expect((await machine(`${core}/secrets/for-third`, { method: "PATCH", type: merge, body })).status).toBe(403);
  });

  it("gets no token of another machine, neither as itself nor by impersonation", async () => {
    const { machine } = await editor("greedy");
    await editor("rich");
    const asks = (headers: Readonly<Record<string, string>> = {}): Promise<Reply> =>
      machine(`${accounts}/rich/token`, { method: "POST", body: { spec: { expirationSeconds: 31_536_000 } }, headers });
    for (const headers of [{}, { "impersonate-user": "system:serviceaccount:vms:rich" }]) {
      const reply = await asks(headers);
      expect([reply.status, reply.text]).toEqual([403, expect.stringContaining("to its own machine alone")]);
    }
  });
});

describe("a tie that was cut all the same, as where nothing guards it", () => {
  it("keeps nothing of the rights, the account and its tokens from ending with the request", async () => {
    const { machine, uid } = await editor("cut");
    const bare = { metadata: { labels: null, ownerReferences: null } };
    const paths = [
      `${accounts}/cut`,
      `${rbac}/namespaces/vms/roles/access-${uid}-renewal`,
      `${rbac}/namespaces/vms/rolebindings/access-${uid}-renewal`,
      `${rbac}/namespaces/vms/rolebindings/access-${uid}-0`,
      `${rbac}/clusterrolebindings/access-${uid}-1`,
    ];
    for (const path of paths) {
      expect((await stage.admin(path, { method: "PATCH", type: merge, body: bare })).status).toBe(200);
    }
    const renewed = await machine(`${accounts}/cut/token`, {
      method: "POST",
      body: { spec: { expirationSeconds: 31_536_000 } },
    });
    expect(renewed.object()).toMatchObject({ spec: { expirationSeconds: 600 } });
    await revoke("cut");
    for (const path of paths) expect([path, (await stage.admin(path)).status]).toEqual([path, 404]);
    expect((await machine(accounts)).status).toBe(401);
  });

  it("is not cut by deleting the request so that its dependents are orphaned", async () => {
    const { machine, uid } = await editor("orphaned");
    const path = `${stage.requests}/orphaned`;
    // Begun before, as a watch begins with what is there then.
    const stream = await stage.admin.stream(`${accounts}?watch=true&fieldSelector=metadata.name=orphaned`);
    expect((await stage.admin(`${path}?propagationPolicy=Orphan`, { method: "DELETE" })).status).toBe(200);
    for (;;) if ((await stream.next()).type === "DELETED") break;
    stream.close();
    expect((await machine(accounts)).status).toBe(401);
    await eventually("the rights to go", async () => ((await rightsOf(uid)).length === 0 ? true : undefined));
  });
});
