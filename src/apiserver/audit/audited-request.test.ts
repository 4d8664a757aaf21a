import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readAuditedRequest, type AuditedRequest } from "./audited-request.ts";

const event = {
  kind: "Event",
  apiVersion: "audit.k8s.io/v1",
  level: "Metadata",
  auditID: "a-1",
  stage: "ResponseComplete",
  requestURI: "/api/v1/namespaces/default/pods/web",
  verb: "get",
  user: { username: "ann", uid: "7", groups: ["ops", "system:authenticated"], extra: { scope: ["a"] } },
  objectRef: { resource: "pods", namespace: "default", name: "web", apiVersion: "v1" },
  requestReceivedTimestamp: "2026-11-21T05:00:00.000000Z",
  annotations: { "authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": "because" },
};

function read(changes: object): AuditedRequest {
  const found = readAuditedRequest({ ...event, ...changes });
  if (typeof found === "string") throw new Error(found);
  return found;
}

describe("what an event says was asked", () => {
  test("is the user, the verb and the object, and how it was decided", () => {
    expect(read({})).toEqual({
      auditId: "a-1",
      stage: "ResponseComplete",
      attributes: {
        user: { username: "ann", uid: "7", groups: ["ops", "system:authenticated"], extra: { scope: ["a"] } },
        verb: "get",
        group: "",
        version: "v1",
        resource: "pods",
        subresource: "",
        namespace: "default",
        name: "web",
        path: undefined,
      },
      impersonation: [],
      wasAllowed: true,
      by: "",
      reason: "because",
      time: "2026-11-21T05:00:00.000000Z",
    });
  });

  test("has no name where only the answer knew it", () => {
    const objectRef = { resource: "pods", namespace: "default", name: "web-x7", apiVersion: "v1" };
    const { attributes } = read({
      verb: "create",
      requestURI: "/api/v1/namespaces/default/pods?dryRun=All",
      objectRef,
    });
    expect([attributes.verb, attributes.name]).toEqual(["create", ""]);
  });

  test("has the name of a subresource's object, also of one that is created", () => {
    const objectRef = { resource: "pods", subresource: "binding", namespace: "default", name: "web", apiVersion: "v1" };
    const { attributes } = read({
      verb: "create",
      requestURI: "/api/v1/namespaces/default/pods/web/binding",
      objectRef,
    });
    expect([attributes.subresource, attributes.name]).toEqual(["binding", "web"]);
  });

  test("has the selectors of the query, and the name that one of them selects", () => {
    const objectRef = { resource: "pods", apiVersion: "v1" };
    const requestURI = "/api/v1/pods?watch=true&fieldSelector=spec.nodeName%3Dn1&labelSelector=a%3Db";
    expect(read({ verb: "watch", requestURI, objectRef }).attributes).toMatchObject({
      verb: "watch",
      fieldSelector: [{ key: "spec.nodeName", operator: "In", values: ["n1"] }],
      labelSelector: [{ key: "a", operator: "In", values: ["b"] }],
    });
    const named = read({ verb: "list", requestURI: "/api/v1/pods?fieldSelector=metadata.name%3Dweb", objectRef });
    expect(named.attributes.name).toBe("web");
  });

  test("is a path without its query where there is no object", () => {
    const { attributes } = read({ verb: "get", requestURI: "/metrics?x=1", objectRef: undefined });
    expect(attributes).toMatchObject({ verb: "get", path: "/metrics", resource: "" });
    expect(read({ verb: "post", requestURI: "/logs", objectRef: undefined }).attributes.verb).toBe("post");
  });

  test("goes by the reference where the path is of an older form", () => {
    const objectRef = { resource: "pods", namespace: "default", apiVersion: "v1" };
    const { attributes } = read({ verb: "watch", requestURI: "/api/v1/watch/namespaces/default/pods", objectRef });
    expect(attributes).toMatchObject({ resource: "pods", namespace: "default", name: "", path: undefined });
  });

  test("was decided by whom the trace of a hub names last, and by nobody that is known without one", () => {
    const trace = (text: string): object => ({
      annotations: { ...event.annotations, "authorization.pratique.dev/trace": text },
    });
    expect(read(trace('[{"name":"Node","verdict":"noOpinion"},{"name":"RBAC","verdict":"allow"}]')).by).toBe("RBAC");
    expect(read(trace('[{"name":"RBAC","verdict":"noOpinion"}]')).by).toBe("");
    for (const text of ["[", "{}", "[]", "null", "[3]"]) expect(read(trace(text)).by).toBe("");
  });

  test("is asked by whoever was impersonated, once the real user may impersonate", () => {
    const impersonatedUser = { username: "bea", groups: ["ops", "system:authenticated"], extra: { Scope: ["x"] } };
    const { attributes, impersonation } = read({ impersonatedUser });
    expect(attributes.user.username).toBe("bea");
    expect(
      impersonation.map(({ user, resource, subresource, name }) => [user.username, resource, subresource, name]),
    ).toEqual([
      ["ann", "users", "", "bea"],
      ["ann", "groups", "", "ops"],
      ["ann", "userextras", "Scope", "x"],
    ]);
  });

  test("asks for a ServiceAccount as one, without the groups that it has anyway", () => {
    const groups = ["system:serviceaccounts", "system:serviceaccounts:team", "system:authenticated"];
    const { impersonation } = read({ impersonatedUser: { username: "system:serviceaccount:team:bot", groups } });
    expect(impersonation).toMatchObject([{ resource: "serviceaccounts", namespace: "team", name: "bot" }]);
    expect(impersonation).toHaveLength(1);
  });
});

describe("events that say nothing of a decision", () => {
  test.each([
    ["early", { stage: "RequestReceived", annotations: {} }],
    ["undecided", { annotations: {} }],
    ["undecided", { annotations: undefined, responseStatus: { code: 401 } }],
    ["unreadable", { kind: "EventList" }],
    ["unreadable", { apiVersion: "v1" }],
    ["unreadable", { user: {} }],
    ["unreadable", { requestURI: "/api/v1/namespaces/%zz/pods" }],
    ["unreadable", { requestURI: "" }],
    ["unreadable", { objectRef: undefined }],
    ["unreadable", { verb: 3 }],
  ])("are %s: %j", (why, changes) => {
    expect(readAuditedRequest({ ...event, ...changes })).toBe(why);
  });

  test("never throw, whatever JSON holds", () => {
    const fields = fc.constantFrom(...Object.keys(event));
    fc.assert(
      fc.property(fields, fc.jsonValue(), fc.string(), (field, value, uri) => {
        readAuditedRequest(value);
        readAuditedRequest({ ...event, requestURI: uri });
        const found = readAuditedRequest({ ...event, [field]: value });
        expect(typeof found === "string" || found.attributes.user.username !== "").toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});
