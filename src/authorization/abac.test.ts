import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { abac, AbacError, abacRules, parseAbacPolicies } from "./abac.ts";
import type { Attributes } from "./authorizer.ts";

const v1beta1 = { apiVersion: "abac.authorization.kubernetes.io/v1beta1", kind: "Policy" };
const current = (spec: object): string => JSON.stringify({ ...v1beta1, spec });

function attributes(change: Partial<Attributes> = {}): Attributes {
  return {
    user: { username: "ann", groups: ["devs", "system:authenticated"] },
    verb: "create",
    group: "",
    version: "v1",
    resource: "pods",
    subresource: "",
    namespace: "default",
    name: "",
    path: undefined,
    ...change,
  };
}

async function allows(line: string, change: Partial<Attributes> = {}): Promise<boolean> {
  return (await abac(parseAbacPolicies(line)).authorize(attributes(change))).verdict === "allow";
}

const nobody = { user: { username: "x", groups: ["system:unauthenticated"] } };
const everything = { namespace: "*", resource: "*", apiGroup: "*" };

describe("a policy of today", () => {
  it.each<[string, object, Partial<Attributes>, boolean]>([
    ["the user", { user: "ann", ...everything }, {}, true],
    ["everybody", { user: "*", ...everything }, {}, true],
    ["another user", { user: "bob", ...everything }, {}, false],
    ["a prefix of the user", { user: "an", ...everything }, {}, false],
    ["a group", { group: "devs", ...everything }, {}, true],
    ["every group", { group: "*", ...everything }, {}, true],
    ["everybody, of whoever has no credential", { user: "*", ...everything }, nobody, false],
    ["every group, of whoever has no credential", { group: "*", ...everything }, nobody, false],
    ["a user of every group", { user: "bob", group: "*", ...everything }, {}, true],
    ["another group", { group: "ops", ...everything }, {}, false],
    ["user and group of which one is another", { user: "ann", group: "ops", ...everything }, {}, false],
    ["everybody, also with another group", { user: "*", group: "ops", ...everything }, {}, true],
    ["another namespace", { user: "ann", ...everything, namespace: "prod" }, {}, false],
    ["no namespace", { user: "ann", ...everything, namespace: "" }, {}, false],
    ["no namespace, of something in none", { user: "ann", ...everything, namespace: "" }, { namespace: "" }, true],
    ["another resource", { user: "ann", ...everything, resource: "nodes" }, {}, false],
    ["a subresource, by its resource", { user: "ann", ...everything, resource: "pods" }, { subresource: "log" }, true],
    ["the core group, by no group", { user: "ann", ...everything, apiGroup: "" }, {}, true],
    ["another group of the API", { user: "ann", ...everything, apiGroup: "" }, { group: "apps" }, false],
    ["writing, where only reading is allowed", { user: "ann", ...everything, readonly: true }, {}, false],
    ["watching, where reading is allowed", { user: "ann", ...everything, readonly: true }, { verb: "watch" }, true],
    ["deleting many, as reading", { user: "ann", ...everything, readonly: true }, { verb: "deletecollection" }, false],
    ["a path, by resources", { user: "ann", ...everything }, { path: "/version" }, false],
    ["a resource, by paths", { user: "ann", nonResourcePath: "*" }, {}, false],
    ["a path", { user: "ann", nonResourcePath: "/version" }, { path: "/version" }, true],
    ["a path below", { user: "ann", nonResourcePath: "/version" }, { path: "/version/" }, false],
    ["paths that begin so", { user: "ann", nonResourcePath: "/apis*" }, { path: "/apis/a" }, true],
    ["every path", { user: "ann", nonResourcePath: "*" }, { path: "/x" }, true],
  ])("decides about %s", async (_what, spec, change, expected) => {
    expect(await allows(current(spec), change)).toBe(expected);
  });

  it("does not deny, so that others may allow", async () => {
    expect(await abac([]).authorize(attributes())).toEqual({ verdict: "noOpinion", reason: "No policy matched." });
  });
});

describe("a policy of the old form", () => {
  it.each<[string, object, Partial<Attributes>, boolean]>([
    ["everything, by nothing", {}, { group: "apps" }, true],
    ["every path, by nothing", {}, { path: "/x" }, true],
    ["nothing to whoever has no credential", {}, nobody, false],
    ["nothing to whoever has no credential, by everybody", { user: "*" }, nobody, false],
    ["a user", { user: "ann", namespace: "default" }, {}, true],
    ["no path, where a namespace is named", { user: "ann", namespace: "default" }, { path: "/x" }, false],
    ["no other resource", { resource: "nodes" }, {}, false],
    ["reading", { readonly: true }, {}, false],
  ])("gives %s", async (_what, line, change, expected) => {
    expect(await allows(JSON.stringify(line), change)).toBe(expected);
  });
});

describe("a policy file", () => {
  it("skips blank lines and comments, and takes both forms together", () => {
    const text = `\n# who\n  \r\n${current({ user: "a" })}\r\n   # more\n{"user":"b"}\n`;
    expect(parseAbacPolicies(text).map(({ user }) => user)).toEqual(["a", "b"]);
  });

  it.each([
    ["{", "line 1: is not JSON"],
    ["[]", "line 1: is not a JSON object"],
    ['\n{"user":1}', "line 2: user: must be a string"],
    ['{"usr":"a"}', "line 1: usr: is not a field of a policy"],
    ['{"readonly":"yes"}', "line 1: readonly: must be true or false"],
    ['{"__proto__":{"user":"a"}}', "line 1: __proto__: is not a field of a policy"],
    ['{"spec":{"user":"a"}}', 'line 1: apiVersion: must be "abac.authorization.kubernetes.io/v1beta1"'],
    [JSON.stringify({ ...v1beta1, kind: "Policies", spec: {} }), 'line 1: kind: must be "Policy"'],
    [current({}), "line 1: spec.user: user or group must be set"],
    [current({ user: "a", verbs: "get" }), "line 1: spec.verbs: is not a field of a policy"],
    [JSON.stringify({ ...v1beta1, spec: [] }), "line 1: spec: must be an object"],
  ])("with %s is refused, by line and field", (text, message) => {
    expect(() => parseAbacPolicies(text)).toThrow(new AbacError("line", message));
  });

  it("is read or refused with an error of its own, whatever it holds", () => {
    const policy = fc.record({ user: fc.jsonValue(), spec: fc.jsonValue() }, { requiredKeys: [] });
    const line = fc.oneof(
      fc.json(),
      fc.string(),
      policy.map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 4 }), (lines) => {
        const outcome = (): unknown => {
          try {
            return parseAbacPolicies(lines.join("\n")).find(({ user }) => typeof user !== "string");
          } catch (error) {
            if (error instanceof AbacError) return undefined;
            throw error;
          }
        };
        expect(outcome()).toBeUndefined();
      }),
      { numRuns: 200 },
    );
  });
});

describe("the rules of policies", () => {
  it("are those of the user in the namespace", () => {
    const text = [
      current({ user: "ann", namespace: "*", resource: "pods", readonly: true }),
      current({ user: "bob", namespace: "*", resource: "secrets" }),
      current({ user: "ann", namespace: "prod", resource: "nodes" }),
      current({ group: "devs", namespace: "*", nonResourcePath: "/x" }),
    ].join("\n");
    expect(abacRules(parseAbacPolicies(text))(attributes().user, "default")).toEqual({
      resourceRules: [{ verbs: ["get", "list", "watch"], apiGroups: [""], resources: ["pods"] }],
      nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["/x"] }],
      incomplete: false,
    });
  });
});
