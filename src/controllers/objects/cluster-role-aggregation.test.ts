import { describe, expect, test } from "vitest";
import type { Change } from "../../client/object-store.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { SelectorError } from "../../apimachinery/selector-error.ts";
import { controllerBench } from "../../../test/kits/controller-bench.ts";
import { settled } from "../../../test/kits/fake-clock.ts";
import {
  aggregatedRoles,
  clusterRoleAggregation,
  type AggregatedRoles,
  neededRules,
} from "./cluster-role-aggregation.ts";
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

describe("aggregatedRoles", () => {
  const added = (object: ApiObject): Change => ({ type: "ADDED", object, previous: undefined });
  const names = (of: AggregatedRoles): readonly string[] => of.affected().map(({ name }) => name);

  test("names those that select a role, that have selected it before, and itself", () => {
    const of = aggregatedRoles();
    of.observe(added(aggregated("views", [view])));
    expect(names(of)).toEqual(["views"]);
    of.observe(added(aggregated("edits", [{ matchLabels: { edit: "true" } }])));
    of.observe(added(role("a", { view: "true" }, [])));
    expect(names(of)).toEqual(["views"]);
    const [before, after] = [role("a", { view: "true" }, []), role("a", { edit: "true" }, [])];
    of.observe({ type: "MODIFIED", object: after, previous: before });
    expect(names(of)).toEqual(["views", "edits"]);
    of.observe({ type: "DELETED", object: after, previous: after });
    expect(names(of)).toEqual(["edits"]);
  });

  test("names nobody for a role that none selects", () => {
    const of = aggregatedRoles();
    of.observe(added(aggregated("views", [view])));
    of.observe(added(role("a", { other: "true" }, [])));
    expect(names(of)).toEqual([]);
  });

  test("names one that selects all, and none that is gone or aggregates no more", () => {
    const of = aggregatedRoles();
    const all = aggregated("all", [{}]);
    of.observe(added(all));
    of.observe(added(role("a", {}, [])));
    expect(names(of)).toEqual(["all"]);
    of.observe({ type: "MODIFIED", object: role("all", {}, []), previous: all });
    of.observe(added(role("b", {}, [])));
    expect(names(of)).toEqual([]);
  });

  test("names one with an unreadable selector for its own changes only", () => {
    const of = aggregatedRoles();
    of.observe(added(aggregated("broken", [{ matchExpressions: [{ key: "view", operator: "Sounds" }] }])));
    expect(names(of)).toEqual(["broken"]);
    of.observe(added(role("a", { view: "true" }, [])));
    expect(names(of)).toEqual([]);
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
