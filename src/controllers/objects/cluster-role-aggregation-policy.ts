import { labelSelectorFrom, matchesLabels } from "../../apimachinery/label-selector.ts";
import type { LabelSelectorObject } from "../../apimachinery/label-selector.ts";
import type { ApiObject } from "../../apimachinery/object.ts";

/** Whether the rules of a ClusterRole come from others. */
export function isAggregated(role: ApiObject): boolean {
  return selectorsOf(role).length > 0;
}

/**
 * The rules that an aggregated ClusterRole must hold: those of every ClusterRole that one of its selectors matches, its own left
 * out, selector by selector and within one by name, each rule once. Undefined when it holds them already.
 * @throws SelectorError when a selector cannot be read, so that the rules stay as they are.
 * Source: Kubernetes pkg/controller/clusterroleaggregation.
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

/** What says whose rules a role takes; nothing for one whose rules are its own. */
export function selectorsOf(role: ApiObject): readonly LabelSelectorObject[] {
  const rule = role["aggregationRule"] as
    | { readonly clusterRoleSelectors?: readonly LabelSelectorObject[] }
    | undefined;
  return rule?.clusterRoleSelectors ?? [];
}

function rulesOf(role: ApiObject): readonly unknown[] {
  return Array.isArray(role["rules"]) ? role["rules"] : [];
}

/** One text for rules that say the same, whatever the order of their fields and whether an empty list is written or left out. */
function canonical(rule: unknown): string {
  if (typeof rule !== "object" || rule === null) return JSON.stringify(rule);
  const fields = Object.entries(rule).filter(([, value]) => !Array.isArray(value) || value.length > 0);
  return JSON.stringify(fields.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
