import type { ApiObject } from "../core/object.ts";
import { alwaysAllow, alwaysDeny } from "../authz/always.ts";
import type { NamedAuthorizer } from "../authz/authorizer.ts";
import { firstDecision, type AuthorizerChain } from "../authz/chain.ts";
import { masters } from "../authz/masters.ts";
import { rbac } from "../authz/rbac.ts";
import { rbacIndex, type RbacEvent, type RbacIndex } from "../authz/rbac-index.ts";
import { allRules, alwaysAllowRules, alwaysDenyRules, rbacRules, type RulesLister } from "../authz/rules-review.ts";
import { objectOf } from "../registry/entry.ts";
import { storagePrefix } from "../resources/resource.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import { HubError } from "./hub-error.ts";

/** One value of `--authorization-mode`. */
interface Mode {
  readonly member: (index: RbacIndex) => NamedAuthorizer;
  readonly rules: (index: RbacIndex) => RulesLister;
}

const modes: Readonly<Record<string, Mode>> = {
  RBAC: { member: (index) => ({ name: "RBAC", authorize: rbac(index) }), rules: rbacRules },
  AlwaysAllow: { member: () => alwaysAllow, rules: () => alwaysAllowRules },
  AlwaysDeny: { member: () => alwaysDeny, rules: () => alwaysDenyRules },
};

/** Everything that decides what may be done. */
export interface Authorization {
  readonly chain: AuthorizerChain;
  readonly rules: RulesLister;
  readonly index: RbacIndex;
}

/** The chain for the modes named, in that order, behind system:masters. @throws HubError for an unknown, repeated or missing mode. */
export function authorization(names: readonly string[], cache: WatchCache, now: () => number): Authorization {
  checkModes(names);
  const index = rbacIndex();
  feed(index, cache);
  const chosen = names.map((name) => modes[name] as Mode);
  return {
    chain: firstDecision([masters, ...chosen.map((mode) => mode.member(index))], { now }),
    rules: allRules(chosen.map((mode) => mode.rules(index))),
    index,
  };
}

function checkModes(names: readonly string[]): void {
  const allowed = Object.keys(modes).join(", ");
  const unknown = names.find((name) => !Object.hasOwn(modes, name));
  if (unknown !== undefined)
    throw new HubError(
      "options",
      `--authorization-mode ${JSON.stringify(unknown)} is not known; allowed are ${allowed}`,
    );
  if (names.length === 0) throw new HubError("options", `--authorization-mode is empty; allowed are ${allowed}`);
  if (new Set(names).size < names.length)
    throw new HubError("options", `--authorization-mode names a mode twice: ${names.join(",")}`);
}

const rbacKinds: Readonly<Record<string, RbacEvent["kind"]>> = {
  roles: "Role",
  rolebindings: "RoleBinding",
  clusterroles: "ClusterRole",
  clusterrolebindings: "ClusterRoleBinding",
};

/** Keeps the index at the state of the cache: a right is there, or gone, before its write is acknowledged. */
function feed(index: RbacIndex, cache: WatchCache): void {
  for (const [plural, kind] of Object.entries(rbacKinds)) {
    cache.observe(storagePrefix({ group: "rbac.authorization.k8s.io", plural }), ({ type, entry }) => {
      const object: ApiObject = objectOf(entry);
      index.apply({ type: type === "DELETED" ? "delete" : "put", kind, object });
    });
  }
}
