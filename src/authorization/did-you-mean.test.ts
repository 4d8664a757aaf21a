import { describe, expect, it } from "vitest";
import type { Attributes } from "./authorizer.ts";
import { isMistyped, likelyMeant, type ServedKind } from "./did-you-mean.ts";

const kind = (group: string, plural: string, more: Partial<ServedKind> = {}): ServedKind => ({
  group,
  plural,
  singular: plural.slice(0, -1),
  shortNames: [],
  subresources: ["status"],
  ...more,
});

const kinds = [
  kind("", "pods", { shortNames: ["po"] }),
  kind("apps", "deployments", { subresources: ["status", "scale"] }),
  kind("certificates.k8s.io", "certificatesigningrequests", { subresources: ["status", "approval"] }),
];

function meant(what: Partial<Attributes>): readonly string[] {
  const pods = { group: "", version: "v1", resource: "pods", subresource: "", namespace: "dev", name: "" };
  const asked = { user: { username: "ann", groups: [] }, verb: "get", ...pods, path: undefined, ...what };
  return likelyMeant(asked, kinds).map(({ lacks, text }) => `${lacks}: ${text}`);
}

describe("what was meant", () => {
  it.each([
    [{ resource: "deployments" }, 'resource: the server has no resource "deployments"; was deployments.apps meant?'],
    [{ resource: "podz" }, 'resource: the server has no resource "podz"; was pods meant?'],
    [{ resource: "po" }, 'resource: the server has no resource "po"; was pods meant?'],
    [{ resource: "pods", group: "apps" }, 'resource: the server has no resource "pods.apps"; was pods meant?'],
    [{ resource: "zebras" }, 'resource: the server has no resource "zebras"'],
    [
      { group: "apps", resource: "deployments", subresource: "scales" },
      `subresource: the server's deployments.apps have no part "scales"; was scale meant?`,
    ],
    [
      { verb: "approve", group: "certificates.k8s.io", resource: "certificatesigningrequests", name: "a" },
      'verb: no request for certificatesigningrequests has the verb "approve"; it takes update of certificatesigningrequests/approval, and approve of signers.certificates.k8s.io/SIGNER',
    ],
    [
      { verb: "sign", group: "certificates.k8s.io", resource: "certificatesigningrequests" },
      'verb: no request for certificatesigningrequests has the verb "sign"; it takes update of certificatesigningrequests/status, and sign of signers.certificates.k8s.io/SIGNER',
    ],
    [
      { verb: "approve", resource: "signers", name: "kubernetes.io/kubelet-serving" },
      "resource: the resource is in a group; was signers.certificates.k8s.io meant?",
    ],
    [{ verb: "lst" }, 'verb: no request for objects has the verb "lst"; was list meant?'],
  ])("by %j", (asked, text) => {
    expect(meant(asked)).toEqual([text]);
  });

  it("makes a right of no use where it speaks of another word, and not where a role gives another verb", () => {
    const binding = { kind: "RoleBinding", name: "devs" };
    expect(isMistyped({ lacks: "resource" })).toBe(true);
    expect(isMistyped({ lacks: "verb" })).toBe(true);
    expect(isMistyped({ lacks: "verb", binding })).toBe(false);
    expect(isMistyped({ lacks: "binding" })).toBe(false);
  });

  it("is asked of nobody whose words are right, who speaks of paths or all, or uses verbs beyond the API's", () => {
    expect(meant({})).toEqual([]);
    expect(meant({ subresource: "status" })).toEqual([]);
    expect(meant({ path: "/podz", resource: "" })).toEqual([]);
    expect(meant({ resource: "*" })).toEqual([]);
    expect(meant({ verb: "impersonate" })).toEqual([]);
    expect(meant({ resource: "x", group: "*" })).toEqual([]);
    expect(meant({ verb: "approve", resource: "signers", group: "certificates.k8s.io" })).toEqual([]);
  });
});
