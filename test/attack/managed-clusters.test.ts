import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import { agentUser, clusterGroupOf } from "../../src/apis/managed-cluster.ts";
import { putChanged, type ApiClient, type Reply } from "../kits/api-client.ts";
import {
  clustersPath,
  csrsPath,
  startClusterStage,
  type AskedCertificate,
  type ClusterStage,
} from "../kits/cluster-stage.ts";

const merge = "application/merge-patch+json";

let dir: string;
let stage: ClusterStage;
let auto: ApiClient;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-clusters-"));
  const configFile = join(dir, "registration.yaml");
  const text = `apiVersion: pratique.dev/v1alpha1
kind: ClusterRegistration
autoApproval:
  - user: auto
    clusters: [edge-*, lab]
`;
  await writeFile(configFile, text);
  const users = { auto: ["system:bootstrappers:managedcluster"], cloud: ["open-cluster-management:cloudy"] };
  stage = await startClusterStage({ users, managedClusters: { configFile } });
  auto = stage.as("auto");
});
afterAll(async () => {
  await stage.close();
  await rm(dir, { recursive: true, force: true });
});

const csr = async (name: string): Promise<string> => {
  const { status } = (await stage.admin(`${csrsPath}/${name}`)).object();
  const { conditions = [] } = (status ?? {}) as { readonly conditions?: readonly { readonly type: string }[] };
  const decisions = conditions.map(({ type }) => type).filter((type) => type !== "NotApprovedAutomatically");
  return decisions.join() || "pending";
};

/**
 * What became of a request once the approver has surely looked at it: one that is approved was sent afterwards, and the approver
 * sees them in order.
 */
async function settled(name: string): Promise<string> {
  const after = await stage.request("marker", { agent: "a1b2c" }, await marker());
  await stage.issued(after);
  return csr(name);
}

let markerAgent: Promise<ApiClient> | undefined;
const marker = (): Promise<ApiClient> => (markerAgent ??= stage.joined("marker"));

/** The hub writes its clusters as well, so that a first try may come too late. */
const agentPut = (agent: ApiClient, cluster: string, change: (object: Stored) => object): Promise<Reply> =>
  putChanged(agent, `${clustersPath}/${cluster}`, {
    change: (stored) => ({ ...stored, ...change(stored as unknown as Stored) }),
  });

interface Stored {
  readonly metadata: Readonly<Record<string, object>>;
  readonly spec: object;
}

describe("a bootstrap identity", () => {
  it.each([
    ["a cluster that it was not named for", "prod"],
    ["one whose name begins with a name that it may join", "laboratory"],
    ["one whose name ends with the beginning of a pattern", "hedge-1"],
  ])("gets no certificate for %s without a person", async (_what, cluster) => {
    await stage.create(cluster, {}, auto);
    const request = await stage.request(cluster, {}, auto);
    expect(await settled(request.name)).toBe("pending");
    const { spec } = (await stage.admin(`${clustersPath}/${cluster}`)).object();
    expect(spec).toMatchObject({ hubAcceptsClient: false });
  });

  it("gets one for a cluster that it was named for, which is let in with it", async () => {
    await stage.create("edge-1", {}, auto);
    const agent = await stage.issued(await stage.request("edge-1", {}, auto));
    await stage.cluster("edge-1");
    expect((await agent(`${clustersPath}/edge-1`)).status).toBe(200);
  });

  it("gets none for a cluster that another user requested", async () => {
    await stage.create("edge-2", {}, stage.booter);
    const request = await stage.request("edge-2", {}, auto);
    expect(await settled(request.name)).toBe("pending");
  });

  it("gets none for a cluster that has an agent, though it once joined it itself", async () => {
    await stage.create("edge-3", {}, auto);
    await stage.issued(await stage.request("edge-3", {}, auto));
    await stage.cluster(
      "edge-3",
      ({ metadata }) => metadata.annotations?.["registration.pratique.dev/agents"] !== undefined,
    );
    const stale = await stage.request("edge-3", { agent: "thief" }, auto);
    expect(await settled(stale.name)).toBe("pending");
  });

  it("gets none for a cluster that was denied since", async () => {
    await stage.create("edge-4", {}, auto);
    await stage.issued(await stage.request("edge-4", {}, auto));
    await stage.cluster("edge-4");
    await stage.accept("edge-4", stage.admin, false);
    const again = await stage.request("edge-4", { agent: "again" }, auto);
    expect(await settled(again.name)).toBe("pending");
    const { spec } = (await stage.admin(`${clustersPath}/edge-4`)).object();
    expect(spec).toMatchObject({ hubAcceptsClient: false });
  });

  it.each([
    ["accept a cluster", (who: ApiClient) => stage.accept("waiting", who), 403],
    ["make one that is accepted", (who: ApiClient) => stage.create("at-once", { hubAcceptsClient: true }, who), 403],
    ["approve its request", async (who: ApiClient) => stage.approve((await stage.request("waiting")).name, who), 403],
    [
      "make a cluster of the name of a namespace of the hub",
      (who: ApiClient) => stage.create("kube-system", {}, who),
      422,
    ],
    [
      "make a cluster of the name of a role that all agents share",
      (who: ApiClient) => stage.create("work", {}, who),
      422,
    ],
    [
      "make a cluster of the name of the other such role",
      (who: ApiClient) => stage.create("registration", {}, who),
      422,
    ],
    [
      "make a cluster of the name of the group of all agents",
      (who: ApiClient) => stage.create("managed-clusters", {}, who),
      422,
    ],
    ["make a cluster whose name is no namespace", (who: ApiClient) => stage.create("a.b", {}, who), 422],
    [
      "make one that is reached without TLS",
      (who: ApiClient) => stage.create("plain", { managedClusterClientConfigs: [{ url: "http://plain" }] }, who),
      422,
    ],
    ["delete a cluster", (who: ApiClient) => who(`${clustersPath}/waiting`, { method: "DELETE" }), 403],
  ])("cannot %s", async (_what, act, status) => {
    await stage.create("waiting");
    expect((await act(stage.booter)).status).toBe(status);
  });
});

