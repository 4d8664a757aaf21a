import { describe, expect, it } from "vitest";
import type { Attributes } from "./authorizer.ts";
import { abac, parseAbacPolicies } from "./abac.ts";
import { smallestAbacPolicy, smallestRight } from "./smallest-right.ts";

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

  it("is none for everything at once, or for nobody", () => {
    for (const changes of [{ verb: "*" }, { resource: "*" }, { group: "*" }, { path: "*" }]) {
      expect(smallestRight(request(changes))).toMatchObject({ commands: [], notes: [expect.any(String)] });
    }
    expect(smallestRight(request({ user: { username: "", groups: [] } })).commands).toEqual([]);
  });

  it("warns of giving a right to everybody without a credential", () => {
    const anonymous = { username: "system:anonymous", groups: ["system:unauthenticated"] };
    expect(smallestRight(request({ user: anonymous })).notes.join()).toContain("without a credential");
  });

  it("of mode ABAC is a line that allows the request and not another", async () => {
    for (const changes of [{}, { namespace: "" }, { path: "/x" }, { user: { username: "", groups: ["g"] } }]) {
      const asked = request(changes);
      const { authorize } = abac(parseAbacPolicies(smallestAbacPolicy(asked)));
      expect((await authorize(asked)).verdict).toBe("allow");
      expect((await authorize({ ...asked, verb: "delete" })).verdict).toBe("noOpinion");
      expect((await authorize({ ...asked, user: { username: "eve", groups: [] } })).verdict).toBe("noOpinion");
    }
  });
});
