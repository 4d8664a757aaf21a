import { keyOf } from "../../client/object-key.ts";
import type { Change } from "../../client/object-store.ts";
import { labelSelectorFrom, matchesLabels, type LabelSelector } from "../../apimachinery/label-selector.ts";
import type { ApiObject, ObjectKey } from "../../apimachinery/object.ts";
import { SelectorError } from "../../apimachinery/selector-error.ts";
import { isAggregated, selectorsOf } from "./cluster-role-aggregation-policy.ts";

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