const roles = "/apis/rbac.authorization.k8s.io/v1";
const agentsOf = ({ metadata }: ApiObject): unknown => metadata.annotations?.["registration.pratique.dev/agents"];

describe("a cluster that is made with what the hub alone writes", () => {
  it("is held no longer than others, and keeps nobody from being forgotten or shut out", async () => {
    const ends = Array.from({ length: 40 }, (_one, index) => [`fake${index}`, "+275760-09-13T00:00:00.000Z"]);
    const made = await stage.booter(clustersPath, {
      method: "POST",
      body: {
        apiVersion: "cluster.open-cluster-management.io/v1",
        kind: "ManagedCluster",
        metadata: {
          name: "forged",
          finalizers: ["cluster.open-cluster-management.io/api-resource-cleanup"],
          annotations: {
            "registration.pratique.dev/agents": JSON.stringify(Object.fromEntries(ends)),
            "registration.pratique.dev/denied-because": "not by an approver",
          },
        },
        spec: { hubAcceptsClient: false },
      },
    });
    expect(made.status).toBe(201);
    const { finalizers, annotations } = made.object().metadata;
    expect(finalizers ?? []).toEqual([]);
    for (const record of ["agents", "denied-because"])
      expect(Object.keys(annotations ?? {})).not.toContain(`registration.pratique.dev/${record}`);
    const request = await stage.request("forged");
    await stage.approve(request.name);
    await stage.accept("forged");
    await stage.issued(request);
    expect(agentsOf(await stage.cluster("forged", (one) => agentsOf(one) !== undefined))).toMatch(
      /^\{"a1b2c":"[^"]*"\}$/,
    );
  });

  it("is removed whatever stands in its record, and its agent's rights with it", async () => {
    const agent = await stage.joined("broken");
    const record = JSON.stringify({ x: "+275760-09-13T00:00:00.000Z", ["y".repeat(2000)]: "2099-01-01T00:00:00Z" });
    const body = { metadata: { annotations: { "registration.pratique.dev/agents": record } } };
    await stage.admin(`${clustersPath}/broken`, { method: "PATCH", type: merge, body });
    await stage.admin(`${clustersPath}/broken`, { method: "DELETE" });
    await stage.gone(clustersPath, "broken");
    expect((await agent(`${clustersPath}/broken`)).status).not.toBe(200);
  });
});

describe("a label with the name of a shared role", () => {
  it("takes that role away from nobody", async () => {
    await stage.joined("steady");
    const labels = { "open-cluster-management.io/cluster-name": "work" };
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };
    const shared = async (): Promise<unknown> =>
      (await stage.admin(`${roles}/clusterroles/open-cluster-management:managedcluster:work`)).object().metadata.uid;
    const before = await shared();
    const lure = { metadata: { name: "lure", labels }, roleRef, subjects: [] };
    await stage.admin(`${roles}/namespaces/default/rolebindings`, { method: "POST", body: lure });
    // Looked at after the lure: what is done for the later cluster has been done behind it.
    await stage.joined("later");
    await stage.admin(`${roles}/namespaces/default/rolebindings/lure`, { method: "DELETE" });
    await stage.joined("latest");
    expect(await shared()).toBe(before);
  });
});

