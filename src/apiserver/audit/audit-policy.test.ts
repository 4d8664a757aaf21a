import { describe, expect, test } from "vitest";
import type { UserInfo } from "../../apimachinery/user.ts";
import { compileAuditPolicy, type AuditRule } from "./audit-policy.ts";
import { requestInfo, type RequestInfo } from "../request-info.ts";

const empty: AuditRule = {
  level: "Metadata",
  users: [],
  userGroups: [],
  verbs: [],
  resources: [],
  namespaces: [],
  nonResourceURLs: [],
  omitStages: [],
  omitManagedFields: false,
};
const jane: UserInfo = { username: "jane", groups: ["devs"] };
const info = (path: string, method = "GET"): RequestInfo =>
  requestInfo(method, path, new URLSearchParams()) as RequestInfo;

/** Whether a rule of these conditions matches a request. */
function matches(rule: Partial<AuditRule>, path: string, user: UserInfo | undefined = jane, method = "GET"): boolean {
  return compileAuditPolicy([{ ...empty, ...rule }])(info(path, method), user).level !== "None";
}

function of(group: string, resources: readonly string[] = [], resourceNames: readonly string[] = []) {
  return { resources: [{ group, resources, resourceNames }] };
}

const pod = "/api/v1/namespaces/default/pods/web";

describe("a rule of an audit policy", () => {
  test.each([
    ["no condition", {}, pod, true],
    ["no condition, of a path", {}, "/version", true],
    ["a user", { users: ["jane"] }, pod, true],
    ["another user", { users: ["jan", "janet"] }, pod, false],
    ["a group", { userGroups: ["ops", "devs"] }, pod, true],
    ["another group", { userGroups: ["ops"] }, pod, false],
    ["a verb", { verbs: ["get"] }, pod, true],
    ["another verb", { verbs: ["list"] }, pod, false],
    ["a namespace", { namespaces: ["default"] }, pod, true],
    ["another namespace", { namespaces: ["kube-system"] }, pod, false],
    ["no namespace", { namespaces: [""] }, "/api/v1/nodes/a", true],
    ["no namespace, of an object in one", { namespaces: [""] }, pod, false],
    ["a namespace, of a path", { namespaces: [""] }, "/version", false],
    ["a resource", of("", ["pods"]), pod, true],
    ["a resource, of its subresource", of("", ["pods"]), `${pod}/status`, false],
    ["a subresource", of("", ["pods/status"]), `${pod}/status`, true],
    ["a subresource, of the resource", of("", ["pods/status"]), pod, false],
    ["a subresource of all", of("", ["*/status"]), `${pod}/status`, true],
    ["a subresource of all, of another", of("", ["*/scale"]), `${pod}/status`, false],
    ["all of a resource", of("", ["pods/*"]), `${pod}/status`, true],
    ["all of a resource, of itself", of("", ["pods/*"]), pod, true],
    ["all of a resource, of another", of("", ["pods/*"]), "/api/v1/nodes/a", false],
    ["everything of a group", of("", ["*"]), `${pod}/status`, true],
    ["a group", of(""), `${pod}/status`, true],
    ["a group, of another", of("apps"), pod, false],
    ["the same plural of another group", of("apps", ["pods"]), pod, false],
    ["a name", of("", ["pods"], ["web"]), pod, true],
    ["another name", of("", ["pods"], ["we", "webs"]), pod, false],
    ["a resource, of a path", of("", ["*"]), "/version", false],
    ["a path", { nonResourceURLs: ["/version"] }, "/version", true],
    ["a path, of one below", { nonResourceURLs: ["/version"] }, "/version/x", false],
    ["paths", { nonResourceURLs: ["/healthz*"] }, "/healthz/etcd", true],
    ["all paths", { nonResourceURLs: ["*"] }, "/version", true],
    ["all paths, of a resource", { nonResourceURLs: ["*"] }, pod, false],
    ["a resource that is called like a field of every object", of("", ["constructor"]), "/api/v1/__proto__", false],
  ] as readonly (readonly [string, Partial<AuditRule>, string, boolean])[])("with %s", (_name, rule, path, expected) =>
    expect(matches(rule, path)).toBe(expected),
  );

  test("with users or groups never matches nobody", () => {
    const policy = compileAuditPolicy([
      { ...empty, users: ["jane"] },
      { ...empty, userGroups: ["devs"] },
    ]);
    expect(policy(info(pod), undefined).level).toBe("None");
  });
});

describe("an audit policy", () => {
  test("decides by the first rule that matches, and records nothing where none does", () => {
    const policy = compileAuditPolicy([
      { ...empty, level: "None", users: ["bot"] },
      { ...empty, level: "Metadata", ...of("", ["secrets"]) },
      { ...empty, level: "Request", verbs: ["update"] },
      {
        ...empty,
        level: "RequestResponse",
        ...of("", ["*"]),
        omitManagedFields: true,
        omitStages: ["RequestReceived"],
      },
      { ...empty, level: "None", ...of("", ["pods"]) },
    ]);
    const level = (path: string, user = jane, method = "GET"): string => policy(info(path, method), user).level;
    expect(level(pod)).toBe("RequestResponse");
    expect(policy(info(pod), jane)).toMatchObject({
      omitManagedFields: true,
      omitStages: new Set(["RequestReceived"]),
    });
    expect(level(pod, jane, "PUT")).toBe("Request");
    expect(level(pod, { username: "bot", groups: [] })).toBe("None");
    expect(level("/api/v1/secrets")).toBe("Metadata");
    expect(level("/apis/apps/v1/deployments")).toBe("None");
    expect(level("/version")).toBe("None");
  });
});
