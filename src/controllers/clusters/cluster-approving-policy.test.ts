import { describe, expect, it } from "vitest";
import type { ManagedCluster } from "../../apis/managed-cluster.ts";
import { firstObjection, needsAcceptance, type FirstRequest } from "./cluster-approving-policy.ts";

const now = Date.UTC(2026, 10, 21);
const user = "system:bootstrap:ocmhub";

function cluster(
  part: { readonly metadata?: object; readonly spec?: object; readonly status?: object } = {},
): ManagedCluster {
  return {
    apiVersion: "cluster.open-cluster-management.io/v1",
    kind: "ManagedCluster",
    spec: part.spec ?? {},
    status: part.status ?? {},
    metadata: { name: "edge-1", ...part.metadata },
  };
}

function objection(part: Partial<FirstRequest> = {}, rejoin = false): string | undefined {
  return firstObjection({
    username: user,
    identity: { cluster: "edge-1", agent: "new" },
    cluster: cluster(),
    rules: [{ user, clusters: ["edge-*", "lab"], rejoin }],
    now,
    ...part,
  });
}

const annotated = (annotations: Readonly<Record<string, string>>): ManagedCluster =>
  cluster({ metadata: { annotations } });
const agents = (end: number): ManagedCluster =>
  annotated({ "registration.pratique.dev/agents": JSON.stringify({ old: new Date(end).toISOString() }) });

describe("a first certificate without a person", () => {
  it("is for the identity and the clusters that a rule names", () => {
    expect(objection()).toBeUndefined();
    expect(objection({ identity: { cluster: "lab", agent: "a" } })).toBeUndefined();
  });

  it.each([
    ["nobody is named", { rules: [] }],
    ["another is named", { username: "system:bootstrap:ocmhub2" }],
    ["another cluster is named", { identity: { cluster: "prod", agent: "a" } }],
    ["a cluster is named whose name this one begins with", { identity: { cluster: "lab2", agent: "a" } }],
    ["the cluster is not there", { cluster: undefined }],
    ["the cluster is going", { cluster: cluster({ metadata: { deletionTimestamp: "2026-11-21T00:00:00Z" } }) }],
    ["somebody else made the cluster", { cluster: annotated({ "registration.pratique.dev/requested-by": "eve" }) }],
    [
      "it was denied after it had been let in without a person",
      { cluster: annotated({ "open-cluster-management.io/automatically-accepted-on": "2026-11-20T00:00:00Z" }) },
    ],
    [
      "it was denied",
      { cluster: cluster({ status: { conditions: [{ type: "HubAcceptedManagedCluster", status: "False" }] } }) },
    ],
    ["another key was approved for it", { rival: "first" }],
    ["it has an agent with a certificate", { cluster: agents(now + 1000) }],
    [
      "it has joined",
      {
        cluster: cluster({
          spec: { hubAcceptsClient: true },
          status: { conditions: [{ type: "ManagedClusterJoined", status: "True" }] },
        }),
      },
    ],
  ])("is none where %s", (_why, part) => {
    expect(objection(part)).toEqual(expect.any(String));
  });

  it("is given again where the last agent's certificate has ended, or a rule says so", () => {
    expect(objection({ cluster: agents(now - 1000) })).toBeUndefined();
    expect(objection({ cluster: agents(now + 1000) }, true)).toBeUndefined();
  });

  it("lets the cluster in once, and not against a later denial", () => {
    const denied = annotated({ "open-cluster-management.io/automatically-accepted-on": "2026-11-20T00:00:00Z" });
    expect([needsAcceptance(cluster()), needsAcceptance(denied)]).toEqual([true, false]);
  });
});
