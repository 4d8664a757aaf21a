import { describe, expect, test } from "vitest";
import type { ApiObject } from "../../core/object.ts";
import { SelectorError } from "../../core/selector-error.ts";
import { controllerBench } from "../../../test/kits/controller-bench.ts";
import { settled } from "../../../test/kits/fake-clock.ts";
import { clusterRoleAggregation } from "./cluster-role-aggregation.ts";
import { neededRules } from "./cluster-role-aggregation-policy.ts";
import { clusterRoles } from "../kinds.ts";

const getPods = { apiGroups: [""], resources: ["pods"], verbs: ["get"] };
const getNodes = { apiGroups: [""], resources: ["nodes"], verbs: ["get"] };

function role(name: string, labels: Record<string, string>, rules: readonly unknown[]): ApiObject {
  return { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name, labels }, rules };
}
function aggregated(name: string, selectors: readonly unknown[], rules: readonly unknown[] = []): ApiObject {
  return { ...role(name, {}, rules), aggregationRule: { clusterRoleSelectors: selectors } };
}
const view = { matchLabels: { view: "true" } };

describe("neededRules", () => {
  test("takes the rules of all that any selector matches, selector by selector and then by name, each once", () => {
    const all = [
      role("z", { view: "true" }, [{ verbs: ["get"], resources: ["pods"], apiGroups: [""] }]),
      role("a", { view: "true" }, [getPods]),
      role("m", { edit: "true" }, [getNodes]),
      role("n", { other: "true" }, [{ verbs: ["*"] }]),
    ];
    const exists = { matchExpressions: [{ key: "edit", operator: "Exists" }] };
    expect(neededRules(aggregated("agg", [view, exists]), all)).toEqual([getPods, getNodes]);
    expect(neededRules(aggregated("agg", [exists, view]), all)).toEqual([getNodes, getPods]);
  });

  test("leaves itself out, however it is labelled", () => {
    const self = { ...aggregated("agg", [view], [getPods]), metadata: { name: "agg", labels: { view: "true" } } };
    expect(neededRules(self, [self])).toEqual([]);
  });

  test("is nothing when the rules are right, however they are written", () => {
    const source = role("a", { view: "true" }, [getPods]);
    const present = [{ verbs: ["get"], resourceNames: [], resources: ["pods"], apiGroups: [""] }];
    expect(neededRules(aggregated("agg", [view], present), [source])).toBeUndefined();
  });

  test("throws for a selector that cannot be read, so that nobody gains or loses by it", () => {
    const broken = { matchExpressions: [{ key: "view", operator: "Sounds" }] };
    const source = role("a", { view: "true" }, [getPods]);
    expect(() => neededRules(aggregated("agg", [broken], [getPods]), [source])).toThrow(SelectorError);
  });
});

describe("cluster role aggregation", () => {
  test("follows roles that come, change and go", async () => {
    const { client, informers, start, stop, api } = controllerBench();
    await client.create(clusterRoles, aggregated("agg", [view]));
    await start(clusterRoleAggregation({ informers }));
    const rules = async (): Promise<unknown> => (await client.get(clusterRoles, { name: "agg" }))["rules"];
    await client.create(clusterRoles, role("a", { view: "true" }, [getPods]));
    await settled();
    expect(await rules()).toEqual([getPods]);
    await client.update(clusterRoles, role("a", { view: "true" }, [getNodes]));
    await settled();
    expect(await rules()).toEqual([getNodes]);
    await client.delete(clusterRoles, { name: "a" });
    await settled();
    expect(await rules()).toEqual([]);
    expect(api.writes.filter((write) => write.key === "agg" && write.verb === "update")).toHaveLength(3);
    await stop();
  });
});
