import { describe, expect, test } from "vitest";
import { isReturning, nodeReturningAs, returningUser } from "../apimachinery/expired-credential.ts";
import type { Attributes } from "./authorizer.ts";
import { returningDecision } from "./expired-credential.ts";

const user = returningUser("system:node:a", {});
const csrs: Attributes = {
  user,
  verb: "create",
  group: "certificates.k8s.io",
  version: "v1",
  resource: "certificatesigningrequests",
  subresource: "",
  namespace: "",
  name: "",
  path: undefined,
};
const byName = { key: "metadata.name", operator: "In", values: ["x"] } as const;

describe("whoever comes back", () => {
  test.each<[string, Partial<Attributes>]>([
    ["allow", {}],
    ["allow", { verb: "get", name: "x" }],
    ["allow", { verb: "list", fieldSelector: [byName] }],
    ["allow", { verb: "watch", fieldSelector: [byName] }],
    ["deny", { verb: "get" }],
    ["deny", { verb: "list" }],
    ["deny", { verb: "watch", name: "x" }],
    ["deny", { verb: "list", fieldSelector: [{ ...byName, operator: "NotIn" }] }],
    ["deny", { verb: "list", fieldSelector: [{ ...byName, values: [""] }] }],
    ["deny", { verb: "list", fieldSelector: [{ ...byName, values: ["x", "y"] }] }],
    ["deny", { verb: "list", fieldSelector: [{ ...byName, key: "spec.signerName" }] }],
    ["deny", { verb: "deletecollection", fieldSelector: [byName] }],
    ["deny", { verb: "update", name: "x" }],
    ["deny", { verb: "*" }],
    ["deny", { subresource: "approval" }],
    ["deny", { subresource: "nodeclient" }],
    ["deny", { group: "" }],
    ["deny", { resource: "signers", verb: "approve" }],
    ["deny", { group: "", resource: "configmaps", verb: "get", namespace: "kube-public", name: "other" }],
    ["deny", { group: "", resource: "configmaps", verb: "update", namespace: "kube-public", name: "cluster-info" }],
    ["allow", { group: "", resource: "configmaps", verb: "get", namespace: "kube-public", name: "cluster-info" }],
    ["allow", { path: "/version", verb: "get" }],
    ["deny", { path: "/version/", verb: "get" }],
    ["deny", { path: "/version", verb: "post" }],
    ["deny", { path: "/metrics", verb: "get" }],
  ])("is answered with %s, for %o", (verdict, more) => {
    expect(returningDecision({ ...csrs, ...more }).verdict).toBe(verdict);
  });

  test("is a user by name and group together, and nobody may have either", () => {
    expect([isReturning(user), nodeReturningAs(user)]).toEqual([true, "system:node:a"]);
    const { username, groups } = user;
    for (const one of [
      { username, groups: [] },
      { username: "x", groups },
      { username: "pratique:returning:", groups },
      { username: "pratique:returning:system:node:", groups },
      { username: "pratique:returning:ann", groups },
    ]) {
      expect([isReturning(one), nodeReturningAs(one)]).toEqual([true, undefined]);
    }
    expect(isReturning({ username: "system:node:a", groups: ["system:nodes"] })).toBe(false);
  });
});
