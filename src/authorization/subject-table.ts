import { serviceAccountUser, type UserInfo } from "../apimachinery/user.ts";
import type { RoleRef, Subject } from "../apis/rbac.ts";
import type { RoleSlot } from "./role-slots.ts";

/** One subject of one binding, with the current role. */
export interface Grant {
  readonly kind: "ClusterRoleBinding" | "RoleBinding";
  /** The binding's namespace; empty for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly name: string;
  readonly subject: Subject;
  /** Index of the subject in the binding. */
  readonly subjectIndex: number;
  readonly roleRef: RoleRef;
  readonly role: RoleSlot;
}

/** The grants of one scope by subject, each list in the order of `compareGrants`. */
export interface SubjectTable {
  readonly users: Map<string, Grant[]>;
  readonly groups: Map<string, Grant[]>;
}

const noGrants: readonly Grant[] = [];

/** A table without grants. */
export function subjectTable(): SubjectTable {
  return { users: new Map(), groups: new Map() };
}

/** By the binding's name (UTF-16 order), then by the subject's place in it. */
export function compareGrants(one: Grant, other: Grant): number {
  if (one.name !== other.name) return one.name < other.name ? -1 : 1;
  return one.subjectIndex - other.subjectIndex;
}

/** Inserts a grant in order. A subject that matches no user (unknown kind, ServiceAccount without a namespace) is left out. */
export function insertGrant(table: SubjectTable, grant: Grant): void {
  const key = subjectKey(grant);
  if (key === undefined) return;
  const grants = table[key.map].get(key.name);
  if (grants === undefined) table[key.map].set(key.name, [grant]);
  else grants.splice(position(grants, grant), 0, grant);
}

/** Removes what `insertGrant` added. */
export function removeGrant(table: SubjectTable, grant: Grant): void {
  const key = subjectKey(grant);
  const grants = key === undefined ? undefined : table[key.map].get(key.name);
  if (key === undefined || grants === undefined) return;
  const at = position(grants, grant);
  if (grants[at] === grant) grants.splice(at, 1);
  if (grants.length === 0) table[key.map].delete(key.name);
}

/**
 * The first grant, in order, that reaches the user and that `permits` accepts. Allocates nothing, and looks only at
 * grants that name the user or one of its groups.
 */
export function firstGrant<Q>(
  table: SubjectTable,
  user: UserInfo,
  ask: { readonly permits: (grant: Grant, query: Q) => boolean; readonly query: Q },
): Grant | undefined {
  let best = firstBefore(table.users.get(user.username), undefined, ask);
  for (const group of user.groups) best = firstBefore(table.groups.get(group), best, ask);
  return best;
}

/** Every grant that reaches the user, in order, one per binding: that of the binding's first subject that applies. */
export function grantsOf(table: SubjectTable, user: UserInfo): readonly Grant[] {
  const all = [...(table.users.get(user.username) ?? noGrants)];
  for (const group of new Set(user.groups)) all.push(...(table.groups.get(group) ?? noGrants));
  return all.sort(compareGrants).filter((grant, at, sorted) => at === 0 || sorted[at - 1]?.name !== grant.name);
}

// Each list is ordered, so the overall first is the least of the lists' firsts, and a list need not be read past it.
function firstBefore<Q>(
  grants: readonly Grant[] | undefined,
  best: Grant | undefined,
  ask: { readonly permits: (grant: Grant, query: Q) => boolean; readonly query: Q },
): Grant | undefined {
  if (grants === undefined) return best;
  for (const grant of grants) {
    if (best !== undefined && compareGrants(grant, best) >= 0) return best;
    if (ask.permits(grant, ask.query)) return grant;
  }
  return best;
}

/** The namespace of a grant's ServiceAccount: the binding's own where the subject names none. */
export function accountNamespace({ subject, namespace }: Grant): string {
  return subject.namespace === undefined || subject.namespace === "" ? namespace : subject.namespace;
}

function subjectKey(grant: Grant): { readonly map: keyof SubjectTable; readonly name: string } | undefined {
  const { subject } = grant;
  const namespace = accountNamespace(grant);
  switch (subject.kind) {
    case "User":
      return { map: "users", name: subject.name };
    case "Group":
      return { map: "groups", name: subject.name };
    case "ServiceAccount":
      if (namespace === "") return undefined;
      return { map: "users", name: serviceAccountUser(namespace, subject.name).username };
    default:
      return undefined;
  }
}

function position(grants: readonly Grant[], grant: Grant): number {
  let low = 0;
  let high = grants.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = grants[middle];
    if (other !== undefined && compareGrants(other, grant) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
