import { describe, expect, test } from "vitest";
import type { UserInfo } from "../../apimachinery/user.ts";
import { suggestedFlowControl } from "../../apis/flow-control-objects.ts";
import type { FlowSchemaSpec } from "../../apis/flow-schema.ts";
import type { PriorityLevelSpec } from "../../apis/priority-level-configuration.ts";
import { anonymousLevel, exemptedLevel, flowControl, flowOf, type FlowControl } from "./flow-control.ts";
import { requestInfo, type RequestInfo } from "../request-info.ts";

const user = (username: string, ...groups: string[]): UserInfo => ({
  username,
  groups: [...groups, "system:authenticated"],
});
const anonymous: UserInfo = { username: "system:anonymous", groups: ["system:unauthenticated"] };
const node = user("system:node:a", "system:nodes");
const info = (path: string, method = "GET"): RequestInfo =>
  requestInfo(method, path, new URLSearchParams()) as RequestInfo;
const account = (namespace: string): UserInfo =>
  user(`system:serviceaccount:${namespace}:x`, "system:serviceaccounts", `system:serviceaccounts:${namespace}`);

const object = (kind: string, name: string, spec: object) => ({
  apiVersion: "flowcontrol.apiserver.k8s.io/v1",
  kind,
  metadata: { name, uid: `uid-${name}` },
  spec,
});

function controlOf(
  schemas: Readonly<Record<string, FlowSchemaSpec>> = {},
  levels: Readonly<Record<string, PriorityLevelSpec>> = {},
): FlowControl {
  const all = (kind: string, specs: Readonly<Record<string, object>>) =>
    Object.entries(specs).map(([name, spec]) => object(kind, name, spec));
  return flowControl({
    schemas: all("FlowSchema", { ...suggestedFlowControl.schemas, ...schemas }),
    levels: all("PriorityLevelConfiguration", { ...suggestedFlowControl.levels, ...levels }),
  });
}

const everything = {
  resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] }],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
};
const schemaFor = (level: string, precedence: number, more: object = {}): FlowSchemaSpec => ({
  priorityLevelConfiguration: { name: level },
  matchingPrecedence: precedence,
  rules: [{ subjects: [{ kind: "User", user: { name: "jane" } }], ...everything, ...more }],
});

describe("the suggested objects", () => {
  const { classify } = controlOf();
  test.each([
    ["/api/v1/pods", user("admin", "system:masters"), undefined, "uid-exempt"],
    ["/readyz", anonymous, undefined, "uid-exempt"],
    ["/livez/ping", anonymous, undefined, "uid-exempt"],
    ["/readyzz", anonymous, anonymousLevel, "uid-global-default"],
    ["/api/v1/namespaces/healthz/pods", user("jane"), "global-default", "uid-global-default"],
    ["/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/a", node, "node-high", "uid-node-high"],
    ["/api/v1/nodes/a/status", node, "node-high", "uid-node-high"],
    ["/apis/example.com/v1/nodes", node, "system", "uid-system"],
    ["/api/v1/nodes/a/status", user("jane"), "global-default", "uid-global-default"],
    ["/api/v1/pods", account("kube-system"), "workload-high", "uid-workload-high"],
    [
      "/apis/coordination.k8s.io/v1/namespaces/x/leases/a",
      account("kube-system"),
      "leader-election",
      "uid-leader-election",
    ],
    ["/api/v1/pods", account("default"), "workload-low", "uid-workload-low"],
    ["/api/v1/pods", user("system:kube-scheduler"), "workload-high", "uid-workload-high"],
    ["/openapi/v3", user("jane"), "global-default", "uid-global-default"],
    ["/api/v1/pods", { username: "jane", groups: [] }, anonymousLevel, ""],
  ] as const)("%s of %o is of its level", (path, who, level, uid) => {
    const found = classify(info(path), who, "10.0.0.1");
    // The mandatory objects of this table are not stored, and have no UID.
    expect([found.level, found.levelUid]).toEqual([level, uid === "uid-exempt" ? "" : uid]);
  });
});

