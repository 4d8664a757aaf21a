import { describe, expect, it } from "vitest";
import type { Attributes } from "./authorizer.ts";
import { forbiddenRequest } from "./forbidden-text.ts";

const base: Attributes = {
  user: { username: "ann", groups: [] },
  verb: "get",
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "",
  namespace: "prod",
  name: "x",
  path: undefined,
};

describe("forbiddenRequest", () => {
  it("names object, user, verb, resource, group and namespace", () => {
    expect(forbiddenRequest(base, "").toStatus()).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: 'pods "x" is forbidden: User "ann" cannot get resource "pods" in API group "" in the namespace "prod"',
      reason: "Forbidden",
      details: { name: "x", kind: "pods" },
      code: 403,
    });
  });

  it("shows the group, the subresource, the cluster scope and the reason", () => {
    const attributes = {
      ...base,
      group: "apps",
      resource: "deployments",
      subresource: "scale",
      namespace: "",
      name: "",
    };
    const { message, details } = forbiddenRequest({ ...attributes, verb: "list" }, "RBAC: why");
    expect(message).toBe(
      'deployments.apps is forbidden: User "ann" cannot list resource "deployments/scale" in API group "apps" at the cluster scope: RBAC: why',
    );
    expect(details).toEqual({ group: "apps", kind: "deployments" });
  });

  it("speaks of the path of a request that is not for a resource", () => {
    const status = forbiddenRequest({ ...base, path: "/metrics" }, "why").toStatus();
    expect(status.message).toBe('forbidden: User "ann" cannot get path "/metrics": why');
    expect(status.details).toEqual({});
  });

  it("escapes markup that came with the request", () => {
    const user = { username: "<script>&", groups: [] };
    const { message } = forbiddenRequest({ ...base, user, path: "/<b>" }, "");
    expect(message).toBe('forbidden: User "&lt;script&gt;&amp;" cannot get path "/&lt;b&gt;"');
  });
});
