import type { ControllerOptions } from "../shared-informers.ts";
import type { ApiObject, ObjectKey } from "../../apimachinery/object.ts";
import { type Controller, type Outcome, done } from "../controller.ts";
import { clusterRoles } from "../kinds.ts";
import { keyOf } from "../../client/paths.ts";
import type { Change } from "../../client/object-store.ts";
import {
  type LabelSelector,
  type LabelSelectorObject,
  labelSelectorFrom,
  matchesLabels,
} from "../../apimachinery/label-selector.ts";
import { SelectorError } from "../../apimachinery/selector-error.ts";

const serviceAccount = "clusterrole-aggregation-controller";

/** Maintains the rules of ClusterRoles with an aggregationRule as the union of those they select. Source: Kubernetes pkg/controller/clusterroleaggregation. */
export function clusterRoleAggregation(options: Pick<ControllerOptions, "informers">): Controller {
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

/** The aggregated ClusterRoles, so that a role that none of them selects affects none of them. */
export interface AggregatedRoles {
  /** Called with each change of a ClusterRole, in order. */
  observe(change: Change): void;
  /** The roles whose rules the last change may have changed. */
  affected(): readonly ObjectKey[];
}

/** An empty index. */
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

/** A role with an invalid selector keeps its rules, whatever others do. */
function readable(role: ApiObject): readonly LabelSelector[] {
  try {
    return selectorsOf(role).map(labelSelectorFrom);
  } catch (error) {
    if (error instanceof SelectorError) return [];
    throw error;
  }
}

/** Whether a ClusterRole aggregates the rules of others. */
export function isAggregated(role: ApiObject): boolean {
  return selectorsOf(role).length > 0;
}

/**
 * The required rules of an aggregated ClusterRole: those of every ClusterRole that one of its selectors matches, without its own,
 * selector by selector and within one by name, each rule once. Undefined when nothing changes. @throws SelectorError for an invalid
 * selector, so that the rules remain unchanged. Source: Kubernetes pkg/controller/clusterroleaggregation.
 */
export function neededRules(role: ApiObject, all: readonly ApiObject[]): readonly unknown[] | undefined {
  const chosen = selectorsOf(role)
    .map(labelSelectorFrom)
    .flatMap((selector) =>
      all
        .filter(({ metadata }) => metadata.name !== role.metadata.name && matchesLabels(selector, metadata.labels))
        .toSorted((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1)),
    );
  const rules = new Map<string, unknown>();
  for (const rule of chosen.flatMap(rulesOf)) {
    const text = canonical(rule);
    if (!rules.has(text)) rules.set(text, rule);
  }
  const present = rulesOf(role).map(canonical);
  const wanted = [...rules.keys()];
  const same = present.length === wanted.length && present.every((text, index) => text === wanted[index]);
  return same ? undefined : [...rules.values()];
}

/** The aggregation of a role; undefined for a role with rules of its own. */
export function selectorsOf(role: ApiObject): readonly LabelSelectorObject[] {
  const rule = role["aggregationRule"] as
    | { readonly clusterRoleSelectors?: readonly LabelSelectorObject[] }
    | undefined;
  return rule?.clusterRoleSelectors ?? [];
}

function rulesOf(role: ApiObject): readonly unknown[] {
  return Array.isArray(role["rules"]) ? role["rules"] : [];
}

/** One text for equal rules, whatever the order of their fields and whether an empty list is present or absent. */
function canonical(rule: unknown): string {
  if (typeof rule !== "object" || rule === null) return JSON.stringify(rule);
  const fields = Object.entries(rule).filter(([, value]) => !Array.isArray(value) || value.length > 0);
  return JSON.stringify(fields.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