describe("an agent by an identity of others, in the group that its cluster is bound to", () => {
  it("writes no more about its cluster than any agent", async () => {
    await stage.joined("cloudy");
    const cloud = stage.as("cloud");
    expect((await cloud(`${clustersPath}/cloudy`)).status).toBe(200);
    const label = await agentPut(cloud, "cloudy", ({ metadata }) => ({
      metadata: { ...metadata, labels: { ...metadata["labels"], tier: "gold" } },
    }));
    expect(label.status).toBe(403);
    const conditions = [{ type: "HubAcceptedManagedCluster", status: "False", reason: "Mine", message: "" }];
    const condition = { ...conditions[0], lastTransitionTime: "2026-11-21T00:00:00Z" };
    const body = { status: { conditions: [condition] } };
    expect((await cloud(`${clustersPath}/cloudy/status`, { method: "PATCH", type: merge, body })).status).toBe(403);
  });
});

const own = (cluster: string): readonly string[] => [clusterGroupOf(cluster)];

/** Requests that look like those of an agent of cluster lab, and are not. */
const nearly: Readonly<Record<string, AskedCertificate>> = {
  "of another cluster than its label": {
    label: "lab",
    commonName: agentUser({ cluster: "labs", agent: "a" }),
    organizations: own("lab"),
  },
  "whose group is that of another cluster": { organizations: own("labs") },
  "whose common name has three parts": { commonName: "system:open-cluster-management:lab:a:b" },
  "whose common name has one part": { commonName: "system:open-cluster-management:lab" },
  "whose agent has no name": { commonName: "system:open-cluster-management:lab:" },
  "with one group more": { organizations: [...own("lab"), "system:masters-of-nothing"] },
  "with the group twice": { organizations: [...own("lab"), ...own("lab")] },
  "without a group": { organizations: [] },
  "that can serve": { usages: ["client auth", "server auth"] },
  "with an alternative name": { dnsNames: ["kubernetes.default"] },
};

describe("a request that is nearly one of an agent", () => {
  it.each(Object.keys(nearly))("%s is approved only by a person", async (what) => {
    await stage.create("lab", {}, auto);
    const sent = await stage.request("lab", nearly[what], auto);
    expect([sent.reply.status, await settled(sent.name)]).toEqual([201, "pending"]);
  });
});

