import { readFile } from "node:fs/promises";
import { resolve } from "node:path";

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { requestInfo, type RequestInfo } from "../apiserver/request-info.ts";
import { parseAuditPolicy } from "./audit-policy-file.ts";
import { HubError } from "../apimachinery/hub-error.ts";

const head = "apiVersion: audit.k8s.io/v1\nkind: Policy\n";
const info = (path: string, method = "GET"): RequestInfo =>
  requestInfo(method, path, new URLSearchParams()) as RequestInfo;

function problemOf(text: string): string {
  try {
    parseAuditPolicy(text, "p.yaml");
  } catch (error) {
    if (error instanceof HubError) return error.message;
    throw error;
  }
  return "";
}

describe("an audit policy file", () => {
  test("is read with the conditions of its rules, and omitted stages of both levels", () => {
    const policy = parseAuditPolicy(
      `${head}metadata: {name: x}
omitStages: [RequestReceived]
omitManagedFields: true
rules:
  - level: None
    nonResourceURLs: ["/healthz*"]
  - level: RequestResponse
    omitStages: [ResponseStarted]
    omitManagedFields: false
    resources: [{group: "", resources: [pods], resourceNames: [web]}]
  - level: Metadata
`,
      "p.yaml",
    );
    expect(policy(info("/healthz"), undefined).level).toBe("None");
    expect(policy(info("/api/v1/namespaces/default/pods/web"), undefined)).toEqual({
      level: "RequestResponse",
      omitStages: new Set(["RequestReceived", "ResponseStarted"]),
      omitManagedFields: false,
    });
    expect(policy(info("/version"), undefined)).toMatchObject({ level: "Metadata", omitManagedFields: true });
  });

  test("like the one in the documents keeps Secrets and tokens out", async () => {
    const page = await readFile(resolve(import.meta.dirname, "../../docs/audit.md"), "utf8");
    const policy = parseAuditPolicy(/```yaml\n([^]*?)```/.exec(page)?.[1] ?? "", "p.yaml");
    const level = (path: string, groups: readonly string[] = [], method = "GET"): string =>
      policy(info(path, method), { username: "x", groups }).level;
    const secret = "/api/v1/namespaces/default/secrets/s";
    const account = "/api/v1/namespaces/default/serviceaccounts/s";
    for (const method of ["GET", "PUT", "PATCH", "DELETE"]) expect(level(secret, [], method)).toBe("Metadata");
    expect(level(`${account}/token`, [], "POST")).toBe("Metadata");
    expect(level("/apis/authentication.k8s.io/v1/tokenreviews", [], "POST")).toBe("Metadata");
    const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/a";
    expect([level(lease, ["system:nodes"]), level(lease)]).toEqual(["None", "Metadata"]);
    expect(level("/apis/rbac.authorization.k8s.io/v1/clusterroles", [], "POST")).toBe("RequestResponse");
    expect([level("/readyz"), level("/version/"), level("/version")]).toEqual(["None", "Metadata", "None"]);
  });

  test.each([
    ["", "not exactly one YAML document"],
    ["[]", "json: cannot unmarshal array"],
    ["kind: Policy\nrules: [{level: None}]", "must be of apiVersion audit.k8s.io/v1 and kind Policy"],
    ["apiVersion: audit.k8s.io/v1beta1\nkind: Policy\nrules: [{level: None}]", '"audit.k8s.io/v1beta1"'],
    [head, "rules: must hold at least one rule"],
    [`${head}rules: []`, "rules: must hold at least one rule"],
    [`${head}rules: [{}]`, "rules[0].level: Required value"],
    [`${head}rules: [{level: None}, {level: metadata}]`, 'rules[1].level: Unsupported value: "metadata"'],
    [`${head}rule: []`, 'unknown field "rule"'],
    [`${head}rules: [{level: None, user: [a]}]`, 'unknown field "rules[0].user"'],
    [`${head}rules: [{level: None, users: jane}]`, "rules[0].users: "],
    [`${head}rules: [{level: None, users: [1]}]`, "rules[0].users[0]: "],
    [`${head}rules: [{level: None, omitManagedFields: "yes"}]`, "rules[0].omitManagedFields: "],
    [`${head}omitStages: [Received]\nrules: [{level: None}]`, 'omitStages[0]: Unsupported value: "Received"'],
    [`${head}rules: [{level: None, omitStages: [x]}]`, 'rules[0].omitStages[0]: Unsupported value: "x"'],
    [`${head}rules: [{level: None, nonResourceURLs: [version]}]`, "must begin with a '/' character"],
    [`${head}rules: [{level: None, nonResourceURLs: ["/a*b"]}]`, "must be the final character"],
    [`${head}rules: [{level: None, nonResourceURLs: ["/a"], namespaces: [""]}]`, "rules[0].nonResourceURLs: "],
    [`${head}rules: [{level: None, resources: [{group: apps/v1}]}]`, "rules[0].resources[0].group: "],
    [`${head}rules: [{level: None, resources: [{resourceNames: [a]}]}]`, "rules[0].resources[0].resourceNames: "],
    [`${head}rules: [{level: None}]\n__proto__: {}`, "__proto__"],
    [`${head}rules: &a [{level: None}]\nmetadata: *a`, "aliases"],
  ])("%j is refused with its place", (text, problem) => {
    expect(problemOf(text)).toContain("--audit-policy-file p.yaml: ");
    expect(problemOf(text)).toContain(problem);
  });

  test("of any content is read or refused, in one sentence", () => {
    const value = fc.oneof(
      fc.constantFrom("None", "Metadata", "*", "", "/x*"),
      fc.boolean(),
      fc.integer(),
      fc.constant(null),
      fc.array(fc.string(), { maxLength: 2 }),
    );
    const rule = fc.dictionary(
      fc.constantFrom("level", "users", "verbs", "resources", "namespaces", "nonResourceURLs", "omitStages", "x"),
      value,
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(rule, value), { maxLength: 3 }), (rules) => {
        const problem = problemOf(JSON.stringify({ apiVersion: "audit.k8s.io/v1", kind: "Policy", rules }));
        expect(problem === "" || problem.startsWith("--audit-policy-file p.yaml: ")).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});
