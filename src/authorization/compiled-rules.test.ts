import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PolicyRule } from "../apis/rbac.ts";
import type { Attributes } from "./authorizer.ts";
import { compileRules, firstMatch, ruleQuery, pathCovers, ruleMatches } from "./compiled-rules.ts";

const base: Attributes = {
  user: { username: "ann", groups: [] },
  verb: "get",
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "",
  namespace: "prod",
  name: "",
  path: undefined,
};
const getPods: PolicyRule = { verbs: ["get"], apiGroups: [""], resources: ["pods"] };

/** Both matchers, which must agree. */
function matches(rule: PolicyRule, request: Partial<Attributes>): boolean {
  const attributes = { ...base, ...request };
  const compiled = firstMatch(compileRules([rule]), ruleQuery(attributes)) !== undefined;
  expect(compiled).toBe(ruleMatches(rule, attributes));
  return compiled;
}

describe("resources", () => {
  it('resources: ["pods"] does not match pods/exec', () => {
    expect(matches(getPods, {})).toBe(true);
    expect(matches(getPods, { subresource: "exec" })).toBe(false);
    expect(matches({ ...getPods, resources: ["pods/exec"] }, {})).toBe(false);
    expect(matches({ ...getPods, resources: ["pods/exec"] }, { subresource: "exec" })).toBe(true);
  });

  it("pods/* is not a wildcard", () => {
    const rule = { ...getPods, resources: ["pods/*"] };
    expect(matches(rule, { subresource: "exec" })).toBe(false);
    expect(matches(rule, {})).toBe(false);
  });

  it("* covers every resource and its subresources", () => {
    const rule = { ...getPods, resources: ["*"] };
    expect(matches(rule, { resource: "anything" })).toBe(true);
    expect(matches(rule, { resource: "pods", subresource: "exec" })).toBe(true);
  });

  it("*/scale covers that subresource of every resource, and nothing else", () => {
    const rule = { ...getPods, resources: ["*/scale"] };
    expect(matches(rule, { resource: "deployments", subresource: "scale" })).toBe(true);
    expect(matches(rule, { resource: "deployments", subresource: "status" })).toBe(false);
    expect(matches(rule, { resource: "deployments" })).toBe(false);
    expect(matches(rule, { resource: "scale" })).toBe(false);
  });

  it("a question about all resources needs a rule for all resources", () => {
    expect(matches(getPods, { resource: "*" })).toBe(false);
    expect(matches({ ...getPods, resources: ["*"] }, { resource: "*" })).toBe(true);
    expect(matches(getPods, { verb: "*" })).toBe(false);
    expect(matches(getPods, { group: "*" })).toBe(false);
  });

  it("compares verbs, groups and resources exactly and with regard to case", () => {
    for (const request of [
      { verb: "GET" },
      { verb: "ge" },
      { resource: "Pods" },
      { resource: "pod" },
      { group: "v1" },
    ]) {
      expect(matches(getPods, request)).toBe(false);
    }
    expect(matches({ ...getPods, apiGroups: ["*"], verbs: ["*"] }, { group: "apps", verb: "approve" })).toBe(true);
  });
});

describe("resourceNames", () => {
  const named = { ...getPods, verbs: ["*"], resourceNames: ["a", "b"] };

  it("resourceNames never match a list, a create or a deletecollection without a name", () => {
    for (const verb of ["list", "watch", "create", "deletecollection"]) expect(matches(named, { verb })).toBe(false);
    expect(matches({ ...named, resourceNames: [""] }, { verb: "list" })).toBe(false);
  });

  it("match a list that a field selector limits to one named object", () => {
    expect(matches(named, { verb: "list", name: "b" })).toBe(true);
    expect(matches(named, { verb: "list", name: "c" })).toBe(false);
  });

  it("hold no wildcard", () => {
    expect(matches({ ...named, resourceNames: ["*"] }, { name: "a" })).toBe(false);
  });
});

