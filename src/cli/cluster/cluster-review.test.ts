import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ApiObject } from "../../apimachinery/object.ts";
import type { ManagedCluster } from "../../apis/managed-cluster.ts";
import { createCsr } from "../../pki/csr.ts";
import { generatePrivateKey } from "../../pki/keys.ts";
import { csrKey, csrObject, type AskedCsr } from "../../../test/kits/csr-object.ts";
import {
  planOf,
  type Chosen,
  type ClusterPlan,
  clusterWarnings,
  openRequests,
  sightOf,
  type ClusterSight,
} from "./cluster-review.ts";

const now = Date.UTC(2026, 10, 21);
const anyOne: Chosen = { agentId: undefined, request: undefined };
const bootstrap = "system:bootstrap:abcdef";

interface Asked extends AskedCsr {
  readonly agent?: string;
  readonly groups?: readonly string[];
  readonly otherKey?: boolean;
}

function request(asked: Asked = {}): ApiObject {
  const { agent = "x7k2p", groups = ["system:bootstrappers:managedcluster"], otherKey = false } = asked;
  const commonName = `system:open-cluster-management:east:${agent}`;
  const organizations = ["system:open-cluster-management:east"];
  const key = otherKey ? generatePrivateKey() : csrKey;
  const made = csrObject({
    commonName,
    organizations,
    signerName: "kubernetes.io/kube-apiserver-client",
    request: createCsr({ key, commonName: asked.commonName ?? commonName, organizations }),
    ...asked,
  });
  const labels = { "open-cluster-management.io/cluster-name": "east" };
  return { ...made, metadata: { ...made.metadata, labels }, spec: { ...(made["spec"] as object), groups } };
}

function cluster(metadata: object = {}, more: object = {}): ManagedCluster {
  return {
    apiVersion: "cluster.open-cluster-management.io/v1",
    kind: "ManagedCluster",
    metadata: { name: "east", annotations: { "registration.pratique.dev/requested-by": bootstrap }, ...metadata },
    spec: { hubAcceptsClient: false },
    ...more,
  };
}

function sight(there: ManagedCluster | undefined, ...requests: readonly ApiObject[]): ClusterSight {
  return sightOf("east", there, requests);
}

const approved = { type: "Approved", status: "True" };

