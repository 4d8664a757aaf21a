import type { LabelSelectorObject } from "../apimachinery/label-selector.ts";
import { rbacGroup, type RoleRef, type Subject, type ClusterRole } from "../apis/rbac.ts";
import { type AnyBinding, type AnyRole, type RbacObject, aggregationOf, isBinding } from "./rbac-types.ts";
import { compactRules, uncoveredRules } from "./rule-coverage.ts";

/** The annotation that disables reconciliation of one object when it is exactly `false`. */
export const autoupdateAnnotation = "rbac.authorization.kubernetes.io/autoupdate";

/** What to do about one default object. `recreate`: delete what exists, then create, because a roleRef cannot change. */
export type Reconciliation =
  | { readonly kind: "none" }
  | { readonly kind: "create" | "update" | "recreate"; readonly object: RbacObject };

const none: Reconciliation = { kind: "none" };

/**
 * Restores what one default object must grant at least: missing rules (by coverage), selectors, subjects, labels
 * and annotations are added; additions and other changes of an operator stay. Rules of aggregated roles are left to the
 * aggregation. `existing` is what is stored under the same kind, namespace and name.
 * Source: kubernetes pkg/registry/rbac/reconciliation.
 */
export function reconcilePolicy(wanted: RbacObject, existing: RbacObject | undefined): Reconciliation {
  if (existing === undefined) return { kind: "create", object: wanted };
  if (existing.metadata.annotations?.[autoupdateAnnotation] === "false") return none;
  if (isBinding(wanted)) return isBinding(existing) ? reconcileBinding(wanted, existing) : none;
  return isBinding(existing) ? none : reconcileRole(wanted, existing);
}

function reconcileRole(wanted: AnyRole, existing: AnyRole): Reconciliation {
  const changes = selectorsOf(wanted).length > 0 ? missingSelectors(wanted, existing) : missingRules(wanted, existing);
  return updated(wanted, existing, changes);
}

function reconcileBinding(wanted: AnyBinding, existing: AnyBinding): Reconciliation {
  if (!sameRole(wanted.roleRef, existing.roleRef)) return { kind: "recreate", object: wanted };
  const known = new Set((existing.subjects ?? []).map(subjectKey));
  const missing = (wanted.subjects ?? []).filter((subject) => !known.has(subjectKey(subject)));
  const changes = missing.length === 0 ? undefined : { subjects: [...(existing.subjects ?? []), ...missing] };
  return updated(wanted, existing, changes);
}

function missingRules(wanted: AnyRole, existing: AnyRole): Partial<ClusterRole> | undefined {
  const missing = compactRules(uncoveredRules(existing.rules ?? [], wanted.rules ?? []));
  return missing.length === 0 ? undefined : { rules: [...(existing.rules ?? []), ...missing] };
}

function missingSelectors(wanted: AnyRole, existing: AnyRole): Partial<ClusterRole> | undefined {
  const present = selectorsOf(existing);
  const known = new Set(present.map(selectorKey));
  const missing = selectorsOf(wanted).filter((selector) => !known.has(selectorKey(selector)));
  return missing.length === 0 ? undefined : { aggregationRule: { clusterRoleSelectors: [...present, ...missing] } };
}

function selectorsOf(role: AnyRole): readonly LabelSelectorObject[] {
  return aggregationOf(role)?.clusterRoleSelectors ?? [];
}

function updated(wanted: RbacObject, existing: RbacObject, changes: object | undefined): Reconciliation {
  const labels = { ...wanted.metadata.labels, ...existing.metadata.labels };
  const annotations = { ...wanted.metadata.annotations, ...existing.metadata.annotations };
  const grown =
    size(labels) > size(existing.metadata.labels) || size(annotations) > size(existing.metadata.annotations);
  if (changes === undefined && !grown) return none;
  const metadata = {
    ...existing.metadata,
    ...(size(labels) === 0 ? {} : { labels }),
    ...(size(annotations) === 0 ? {} : { annotations }),
  };
  return { kind: "update", object: { ...existing, ...changes, metadata } };
}

function size(map: Readonly<Record<string, string>> | undefined): number {
  return Object.keys(map ?? {}).length;
}

function sameRole(one: RoleRef, other: RoleRef): boolean {
  const group = (ref: RoleRef): string => (ref.apiGroup === "" ? rbacGroup : ref.apiGroup);
  return group(one) === group(other) && one.kind === other.kind && one.name === other.name;
}

function subjectKey({ kind, apiGroup, name, namespace = "" }: Subject): string {
  const group = apiGroup ?? (kind === "ServiceAccount" ? "" : rbacGroup);
  return JSON.stringify([kind, group, namespace, name]);
}

function selectorKey({ matchLabels = {}, matchExpressions = [] }: LabelSelectorObject): string {
  return JSON.stringify([
    Object.entries(matchLabels).sort(([one], [other]) => (one < other ? -1 : 1)),
    matchExpressions,
  ]);
}
