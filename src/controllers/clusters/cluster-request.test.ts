import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { csrObject, type AskedCsr } from "../../../test/kits/csr-object.ts";
import { parseCsr } from "../../pki/csr.ts";
import { addOnObjection, agentRequest, labelledCluster } from "./cluster-request.ts";
import { csrView } from "../certificates/csr-view.ts";

const good: AskedCsr = {
  signerName: "kubernetes.io/kube-apiserver-client",
  commonName: "system:open-cluster-management:prod:a1b2c",
  organizations: ["system:open-cluster-management:prod", "system:open-cluster-management:managed-clusters"],
  usages: ["digital signature", "key encipherment", "client auth"],
};

function judged(asked: AskedCsr, cluster = "prod"): ReturnType<typeof agentRequest> {
  const csr = csrView(csrObject({ ...good, ...asked }));
  return agentRequest(csr, cluster, parseCsr(csr.request));
}

describe("the request of an agent", () => {
  it("is that of exactly its cluster, with either set of groups", () => {
    const identity = { cluster: "prod", agent: "a1b2c" };
    expect(judged({})).toEqual(identity);
    expect(judged({ organizations: ["system:open-cluster-management:prod"] })).toEqual(identity);
  });

  it.each([
    ["another signer", { signerName: "kubernetes.io/kube-apiserver-client-kubelet" }],
    ["a name with a part more", { commonName: "system:open-cluster-management:prod:a:b" }],
    ["a name with a part less", { commonName: "system:open-cluster-management:prod" }],
    ["an agent without a name", { commonName: "system:open-cluster-management:prod:" }],
    ["another cluster's name", { commonName: "system:open-cluster-management:prod2:a" }],
    ["another cluster's group", { organizations: ["system:open-cluster-management:prod2"] }],
    [
      "both clusters' groups",
      { organizations: ["system:open-cluster-management:prod", "system:open-cluster-management:prod2"] },
    ],
    ["no group", { organizations: [] }],
    ["only the common group", { organizations: ["system:open-cluster-management:managed-clusters"] }],
    ["a DNS name", { dnsNames: ["kubernetes"] }],
    ["an address", { ipAddresses: ["10.0.0.1"] }],
    ["use as a server", { usages: ["client auth", "server auth"] }],
    ["no use as a client", { usages: ["digital signature"] }],
  ])("is not one with %s", (_what, asked) => {
    expect(judged(asked)).toEqual(expect.any(String));
  });

  it("never belongs to a cluster whose name only begins alike", () => {
    const names = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}[a-z0-9]$/);
    fc.assert(
      fc.property(names, names, (cluster, other) => {
        fc.pre(cluster !== other);
        const commonName = `system:open-cluster-management:${other}:agent`;
        const organizations = [`system:open-cluster-management:${other}`];
        expect(judged({ commonName, organizations }, cluster)).toEqual(expect.any(String));
      }),
      { numRuns: 50 },
    );
  });
});

describe("the label of a request", () => {
  const labelled = (labels: Readonly<Record<string, string>>): string | undefined =>
    labelledCluster({ apiVersion: "v1", kind: "C", metadata: { labels } });
  const cluster = "open-cluster-management.io/cluster-name";

  it("names a cluster, and nothing that is no name", () => {
    expect(labelled({ [cluster]: "prod" })).toBe("prod");
    expect([labelled({}), labelled({ [cluster]: "" }), labelled({ [cluster]: "A.b" })]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(labelled({ [cluster]: "prod", "open-cluster-management.io/addon-name": "logs" })).toBeUndefined();
  });
});

describe("the request of an add-on's agent", () => {
  const group = "system:open-cluster-management:cluster:prod:addon:logs";
  const asked: AskedCsr = {
    ...good,
    username: "system:open-cluster-management:prod:a1b2c",
    commonName: `${group}:agent:a1b2c`,
    organizations: [group, "system:open-cluster-management:addon:logs", "system:authenticated"],
    dnsNames: ["logs.addon.open-cluster-management.io"],
  };
  const objection = (part: AskedCsr): string | undefined => {
    const csr = csrView(csrObject({ ...asked, ...part }));
    return addOnObjection(csr, { cluster: "prod", addOn: "logs" }, parseCsr(csr.request));
  };

  it("is approved for the agent of its cluster, with the subject of the original", () => {
    expect(objection({})).toBeUndefined();
  });

  it.each([
    [
      "an agent of a cluster whose name begins with this one's",
      { username: "system:open-cluster-management:prod2:a1b2c" },
    ],
    ["another agent of the cluster", { username: "system:open-cluster-management:prod:other" }],
    ["somebody who is no agent", { username: "system:open-cluster-management:prod" }],
  ])("is not approved for %s", (_who, part) => {
    expect(objection(part)).toEqual(expect.any(String));
  });

  it.each([
    ["another name", { commonName: "kubernetes-admin" }],
    ["a group more", { organizations: [...(asked.organizations ?? []), "system:masters"] }],
    [
      "another group in place of the third",
      { organizations: [group, "system:open-cluster-management:addon:logs", "ops"] },
    ],
    ["a group twice", { organizations: [group, group, "system:open-cluster-management:addon:logs"] }],
    ["a group less", { organizations: [group] }],
    ["another DNS name", { dnsNames: ["kubernetes.default"] }],
  ])("is not approved with %s", (_what, part) => {
    expect(objection(part)).toEqual(expect.any(String));
  });
});