describe("the agent of a cluster", () => {
  let agent: ApiClient;
  beforeAll(async () => {
    agent = await stage.joined("prod2");
    await stage.joined("prod");
  });

  const elsewhere: Readonly<Record<string, (who: ApiClient) => Promise<Reply>>> = {
    "see another cluster": (who) => who(`${clustersPath}/prod`),
    "see all clusters": (who) => who(clustersPath),
    "write about another cluster": (who) =>
      who(`${clustersPath}/prod/status`, { method: "PATCH", type: merge, body: { status: { conditions: [] } } }),
    "beat for another cluster": (who) =>
      who("/apis/coordination.k8s.io/v1/namespaces/prod/leases/managed-cluster-lease", {
        method: "PATCH",
        type: merge,
        body: { spec: {} },
      }),
    "make a lease in its own namespace": (who) =>
      who("/apis/coordination.k8s.io/v1/namespaces/prod2/leases", {
        method: "POST",
        body: { metadata: { name: "mine" } },
      }),
    "read secrets of its own namespace": (who) => who("/api/v1/namespaces/prod2/secrets"),
    "accept a cluster": (who) => stage.accept("prod", who),
    "remove its own object": (who) => who(`${clustersPath}/prod2`, { method: "DELETE" }),
    "approve a request": async (who) => stage.approve((await stage.request("prod2", { agent: "other" })).name, who),
    "take its own finalizer away": (who) =>
      agentPut(who, "prod2", ({ metadata }) => ({ metadata: { ...metadata, finalizers: [] } })),
    "remove its own taints": (who) => agentPut(who, "prod2", ({ spec }) => ({ spec: { ...spec, taints: [] } })),
    "beat less often": (who) =>
      agentPut(who, "prod2", ({ spec }) => ({ spec: { ...spec, leaseDurationSeconds: 86_400 } })),
    "move itself to another set": (who) =>
      agentPut(who, "prod2", ({ metadata }) => ({
        metadata: {
          ...metadata,
          labels: { ...metadata["labels"], "cluster.open-cluster-management.io/clusterset": "prod" },
        },
      })),
    "label itself": (who) =>
      agentPut(who, "prod2", ({ metadata }) => ({
        metadata: { ...metadata, labels: { ...metadata["labels"], tier: "gold" } },
      })),
    "forge who holds its certificates": (who) =>
      agentPut(who, "prod2", ({ metadata }) => ({
        metadata: {
          ...metadata,
          annotations: { ...metadata["annotations"], "registration.pratique.dev/agents": "{}" },
        },
      })),
    "say that the hub accepted it": (who) =>
      who(`${clustersPath}/prod2/status`, {
        method: "PATCH",
        type: merge,
        body: {
          status: {
            conditions: [
              {
                type: "HubAcceptedManagedCluster",
                status: "True",
                reason: "Mine",
                message: "",
                lastTransitionTime: "2026-11-21T00:00:00Z",
              },
            ],
          },
        },
      }),
    "ask for a certificate of another cluster": async (who) => (await stage.request("prod", {}, who)).reply,
    "ask for another agent's certificate of its own cluster": async (who) =>
      (await stage.request("prod2", { agent: "other" }, who)).reply,
    "fill the requests of another cluster": async (who) => (await stage.request("prod2", { label: "prod" }, who)).reply,
    "ask without saying for which cluster": async (who) => (await stage.request("prod2", { labels: {} }, who)).reply,
  };

  it.each(Object.keys(elsewhere))("cannot %s", async (what) => {
    expect((await elsewhere[what]?.(agent))?.status).toBe(403);
  });

  it("does not register an add-on for the API by itself, whose certificates would then be approved", async () => {
    const of = (version: string): string =>
      `/apis/addon.open-cluster-management.io/${version}/namespaces/prod2/managedclusteraddons`;
    const body = {
      apiVersion: "addon.open-cluster-management.io/v1beta1",
      kind: "ManagedClusterAddOn",
      metadata: { name: "metrics" },
      spec: {},
    };
    expect((await stage.admin(of("v1beta1"), { method: "POST", body })).status).toBe(201);
    const write = (who: ApiClient, version: string, status: object): Promise<Reply> =>
      who(`${of(version)}/metrics/status`, { method: "PATCH", type: merge, body: { status } });
    const ways = [
      ["v1beta1", { registrations: [{ type: "kubeClient", kubeClient: {} }] }],
      ["v1beta1", { registrations: [{ type: "kubeClient", kubeClient: { subject: { user: "x" } } }] }],
      ["v1alpha1", { registrations: [{ signerName: "kubernetes.io/kube-apiserver-client" }] }],
    ] as const;
    for (const [version, status] of ways) {
      const reply = await write(agent, version, status);
      expect([reply.status, reply.text]).toEqual([403, expect.stringContaining('verb \\"approve\\" on signers')]);
    }
    const condition = { type: "Available", status: "True", reason: "Up", message: "" };
    const conditions = [{ ...condition, lastTransitionTime: "2026-11-21T00:00:00Z" }];
    expect((await write(agent, "v1beta1", { conditions })).status).toBe(200);
    // What the hub side has registered is the agent's to fill in.
    expect((await write(stage.admin, "v1beta1", ways[0][1])).status).toBe(200);
    expect((await write(agent, "v1beta1", ways[1][1])).status).toBe(200);
  });

  it("gets no add-on certificate of a cluster whose name is a prefix of its own", async () => {
    const path = "/apis/addon.open-cluster-management.io/v1beta1/namespaces/prod/managedclusteraddons";
    const body = {
      apiVersion: "addon.open-cluster-management.io/v1beta1",
      kind: "ManagedClusterAddOn",
      metadata: { name: "logs" },
      spec: {},
    };
    await stage.admin(path, { method: "POST", body });
    const status = { registrations: [{ type: "kubeClient", kubeClient: {} }] };
    await stage.admin(`${path}/logs/status`, { method: "PATCH", type: merge, body: { status } });
    const group = "system:open-cluster-management:cluster:prod:addon:logs";
    const asked = {
      commonName: `${group}:agent:a1b2c`,
      organizations: [group, "system:open-cluster-management:addon:logs"],
      labels: { "open-cluster-management.io/cluster-name": "prod", "open-cluster-management.io/addon-name": "logs" },
    };
    expect((await stage.request("prod", asked, agent)).reply.status).toBe(403);
    // Nor does anybody else whose request would only look right.
    const sent = await stage.request("prod", asked, stage.admin);
    expect(await settled(sent.name)).toBe("pending");
  });
});

describe("ten requests that nobody waits for any more", () => {
  it("do not keep an agent from requesting: the hub deletes the oldest", async () => {
    await stage.create("flooded");
    const names = [];
    for (let count = 0; count < 12; count += 1) {
      names.push((await stage.request("flooded", { agent: `agent${count}` })).name);
    }
    const [oldest = ""] = names;
    await stage.gone(csrsPath, oldest);
    const selector = "labelSelector=open-cluster-management.io%2Fcluster-name%3Dflooded";
    const left = (await stage.admin(`${csrsPath}?${selector}`)).items().map(({ metadata }) => metadata.name);
    expect(left.length).toBeLessThan(10);
    expect(left).toContain(names.at(-1));
  });
});