describe("paths", () => {
  const rule = (...nonResourceURLs: string[]): PolicyRule => ({ verbs: ["get"], nonResourceURLs });

  it.each([
    ["/healthz", "/healthz", true],
    ["/healthz", "/healthz/", false],
    ["/healthz", "/healthz/ping", false],
    ["/healthz/*", "/healthz/ping", true],
    ["/healthz/*", "/healthz", false],
    ["/healthz*", "/healthzzz", true],
    ["*", "/anything", true],
    ["/a*/b", "/ax/b", false],
    ["/a**", "/ab", true],
    ["/Healthz", "/healthz", false],
    ["", "/x", false],
  ])("%j against %j is %j", (pattern, path, expected) => {
    expect(matches(rule(pattern), { path })).toBe(expected);
    expect(pathCovers(pattern, path)).toBe(expected);
  });

  it("are not granted by a rule for all resources, nor resources by a rule for all paths", () => {
    const everything = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] };
    expect(matches(everything, { path: "/metrics" })).toBe(false);
    expect(matches({ verbs: ["*"], nonResourceURLs: ["*"] }, {})).toBe(false);
  });

  it("count the verb", () => {
    expect(matches(rule("*"), { path: "/x", verb: "post" })).toBe(false);
  });
});

describe("compiled rules", () => {
  const word = (...words: string[]): fc.Arbitrary<string> => fc.constantFrom(...words);
  const list = (item: fc.Arbitrary<string>): fc.Arbitrary<string[]> => fc.array(item, { maxLength: 3 });
  const anyRule: fc.Arbitrary<PolicyRule> = fc.record({
    verbs: list(word("get", "list", "*")),
    apiGroups: list(word("", "apps", "*")),
    resources: list(word("pods", "pods/exec", "pods/*", "*/exec", "*", "nodes")),
    resourceNames: list(word("a", "b", "")),
    nonResourceURLs: list(word("/a", "/a/*", "*")),
  });
  const anyRequest: fc.Arbitrary<Attributes> = fc
    .record({
      verb: word("get", "list", "*"),
      group: word("", "apps"),
      resource: word("pods", "nodes", "*"),
      subresource: word("", "exec", "log"),
      name: word("", "a", "b"),
      path: fc.option(word("/a", "/a/b", "/"), { nil: undefined }),
    })
    .map((request) => ({ ...base, ...request }));

  it("finds the first matching rule, as a scan over the rules does", () => {
    const run = (rules: PolicyRule[], request: Attributes): void => {
      const scanned = rules.findIndex((rule) => ruleMatches(rule, request));
      expect(firstMatch(compileRules(rules), ruleQuery(request))?.index ?? -1).toBe(scanned);
    };
    fc.assert(fc.property(fc.array(anyRule, { maxLength: 6 }), anyRequest, run), { numRuns: 200 });
  });

  it("finds a name among few and among many", () => {
    const rules = [3, 300].map((count): PolicyRule => ({
      verbs: ["*"],
      apiGroups: ["*"],
      resources: ["*"],
      resourceNames: Array.from({ length: count }, (_, at) => `of-${count}-${at}`),
    }));
    const found = (name: string): number | undefined =>
      firstMatch(compileRules(rules), ruleQuery({ ...base, name }))?.index;
    expect(["of-3-2", "of-300-299", "of-300-300", ""].map(found)).toEqual([0, 1, undefined, undefined]);
  });

  it("keeps one list where rules that follow each other have the same", () => {
    const rule = (name: string): PolicyRule =>
      JSON.parse(`{"verbs":["get"],"apiGroups":["apps"],"resources":["a","b"],"resourceNames":["${name}"]}`);
    const [one, other] = compileRules([rule("x"), rule("y")]).rules;
    expect(one).toEqual(rule("x"));
    expect(other).toEqual(rule("y"));
    expect(other?.verbs).toBe(one?.verbs);
    expect(other?.apiGroups).toBe(one?.apiGroups);
    expect(other?.resources).toBe(one?.resources);
  });

  it("tolerates rules whose lists are null or absent, and grants nothing by them", () => {
    const broken: PolicyRule[] = JSON.parse('[{"verbs":null,"apiGroups":null},{"verbs":["*"],"resources":null},{}]');
    expect(firstMatch(compileRules(broken), ruleQuery(base))).toBeUndefined();
    expect(firstMatch(compileRules(broken), ruleQuery({ ...base, path: "/" }))).toBeUndefined();
    expect(compileRules(null).rules).toEqual([]);
  });
});
