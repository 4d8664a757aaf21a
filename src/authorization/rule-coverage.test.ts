import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PolicyRule } from "../apis/rbac.ts";
import type { Attributes } from "./authorizer.ts";
import { pathRule, rule } from "./bootstrap-policy/policy-object.ts";
import { compactRules, fullAuthority, ruleText, uncoveredRules } from "./rule-coverage.ts";
import { ruleMatches } from "./compiled-rules.ts";

const covered = (held: readonly PolicyRule[], ...requested: readonly PolicyRule[]): boolean =>
  uncoveredRules(held, requested).length === 0;

describe("uncoveredRules", () => {
  it("takes the union of what is held", () => {
    const held = [rule("get", "core", "pods"), rule("list", "core", "pods"), rule("get", "core", "nodes")];
    expect(covered(held, rule("get list", "core", "pods"))).toBe(true);
    expect(uncoveredRules(held, [rule("get list", "core", "pods nodes")])).toEqual([rule("list", "core", "nodes")]);
  });

  it.each([
    ["every verb by named ones", rule("get list", "core", "pods"), rule("*", "core", "pods")],
    ["every group by named ones", rule("get", "core apps", "pods"), rule("get", "*", "pods")],
    ["every resource by */sub", rule("get", "core", "*/status"), rule("get", "core", "*")],
    ["a subresource by its resource", rule("get", "core", "pods"), rule("get", "core", "pods/exec")],
    ["a resource by its subresource", rule("get", "core", "pods/exec"), rule("get", "core", "pods")],
    ["every name by one name", rule("get", "core", "pods", ["x"]), rule("get", "core", "pods")],
    ["a name by another", rule("get", "core", "pods", ["x"]), rule("get", "core", "pods", ["y"])],
    ["paths by resources", rule("*", "*", "*"), pathRule("get", "/x")],
    ["resources by paths", pathRule("*", "*"), rule("get", "core", "pods")],
    ["a path prefix by one path", pathRule("get", "/a"), pathRule("get", "/a*")],
    ["every path by a prefix", pathRule("get", "/a/*"), pathRule("get", "*")],
  ])("does not cover %s", (_, held, requested) => {
    expect(covered([held], requested)).toBe(false);
  });

  it.each([
    ["a subresource by *", rule("get", "core", "*"), rule("get", "core", "pods/exec")],
    ["a subresource by */sub", rule("get", "core", "*/exec"), rule("get", "core", "pods/exec")],
    ["a name by every name", rule("get", "core", "pods"), rule("get", "core", "pods", ["x"])],
    ["a narrower prefix by a wider one", pathRule("*", "/a/*"), pathRule("get", "/a/b/*")],
  ])("covers %s", (_, held, requested) => {
    expect(covered([held], requested)).toBe(true);
  });

  it("needs nothing for a rule that grants nothing", () => {
    expect(covered([], { verbs: ["get"], apiGroups: [], resources: ["pods"] })).toBe(true);
  });

  it("covers only rules under which no request is allowed that was not allowed before", () => {
    const oneOf = (...words: string[]): fc.Arbitrary<string> => fc.constantFrom(...words);
    const resources = oneOf("pods", "pods/log", "*/log", "*", "nodes");
    const anyRule = fc
      .tuple(oneOf("get", "list", "*"), oneOf("core", "apps", "*"), resources, oneOf("", "x", "y"))
      .map(([verb, group, resource, name]) => rule(verb, group, resource, name === "" ? [] : [name]));
    const anyRequest = fc
      .record({
        verb: oneOf("get", "list"),
        group: oneOf("", "apps"),
        resource: oneOf("pods", "nodes"),
        subresource: oneOf("", "log"),
        name: oneOf("", "x", "y"),
      })
      .map((what): Attributes => {
        return { ...what, user: { username: "u", groups: [] }, version: "v1", namespace: "", path: undefined };
      });
    const run = (held: PolicyRule[], requested: PolicyRule, attributes: Attributes): void => {
      const before = held.some((one) => ruleMatches(one, attributes));
      expect(covered(held, requested) && ruleMatches(requested, attributes) && !before).toBe(false);
    };
    fc.assert(fc.property(fc.array(anyRule, { maxLength: 4 }), anyRule, anyRequest, run), { numRuns: 200 });
  });

  it("gives back a request of too many combinations whole, unless everything is held", () => {
    const many = Array.from({ length: 200 }, (_, index) => `w${index}`);
    const bomb: PolicyRule = { verbs: many, apiGroups: many, resources: many };
    expect(uncoveredRules([rule("*", "*", "*")], [bomb])).toEqual([bomb]);
    expect(uncoveredRules(fullAuthority, [bomb])).toEqual([]);
  });
});

describe("compactRules", () => {
  it("joins verbs of one resource and name, and leaves paths apart", () => {
    const rules = [
      rule("get", "core", "pods"),
      rule("get", "core", "pods", ["x"]),
      rule("list", "core", "pods"),
      rule("get", "core", "pods"),
      pathRule("get", "/a"),
      pathRule("post", "/a"),
    ];
    expect(compactRules(rules)).toEqual([
      rule("get list", "core", "pods"),
      rule("get", "core", "pods", ["x"]),
      pathRule("get", "/a"),
      pathRule("post", "/a"),
    ]);
  });
});

describe("ruleText", () => {
  it("shows the parts of a rule as Kubernetes does", () => {
    expect(ruleText(rule("get list", "core apps", "pods", ["x"]))).toBe(
      '{APIGroups:["" "apps"], Resources:["pods"], ResourceNames:["x"], Verbs:["get" "list"]}',
    );
    expect(ruleText(pathRule("get", "/a"))).toBe('{NonResourceURLs:["/a"], Verbs:["get"]}');
  });
});

describe("many rules held and many asked for", () => {
  const on = (count: number, verbs: readonly string[]): readonly PolicyRule[] =>
    Array.from({ length: count }, (_, index) => ({ verbs, apiGroups: [`g${index}`], resources: ["r"] }));

  it("are compared one by one as long as that is cheap", () => {
    expect(uncoveredRules(on(500, ["get"]), on(500, ["get"]))).toEqual([]);
    expect(uncoveredRules(on(500, ["get"]), on(500, ["list"]))).toHaveLength(500);
  });

  it("come back unbroken once it is not, unless everything is held", () => {
    const asked = on(3000, ["get"]);
    expect(uncoveredRules(on(3000, ["get"]), asked)).toBe(asked);
    expect(uncoveredRules([...on(3000, ["get"]), ...fullAuthority], asked)).toEqual([]);
    const urls = Array.from({ length: 10_000 }, (_, index) => `/a${index}/*`);
    const paths = [{ verbs: ["get"], nonResourceURLs: urls }];
    expect(uncoveredRules(paths, paths)).toBe(paths);
  });
});