describe("what is to be done to let a cluster in", () => {
  test("is to wait where it is not registered, or nobody has asked", () => {
    expect(planOf(sight(undefined, request()), anyOne, now)).toMatchObject({ kind: "wait" });
    expect(planOf(sight(cluster()), anyOne, now)).toEqual({
      kind: "wait",
      missing: "a certificate request of its agent",
    });
  });

  test("is to wait for the agent that is named, and says who asks instead", () => {
    const plan = planOf(sight(cluster(), request({ agent: "other" })), { ...anyOne, agentId: "mine" }, now);
    expect(plan).toEqual({
      kind: "wait",
      missing: 'a certificate request of agent "mine"; there are requests of "other"',
    });
  });

  test("is to wait where what asks cannot be the agent's, and says why", () => {
    const foreign = request({ name: "foreign", commonName: "system:open-cluster-management:east2:x7k2p" });
    expect(planOf(sight(cluster(), foreign), anyOne, now)).toEqual({
      kind: "wait",
      missing:
        "a certificate request of its agent; csr/foreign has its name and cannot be its agent's: its common name is that of another cluster than its label",
    });
  });

  test("is nothing where the request of its agent was denied, which must be deleted before the agent asks anew", () => {
    const denied = { type: "Denied", status: "True" };
    const seen = sight(
      cluster(),
      request({ name: "old", created: "2026-11-20T00:00:00Z", conditions: [denied] }),
      request({ name: "new", created: "2026-11-20T12:00:00Z", conditions: [denied] }),
    );
    const names = (plan: ClusterPlan): readonly string[] =>
      plan.kind === "denied" ? plan.requests.map(({ name }) => name) : [plan.kind];
    expect(names(planOf(seen, anyOne, now))).toEqual(["new", "old"]);
    expect(names(planOf(seen, { ...anyOne, request: "old" }, now))).toEqual(["old"]);
    expect(names(planOf(seen, { ...anyOne, agentId: "other" }, now))).toEqual(["wait"]);
    const again = sight(cluster(), request({ name: "r" }), request({ name: "old", conditions: [denied] }));
    expect(names(planOf(again, { ...anyOne, agentId: "x7k2p" }, now))).toEqual(["go"]);
  });

  test("is both halves for the only agent that asks", () => {
    const plan = planOf(sight(cluster(), request()), anyOne, now);
    expect(plan).toMatchObject({ kind: "go", accept: true, approve: { name: "r", agent: "x7k2p" }, warnings: [] });
  });

  test("is acceptance alone where the certificate is approved, or requests may not be seen", () => {
    const done = planOf(sight(cluster(), request({ conditions: [approved] })), anyOne, now);
    expect(done).toMatchObject({ kind: "go", accept: true, approved: { agent: "x7k2p" } });
    expect(done).not.toHaveProperty("approve");
    expect(planOf(sightOf("east", cluster(), undefined), anyOne, now)).toEqual({
      kind: "go",
      cluster: cluster(),
      accept: true,
      warnings: [],
    });
  });

  test("is nothing for a cluster that is being deleted", () => {
    const gone = cluster({ deletionTimestamp: "2026-11-21T00:00:00Z" });
    expect(planOf(sight(gone, request()), anyOne, now)).toEqual({ kind: "gone" });
  });

  const agents = JSON.stringify({ other: "2027-01-01T00:00:00.000Z" });
  const doubtful: readonly (readonly [string, ManagedCluster, readonly ApiObject[], RegExp])[] = [
    ["several agents ask", cluster(), [request(), request({ name: "s", agent: "other" })], /2 agents ask/],
    [
      "it has an agent with a certificate",
      cluster({ annotations: { "registration.pratique.dev/agents": agents } }),
      [request()],
      /has an agent: "other", which was given a certificate until 2027-01-01T00:00:00Z/,
    ],
    [
      "it joined before",
      cluster(
        {},
        { status: { conditions: [{ type: "ManagedClusterJoined", status: "True", reason: "", message: "" }] } },
      ),
      [request()],
      /has joined before/,
    ],
    ["the requester is no bootstrap identity", cluster(), [request({ groups: [] })], /is no bootstrap identity/],
    ["somebody else made it", cluster(), [request({ username: "system:bootstrap:zzzzzz" })], /it was made by/],
  ];
  test.each(doubtful)("is refused where %s, until the agent is named", (_title, there, requests, why) => {
    const seen = sight(there, ...requests);
    const refused = planOf(seen, anyOne, now);
    expect(refused).toMatchObject({ kind: "refuse" });
    expect(refused.kind === "refuse" && refused.why.join("; ")).toMatch(why);
    const named = planOf(seen, { ...anyOne, agentId: "x7k2p" }, now);
    expect(named).toMatchObject({ kind: "go", approve: { name: "r" } });
  });

  test("is refused where one id comes with two keys, until the request is named", () => {
    const seen = sight(cluster(), request(), request({ name: "copy", otherKey: true }));
    const byId = planOf(seen, { ...anyOne, agentId: "x7k2p" }, now);
    expect(byId).toMatchObject({ kind: "refuse", why: [expect.stringContaining("2 different keys")] });
    expect(planOf(seen, { ...anyOne, request: "r" }, now)).toMatchObject({ kind: "go", approve: { name: "r" } });
  });

  test("is never to approve a request that another was meant by", () => {
    const ids = fc.stringMatching(/^[a-z0-9]{1,6}$/);
    fc.assert(
      fc.property(fc.uniqueArray(ids, { minLength: 1, maxLength: 4 }), ids, (agentIds, wanted) => {
        const seen = sight(cluster(), ...agentIds.map((agent) => request({ name: `csr-${agent}`, agent })));
        const plan = planOf(seen, { ...anyOne, agentId: wanted }, now);
        const approves = plan.kind === "go" ? plan.approve?.agent : undefined;
        expect(approves).toBe(agentIds.includes(wanted) ? wanted : undefined);
      }),
      { numRuns: 30 },
    );
  });
});

describe("what is seen of a cluster", () => {
  test("leaves out renewals, and tells of requests that bear its name and cannot be its agent's", () => {
    const seen = sight(
      cluster(),
      request({ name: "renewal", username: "system:open-cluster-management:east:x7k2p" }),
      request({ name: "prefix", commonName: "system:open-cluster-management:east2:x7k2p" }),
      request({ name: "garbage", request: "nonsense" }),
      request({ name: "decided", request: "nonsense", conditions: [{ type: "Denied", status: "True" }] }),
    );
    expect(seen.requests).toEqual([]);
    expect(seen.unfit.map(({ name }) => name)).toEqual(["prefix", "garbage"]);
  });

  test("is the newest first, with what is decided", () => {
    const seen = sight(
      cluster(),
      request({ name: "old", created: "2026-11-20T00:00:00Z" }),
      request({ name: "new", created: "2026-11-21T00:00:00Z", conditions: [approved] }),
    );
    expect(seen.requests?.map(({ name, state }) => [name, state])).toEqual([
      ["new", "Approved"],
      ["old", "Pending"],
    ]);
    expect(openRequests(seen).map(({ name }) => name)).toEqual(["old"]);
  });

  test("needs no care where the only agent asks by the identity that made it", () => {
    const seen = sight(cluster(), request());
    expect(clusterWarnings(seen, openRequests(seen), now)).toEqual([]);
  });
});
