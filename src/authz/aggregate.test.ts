import { describe, expect, it } from "vitest";
import { SelectorError } from "../core/selector-error.ts";
import type { ClusterRole } from "../resources/cluster-role.ts";
import { aggregatedRules, aggregationUpdate } from "./aggregate.ts";
import { clusterRole, rule } from "./bootstrap-policy/policy-object.ts";

const yes = { to: "yes" };
const gathering = (...clusterRoleSelectors: { matchLabels?: Record<string, string> }[]): ClusterRole => ({
  ...clusterRole("sum", [], yes),
  aggregationRule: { clusterRoleSelectors },
});
const pods = rule("get", "core", "pods");
const nodes = rule("get", "core", "nodes");

describe("aggregatedRules", () => {
  it("gathers each rule once, by name of the role, leaving itself and unmatched roles out", () => {
    const all = [
      clusterRole("b", [nodes, pods], yes),
      clusterRole("a", [pods], yes),
      clusterRole("c", [rule("*", "*", "*")], { to: "no" }),
      { ...gathering({}), rules: [rule("delete", "core", "pods")] },
    ];
    expect(aggregatedRules(gathering({ matchLabels: yes }), all)).toEqual([pods, nodes]);
  });

  it("takes roles that any selector matches, selector by selector", () => {
    const all = [clusterRole("a", [pods], { x: "1" }), clusterRole("b", [nodes], { y: "1" })];
    const role = gathering({ matchLabels: { y: "1" } }, { matchLabels: { x: "1" } });
    expect(aggregatedRules(role, all)).toEqual([nodes, pods]);
  });

  it("gathers nothing without selectors", () => {
    expect(aggregatedRules(gathering(), [clusterRole("a", [pods])])).toEqual([]);
  });

  it("is undefined for a role that does not aggregate, whose rules are its own", () => {
    expect(aggregatedRules(clusterRole("a", [pods]), [])).toBeUndefined();
  });

  it("throws for a selector that cannot be understood", () => {
    const odd = { matchExpressions: [{ key: "a", operator: "Near" }] };
    const role: ClusterRole = { ...clusterRole("sum", []), aggregationRule: { clusterRoleSelectors: [odd] } };
    expect(() => aggregatedRules(role, [clusterRole("a", [pods])])).toThrow(SelectorError);
  });
});

describe("aggregationUpdate", () => {
  const all = [clusterRole("a", [pods], yes)];

  it("brings the rules up to date and keeps the rest", () => {
    const role = gathering({ matchLabels: yes });
    expect(aggregationUpdate(role, all)).toEqual({ ...role, rules: [pods] });
  });

  it("is undefined when the rules are right already, however they are written", () => {
    const role = { ...gathering({ matchLabels: yes }), rules: [{ ...pods, resourceNames: [] }] };
    expect(aggregationUpdate(role, all)).toBeUndefined();
    expect(aggregationUpdate(clusterRole("x", [nodes]), all)).toBeUndefined();
  });
});
