import type { ApiObject } from "../apimachinery/object.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import type { Attributes } from "./authorizer.ts";
import { type CompiledRules, type RuleQuery, firstMatch, ruleQuery, rulesToLookAt } from "./compiled-rules.ts";
import type { RoleRef, PolicyRule } from "../apis/rbac.ts";
import type { AnyBinding, AnyRole, RbacKind } from "./rbac-types.ts";
import { type RoleKey, type RoleSlot, type RoleSlots, roleSlots } from "./role-slots.ts";
import {
  type Grant,
  type SubjectTable,
  firstGrant,
  grantsOf,
  insertGrant,
  removeGrant,
  subjectTable,
} from "./subject-table.ts";

/** A change to the policy: the current object, or a deleted one (of which only the metadata is read). */
export interface RbacEvent {
  readonly type: "put" | "delete";
  readonly kind: RbacKind;
  readonly object: ApiObject;
}

/** The rules that a user has in one scope; `errors` names roles that bindings refer to and that do not exist. */
export interface HeldRules {
  readonly rules: readonly PolicyRule[];
  readonly errors: readonly string[];
}

/** The first grant whose role permits the request. */
interface FirstAllowing {
  (attributes: Attributes): Grant | undefined;
  /** `"tooManyRules"` where the search exceeds its number of rules; then `searchAllowing` finds the grant. */
  (attributes: Attributes, maxRules: number): Grant | undefined | "tooManyRules";
}

/**
 * The RBAC policy in memory, kept current by `apply`. Lookups touch only bindings that name the user or one of its groups:
 * ClusterRoleBindings first, then the RoleBindings of the namespace, each by name (UTF-16 order).
 */
export interface RbacIndex {
  /** Applies one change synchronously; calls must follow the order of the changes. Takes validated objects. */
  readonly apply: (event: RbacEvent) => void;
  /** The first grant whose role permits the request. */
  readonly firstAllowing: FirstAllowing;
  /**
   * `firstAllowing` in parts: it yields before it looks at more than `rulesOfPart` rules. Changes that are applied between two parts count
   * from then on; a returned grant is valid at that moment.
   */
  readonly searchAllowing: (attributes: Attributes, rulesOfPart: number) => Generator<void, Grant | undefined>;
  /** Every grant that reaches the user in the namespace (`""`: cluster-wide only), in order, one per binding. */
  readonly grantsFor: (user: UserInfo, namespace: string) => readonly Grant[];
  /** All rules of `grantsFor`, duplicates included. */
  readonly rulesFor: (user: UserInfo, namespace: string) => HeldRules;
  /** The rules of a role as a binding in `namespace` (`""`: a ClusterRoleBinding) sees it; undefined when it is missing. */
  readonly rulesOf: (roleRef: RoleRef, namespace: string) => readonly PolicyRule[] | undefined;
  /** Every role that exists. */
  readonly roles: () => Iterable<readonly [RoleKey, CompiledRules]>;
  /** Every grant of every binding, those that match no user included. */
  readonly grants: () => Iterable<Grant>;
  /** Every grant of a RoleBinding that reaches the user, in at most so many namespaces. */
  readonly localGrants: (user: UserInfo, maxNamespaces: number) => Iterable<Grant>;
  /** How many roles are referred to and missing; while it is 0 no decision needs to look for them. */
  readonly missingRoles: () => number;
}

/** The grants of all bindings, by scope and by binding. */
interface BindingTables {
  readonly cluster: SubjectTable;
  /** Without namespaces that have no grant. */
  readonly namespaces: ReadonlyMap<string, SubjectTable>;
  readonly bindings: ReadonlyMap<string, readonly Grant[]>;
  readonly bind: (key: string, kind: Grant["kind"], object: AnyBinding) => void;
  readonly withdraw: (key: string) => void;
}

function bindingTables(slots: RoleSlots): BindingTables {
  const cluster = subjectTable();
  const namespaces = new Map<string, SubjectTable>();
  const bindings = new Map<string, readonly Grant[]>();

  const withdraw = (key: string): void => {
    for (const grant of bindings.get(key) ?? []) {
      const table = grant.kind === "ClusterRoleBinding" ? cluster : namespaces.get(grant.namespace);
      if (table !== undefined) removeGrant(table, grant);
      if (table?.users.size === 0 && table.groups.size === 0) namespaces.delete(grant.namespace);
      slots.release(grant.roleRef, grant.namespace);
    }
    bindings.delete(key);
  };

  const bind = (key: string, kind: Grant["kind"], object: AnyBinding): void => {
    const namespace = kind === "RoleBinding" ? (object.metadata.namespace ?? "") : "";
    const { roleRef, subjects } = object;
    const grants = (subjects ?? []).map((subject, subjectIndex): Grant => {
      const role = slots.use(roleRef, namespace);
      return { kind, namespace, name: object.metadata.name ?? "", subject, subjectIndex, roleRef, role };
    });
    bindings.set(key, grants);
    const table = kind === "ClusterRoleBinding" ? cluster : (namespaces.get(namespace) ?? subjectTable());
    for (const grant of grants) insertGrant(table, grant);
    if (table !== cluster && table.users.size + table.groups.size > 0) namespaces.set(namespace, table);
  };

  return { cluster, namespaces, bindings, bind, withdraw };
}

