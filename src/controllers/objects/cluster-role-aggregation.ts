import type { ObjectKey } from "../../apimachinery/object.ts";
import { aggregatedRoles } from "./aggregated-roles.ts";
import { isAggregated, neededRules } from "./cluster-role-aggregation-policy.ts";
import { done } from "../controller.ts";
import type { Controller, Outcome } from "../controller.ts";
import { clusterRoles } from "../kinds.ts";
import type { SharedInformers } from "../shared-informers.ts";

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
