import { labelSelectorFrom, matchesLabels } from "../core/label-selector.ts";
import type { ClusterRole } from "../resources/cluster-role.ts";
import type { PolicyRule } from "../resources/policy-rule.ts";

/**
 * The rules that an aggregated ClusterRole should hold: those of every ClusterRole that one of its selectors matches, itself
 * excluded, selector by selector and within one by name, each rule once. Undefined for a role that does not aggregate.
 * @throws SelectorError when a selector cannot be understood, so that nobody gains anything by it.
 * Source: kubernetes pkg/controller/clusterroleaggregation.
 */
export function aggregatedRules(role: ClusterRole, all: readonly ClusterRole[]): readonly PolicyRule[] | undefined {
  if (role.aggregationRule === undefined) return undefined;
  const others = all
    .filter((other) => other.metadata.name !== role.metadata.name)
    .sort((one, other) => ((one.metadata.name ?? "") < (other.metadata.name ?? "") ? -1 : 1));
  const rules = new Map<string, PolicyRule>();
  for (const selector of role.aggregationRule.clusterRoleSelectors ?? []) {
    const wanted = labelSelectorFrom(selector);
    for (const other of others) {
      if (!matchesLabels(wanted, other.metadata.labels)) continue;
      for (const rule of other.rules ?? []) {
        const key = ruleKey(rule);
        if (!rules.has(key)) rules.set(key, rule);
      }
    }
  }
  return [...rules.values()];
}

/** The aggregated role with its rules brought up to date, or undefined when nothing has to change. */
export function aggregationUpdate(role: ClusterRole, all: readonly ClusterRole[]): ClusterRole | undefined {
  const rules = aggregatedRules(role, all);
  if (rules === undefined) return undefined;
  const same = JSON.stringify((role.rules ?? []).map(ruleKey)) === JSON.stringify(rules.map(ruleKey));
  return same ? undefined : { ...role, rules };
}

function ruleKey(rule: PolicyRule): string {
  const lists = [rule.verbs, rule.apiGroups, rule.resources, rule.resourceNames, rule.nonResourceURLs];
  return JSON.stringify(lists.map((list) => list ?? []));
}
