import { expect, test } from "vitest";
import type { UserInfo } from "../core/user.ts";
import { flowOf, priorityLevel } from "./priority-level.ts";
import { requestInfo, type RequestInfo } from "./request-info.ts";

const user = (username: string, ...groups: string[]): UserInfo => ({
  username,
  groups: [...groups, "system:authenticated"],
});
const anonymous: UserInfo = { username: "system:anonymous", groups: ["system:unauthenticated"] };
const node = user("system:node:a", "system:nodes");
const info = (path: string, method = "GET"): RequestInfo =>
  requestInfo(method, path, { watch: false, nameSelector: undefined }) as RequestInfo;

test.each([
  ["/api/v1/pods", user("admin", "system:masters"), "exempt"],
  ["/readyz", anonymous, "exempt"],
  ["/livez/ping", anonymous, "exempt"],
  ["/readyzz", anonymous, "anonymous"],
  ["/api/v1/namespaces/healthz/pods", user("jane"), "workload"],
  ["/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/a", node, "node-high"],
  ["/api/v1/nodes/a/status", node, "node-high"],
  ["/apis/example.com/v1/nodes", node, "system"],
  ["/api/v1/pods", node, "system"],
  ["/api/v1/pods", user("system:serviceaccount:kube-system:x", "system:serviceaccounts:kube-system"), "system"],
  ["/api/v1/pods", user("system:kube-controller-manager"), "system"],
  ["/api/v1/nodes/a/status", user("jane"), "workload"],
  ["/openapi/v3", user("jane"), "discovery"],
  ["/version", anonymous, "anonymous"],
  ["/api/v1/namespaces/kube-public/configmaps/cluster-info", anonymous, "anonymous"],
  ["/api/v1/pods", { username: "jane", groups: [] }, "anonymous"],
] as const)("%s of %o is of its level", (path, who, level) => {
  expect(priorityLevel(info(path), who)).toBe(level);
});

test("users are told apart by name, and those without one by address", () => {
  expect(flowOf(user("jane"), "10.0.0.1")).toBe("jane");
  expect(flowOf(anonymous, "10.0.0.1")).toBe("10.0.0.1");
});