describe("a schema", () => {
  const levels = { mine: { type: "Limited", limited: { nominalConcurrencyShares: 5 } } };

  test("applies by precedence, and by name where that is the same", () => {
    const control = controlOf(
      { b: schemaFor("mine", 50), a: schemaFor("system", 50), c: schemaFor("node-high", 60) },
      levels,
    );
    const found = control.classify(info("/api/v1/pods"), user("jane"), "");
    expect([found.schemaUid, found.level]).toEqual(["uid-a", "system"]);
  });

  test("whose level does not exist is not in force", () => {
    const control = controlOf({ a: schemaFor("missing", 50) });
    expect(control.classify(info("/api/v1/pods"), user("jane"), "").level).toBe("global-default");
  });

  test.each([
    [
      "/api/v1/namespaces/x/pods/p/log",
      { resourceRules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods/log"], namespaces: ["x"] }] },
      true,
    ],
    [
      "/api/v1/namespaces/y/pods/p/log",
      { resourceRules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods/log"], namespaces: ["x"] }] },
      false,
    ],
    [
      "/api/v1/namespaces/x/pods/p",
      { resourceRules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods/log"], namespaces: ["*"] }] },
      false,
    ],
    [
      "/api/v1/nodes/n",
      { resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"] }] },
      false,
    ],
    ["/openapi/v3", { nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/openapi"] }] }, true],
    ["/openapi/v3", { nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/openapi/*"] }] }, true],
    ["/openapis", { nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/openapi"] }] }, false],
  ])("of %s by %j matches: %s", (path, rules, isMatched) => {
    const rule = { resourceRules: [], nonResourceRules: [], ...rules };
    const control = controlOf({ a: schemaFor("mine", 50, rule) }, levels);
    expect(control.classify(info(path), user("jane"), "").level).toBe(isMatched ? "mine" : "global-default");
  });

  test.each([
    ["ByUser", "a/jane"],
    ["ByNamespace", "a/x"],
    [undefined, "a/"],
  ])("tells flows apart %s", (type, flow) => {
    const spec = { ...schemaFor("mine", 50), ...(type === undefined ? {} : { distinguisherMethod: { type } }) };
    const control = controlOf({ a: spec }, levels);
    expect(control.classify(info("/api/v1/namespaces/x/pods"), user("jane"), "").flow).toBe(flow);
  });
});

describe("whatever the objects say", () => {
  const all = { rules: [{ subjects: [{ kind: "Group", group: { name: "*" } }], ...everything }] };
  const exempting = controlOf({ all: { ...schemaFor("exempt", 2), ...all } });
  const grabbing = controlOf({ all: { ...schemaFor("catch-all", 2), ...all } });

  test("system:masters and health never wait", () => {
    expect(grabbing.classify(info("/api/v1/pods"), user("a", "system:masters"), "").level).toBeUndefined();
    expect(grabbing.classify(info("/readyz"), anonymous, "").level).toBeUndefined();
  });

  test("no other request is without a bound, and anonymous ones have theirs", () => {
    expect(exempting.classify(info("/api/v1/pods"), user("jane"), "").level).toBe(exemptedLevel);
    expect(exempting.classify(info("/api/v1/pods"), anonymous, "10.0.0.1")).toMatchObject({
      level: anonymousLevel,
      flow: "10.0.0.1",
      senderClass: "anonymous",
    });
    expect(grabbing.classify(info("/api/v1/pods"), node, "").senderClass).toBe("node");
  });

  test("every request has a level where no object is stored", () => {
    const { classify, levels } = flowControl({ schemas: [], levels: [] });
    expect(classify(info("/api/v1/pods"), user("jane"), "").level).toBe("catch-all");
    expect(levels.map(({ name }) => name)).toEqual(["catch-all"]);
  });
});

test("users are told apart by name, and those without one by address", () => {
  expect(flowOf(user("jane"), "10.0.0.1")).toBe("jane");
  expect(flowOf(anonymous, "10.0.0.1")).toBe("10.0.0.1");
});
