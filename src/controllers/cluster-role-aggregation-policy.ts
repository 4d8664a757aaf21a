import { labelSelectorFrom, matchesLabels } from "../core/label-selector.ts";
import type { LabelSelectorObject } from "../core/label-selector.ts";
import type { ApiObject } from "../core/object.ts";
import { SelectorError } from "../core/selector-error.ts";

/** Whether the rules of a ClusterRole come from others. */
export function isAggregated(role: ApiObject): boolean {
  return selectorsOf(role).length > 0;
}

/**
 * The rules that an aggregated ClusterRole must hold: those of all ClusterRoles which any of its selectors matches, in order of
 * name, each once, its own left out. Undefined when it holds them already. A selector that cannot be read matches nothing.
 * Source: Kubernetes pkg/controller/clusterroleaggregation.
 */
export function neededRules(role: ApiObject, all: readonly ApiObject[]): readonly unknown[] | undefined {
  const name = role.metadata.name ?? "";
  const selectors = selectorsOf(role).map(readable);
  const chosen = all
    .filter((other) => other.metadata.name !== name)
    .filter((other) => selectors.some((selector) => matchesLabels(selector, other.metadata.labels)))
    .toSorted((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1));
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

function selectorsOf(role: ApiObject): readonly LabelSelectorObject[] {
  const rule = role["aggregationRule"] as
    | { readonly clusterRoleSelectors?: readonly LabelSelectorObject[] }
    | undefined;
  return rule?.clusterRoleSelectors ?? [];
}

function readable(selector: LabelSelectorObject): ReturnType<typeof labelSelectorFrom> {
  try {
    return labelSelectorFrom(selector);
  } catch (error) {
    if (error instanceof SelectorError) return labelSelectorFrom(undefined);
    throw error;
  }
}

function rulesOf(role: ApiObject): readonly unknown[] {
  return Array.isArray(role["rules"]) ? role["rules"] : [];
}

/** One text for equal rules, whatever the order of their fields. */
function canonical(rule: unknown): string {
  if (typeof rule !== "object" || rule === null) return JSON.stringify(rule);
  return JSON.stringify(Object.entries(rule).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
