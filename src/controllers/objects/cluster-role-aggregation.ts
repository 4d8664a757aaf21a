import type { ObjectKey, ApiObject } from "../../apimachinery/object.ts";
import { isAggregated, neededRules, selectorsOf } from "./cluster-role-aggregation-policy.ts";
import { done, type Controller, type Outcome } from "../controller.ts";
import { clusterRoles } from "../kinds.ts";
import type { SharedInformers } from "../shared-informers.ts";
import { keyOf } from "../../client/paths.ts";
import type { Change } from "../../client/object-store.ts";
import { labelSelectorFrom, matchesLabels, type LabelSelector } from "../../apimachinery/label-selector.ts";
import { SelectorError } from "../../apimachinery/selector-error.ts";

const serviceAccount = "clusterrole-aggregation-controller";

export interface ClusterRoleAggregationOptions {
  readonly informers: SharedInformers;
}

/** Keeps the rules of ClusterRoles with an aggregationRule the union of those they select. Source: Kubernetes pkg/controller/clusterroleaggregation. */
export function clusterRoleAggregation(options: ClusterRoleAggregationOptions): Controller {
  const { client, reader } = options.informers.as(serviceAccount);
  const roles = reader({ resource: clusterRoles });
  const aggregated = aggregatedRoles();

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const role = roles.get(key);
    if (role === undefined || !isAggregated(role)) return done;
    const rules = neededRules(role, roles.list());
    if (rules !== undefined) await client.update(clusterRoles, { ...role, rules });
    return done;
  }

  return {
    name: "clusterrole-aggregation",
    serviceAccount,
    watches: [{ resource: clusterRoles, observe: aggregated.observe, keys: aggregated.affected }],
    concurrency: 1,
    reconcile,
  };
}

/** The aggregated ClusterRoles there are, so that a role that none of them selects concerns none of them. */
export interface AggregatedRoles {
  /** Told of each change of a ClusterRole, in order. */
  observe(change: Change): void;
  /** Whose rules the last change may have changed. */
  affected(): readonly ObjectKey[];
}

/** None yet. */
export function aggregatedRoles(): AggregatedRoles {
  const selectors = new Map<string, readonly LabelSelector[]>();
  let affected: readonly ObjectKey[] = [];

  function observe({ type, object, previous }: Change): void {
    const { name } = keyOf(object);
    if (type !== "DELETED" && isAggregated(object)) selectors.set(name, readable(object));
    else selectors.delete(name);
    const states = [object, ...(previous === undefined ? [] : [previous])];
    const selecting = [...selectors].filter(([, each]) =>
      each.some((selector) => states.some(({ metadata }) => matchesLabels(selector, metadata.labels))),
    );
    affected = [...new Set([...(selectors.has(name) ? [name] : []), ...selecting.map(([one]) => one)])].map((one) => ({
      name: one,
    }));
  }

  return { observe, affected: () => affected };
}

/** A role with a selector that cannot be read keeps its rules, whatever others do. */
function readable(role: ApiObject): readonly LabelSelector[] {
  try {
    return selectorsOf(role).map(labelSelectorFrom);
  } catch (error) {
    if (error instanceof SelectorError) return [];
    throw error;
  }
}