/** An empty index: it allows nothing. */
export function rbacIndex(): RbacIndex {
  const slots = roleSlots();
  const { cluster, namespaces, bindings, bind, withdraw } = bindingTables(slots);

  const grantsFor = (user: UserInfo, namespace: string): readonly Grant[] => {
    const local = namespace === "" ? undefined : namespaces.get(namespace);
    const wide = grantsOf(cluster, user);
    return local === undefined ? wide : [...wide, ...grantsOf(local, user)];
  };

  const isBound = (grant: Grant): boolean =>
    bindings.get(`${grant.kind}/${grant.namespace}/${grant.name}`)?.includes(grant) === true;

  return {
    apply({ type, kind, object }) {
      const { namespace = "", name = "" } = object.metadata;
      if (kind === "Role" || kind === "ClusterRole") {
        if (type === "put") slots.put({ kind, namespace, name }, (object as AnyRole).rules);
        else slots.remove({ kind, namespace, name });
        return;
      }
      const key = `${kind}/${namespace}/${name}`;
      withdraw(key);
      if (type === "put") bind(key, kind, object as AnyBinding);
    },
    firstAllowing: ((attributes: Attributes, maxRules: number = Infinity) =>
      firstWithin({ cluster, local: namespaces.get(attributes.namespace) }, attributes, maxRules)) as FirstAllowing,
    searchAllowing: (attributes, rulesOfPart) =>
      search(grantsFor(attributes.user, scopeOf(attributes)), { query: ruleQuery(attributes), rulesOfPart, isBound }),
    grantsFor,
    rulesFor(user, namespace) {
      const roles = grantsFor(user, namespace).map((grant) => grant.role);
      return {
        rules: roles.flatMap((role) => role.rules?.rules ?? []),
        errors: roles.filter((role) => role.rules === undefined).map((role) => role.missing),
      };
    },
    rulesOf: (roleRef, namespace) => slots.find(roleRef, namespace)?.rules?.rules,
    roles: slots.existing,
    grants: function* grants() {
      for (const each of bindings.values()) yield* each;
    },
    localGrants: function* localGrants(user, maxNamespaces) {
      let left = maxNamespaces;
      for (const table of namespaces.values()) {
        if (left <= 0) return;
        left -= 1;
        yield* grantsOf(table, user);
      }
    },
    missingRoles: () => slots.dangling(),
  };
}

/** The namespace whose bindings count; empty where only ClusterRoleBindings do, as for paths. */
export function scopeOf({ path, namespace }: Attributes): string {
  return path === undefined ? namespace : "";
}

function firstWithin(
  { cluster, local }: { readonly cluster: SubjectTable; readonly local: SubjectTable | undefined },
  attributes: Attributes,
  maxRules: number,
): Grant | undefined | "tooManyRules" {
  const query: RefusalMemory = { query: ruleQuery(attributes), asked: 0, refusing: undefined, left: maxRules };
  const wide = firstGrant(cluster, attributes.user, { permits, query });
  // Grants that were not looked at for that reason may come before the one that was found.
  if (query.left < 0) return "tooManyRules";
  if (wide !== undefined || scopeOf(attributes) === "") return wide;
  const found = local === undefined ? undefined : firstGrant(local, attributes.user, { permits, query });
  return query.left < 0 ? "tooManyRules" : found;
}

function* search(
  grants: readonly Grant[],
  how: {
    readonly query: RuleQuery;
    readonly rulesOfPart: number;
    readonly isBound: (grant: Grant) => boolean;
  },
): Generator<void, Grant | undefined> {
  const { query, rulesOfPart, isBound } = how;
  const refusing = new Set<CompiledRules>();
  let lookedAt = 0;
  for (const grant of grants) {
    const { rules } = grant.role;
    if (rules === undefined || refusing.has(rules)) continue;
    lookedAt += rulesToLookAt(rules, query);
    if (lookedAt > rulesOfPart) {
      yield;
      lookedAt = rulesToLookAt(rules, query);
    }
    // Between two parts the role and the binding may change.
    const now = grant.role.rules;
    if (now !== undefined && firstMatch(now, query) !== undefined && isBound(grant)) return grant;
    refusing.add(rules);
  }
  return undefined;
}

/** A request, and the roles that do not allow it: thousands of bindings may refer to one role of thousands of rules. */
interface RefusalMemory {
  readonly query: RuleQuery;
  asked: number;
  /** How many rules may still be looked at; below 0 the search continues in parts. */
  left: number;
  refusing: Set<RoleSlot> | undefined;
}

/** Where few bindings reach a user, a search is cheaper than a cache. */
const askedBeforeMemory = 8;

function permits({ role }: Grant, memory: RefusalMemory): boolean {
  if (role.rules === undefined || memory.left < 0 || memory.refusing?.has(role) === true) return false;
  memory.left -= rulesToLookAt(role.rules, memory.query);
  if (memory.left < 0) return false;
  if (firstMatch(role.rules, memory.query) !== undefined) return true;
  memory.asked += 1;
  if (memory.asked > askedBeforeMemory) (memory.refusing ??= new Set()).add(role);
  return false;
}
