import { describe, expect, it } from "vitest";
import type { Attributes } from "./authorizer.ts";
import { abac, parseAbacPolicies } from "./abac.ts";
import { smallestAbacPolicy, smallestRight } from "./minimal-rule.ts";

function request(what: Partial<Attributes> = {}): Attributes {
  const pods = { group: "", version: "v1", resource: "pods", subresource: "", namespace: "dev", name: "" };
  return {
    user: { username: "ann", groups: ["system:authenticated"] },
    verb: "get",
    ...pods,
    path: undefined,
    ...what,
  };
}

describe("the smallest right", () => {
  it.each([
    [
      {},
      "role ann-get-pods -n dev --verb=get --resource=pods",
      "rolebinding ann-get-pods -n dev --role=ann-get-pods --user=ann",
    ],
    [
      { group: "apps", resource: "deployments", subresource: "scale", name: "web", namespace: "" },
      "clusterrole ann-get-deployments-scale-web --verb=get --resource=deployments.apps/scale --resource-name=web",
      "clusterrolebinding ann-get-deployments-scale-web --clusterrole=ann-get-deployments-scale-web --user=ann",
    ],
    [
      { path: "/metrics" },
      "clusterrole ann-get-metrics --verb=get --non-resource-url=/metrics",
      "clusterrolebinding ann-get-metrics --clusterrole=ann-get-metrics --user=ann",
    ],
    [
      { user: { username: "", groups: ["system:authenticated", "a b"] } },
      "role a-b-get-pods -n dev --verb=get --resource=pods",
      "rolebinding a-b-get-pods -n dev --role=a-b-get-pods '--group=a b'",
    ],
  ])("of %j is two commands", (changes, role, binding) => {
    expect(smallestRight(request(changes)).commands).toEqual([`kubectl create ${role}`, `kubectl create ${binding}`]);
  });

  it("of a signer, for which kubectl makes no role by its flags, is a role in JSON and its binding, cluster-wide", () => {
    const signer = "kubernetes.io/kube-apiserver-client-kubelet";
    const asked = { verb: "approve", group: "certificates.k8s.io", resource: "signers", name: signer };
    const { commands, notes } = smallestRight(request(asked));
    const name = "ann-approve-signers-kubernetes.io-kube-apiserver-client-kubelet";
    expect(commands).toEqual([
      `printf %s '{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"${name}"},"rules":[{"apiGroups":["certificates.k8s.io"],"resources":["signers"],"resourceNames":["${signer}"],"verbs":["approve"]}]}' | kubectl create -f -`,
      `kubectl create clusterrolebinding ${name} --clusterrole=${name} --user=ann`,
    ]);
    expect(notes.join()).toContain("update of certificatesigningrequests/approval");
  });

  it("is none for everything at once, or for nobody", () => {
    for (const changes of [{ verb: "*" }, { resource: "*" }, { group: "*" }, { path: "*" }]) {
      expect(smallestRight(request(changes))).toMatchObject({ commands: [], notes: [expect.any(String)] });
    }
    expect(smallestRight(request({ user: { username: "", groups: [] } })).commands).toEqual([]);
  });

  it.each<[string, Partial<Attributes>]>([
    ["a comma in the verb", { verb: "get,delete" }],
    ["a comma in the resource", { resource: "pods,secrets" }],
    ["a comma in the group", { group: "a,b" }],
    ["a comma in the subresource", { subresource: "log,secrets" }],
    ["a comma in a path", { path: "/version,/metrics" }],
    ["a quote in a path", { path: '"/version","/metrics"' }],
    ["the end of a line in a path", { path: "/version\n/metrics" }],
    ["a path that a role would take for all below it", { path: "/apis/*" }],
  ])("is none for %s, which kubectl or RBAC takes for more", (_what, changes) => {
    expect(smallestRight(request(changes))).toMatchObject({ commands: [], notes: [expect.any(String)] });
  });

  it("warns of giving a right to everybody without a credential", () => {
    const anonymous = { username: "system:anonymous", groups: ["system:unauthenticated"] };
    expect(smallestRight(request({ user: anonymous })).notes.join()).toContain("without a credential");
  });

  it("of mode ABAC is a line that allows the request and not another", async () => {
    for (const changes of [{}, { namespace: "" }, { path: "/x" }, { user: { username: "", groups: ["g"] } }]) {
      const asked = request(changes);
      const { commands, notes } = smallestAbacPolicy(asked);
      const { authorize } = abac(parseAbacPolicies(commands.join("\n")));
      expect(notes.join()).toContain("--authorization-policy-file");
      expect((await authorize(asked)).verdict).toBe("allow");
      expect((await authorize({ ...asked, verb: "delete" })).verdict).toBe("noOpinion");
      expect((await authorize({ ...asked, user: { username: "eve", groups: [] } })).verdict).toBe("noOpinion");
    }
  });

  it.each<[string, Partial<Attributes>]>([
    ["a user who is called like everybody", { user: { username: "*", groups: [] } }],
    ["a group that is called like everybody", { user: { username: "", groups: ["*"] } }],
    ["all resources", { resource: "*" }],
    ["all groups", { group: "*" }],
    ["all namespaces by a word", { namespace: "*" }],
    ["all paths below one", { path: "/apis/*" }],
    ["nobody", { user: { username: "", groups: [] } }],
  ])("of mode ABAC is none for %s", (_what, changes) => {
    expect(smallestAbacPolicy(request(changes))).toMatchObject({ commands: [], notes: [expect.any(String)] });
  });
});
