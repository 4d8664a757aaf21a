import type { UserInfo } from "../core/user.ts";
import type { SubjectRulesReviewStatus } from "../resources/self-subject-rules-review.ts";
import { aggregateErrors } from "./aggregate-errors.ts";
import type { RbacIndex } from "./rbac-index.ts";

/** What one authorizer would allow a user in a namespace, as far as it can tell. */
export type RulesLister = (user: UserInfo, namespace: string) => SubjectRulesReviewStatus;

/** The rules that RBAC grants. Paths count only where a ClusterRoleBinding grants them; missing roles are the evaluation error. */
export function rbacRules(index: RbacIndex): RulesLister {
  return function rbacRules(user, namespace) {
    const resourceRules: SubjectRulesReviewStatus["resourceRules"][number][] = [];
    const nonResourceRules: SubjectRulesReviewStatus["nonResourceRules"][number][] = [];
    const errors: string[] = [];
    for (const grant of index.grantsFor(user, namespace)) {
      if (grant.role.rules === undefined) errors.push(grant.role.missing);
      for (const rule of grant.role.rules?.rules ?? []) {
        const { nonResourceURLs = [], ...onResources } = rule;
        if ((rule.resources ?? []).length > 0) resourceRules.push(onResources);
        if (nonResourceURLs.length === 0 || grant.kind === "RoleBinding") continue;
        nonResourceRules.push({ verbs: rule.verbs, nonResourceURLs });
      }
    }
    return { resourceRules, nonResourceRules, incomplete: false, ...evaluationError(errors) };
  };
}

/** The rules of mode AlwaysAllow: everything. */
export const alwaysAllowRules: RulesLister = function alwaysAllowRules() {
  return {
    resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
    nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
    incomplete: false,
  };
};

/** The rules of mode AlwaysDeny: none. */
export const alwaysDenyRules: RulesLister = function alwaysDenyRules() {
  return { resourceRules: [], nonResourceRules: [], incomplete: false };
};

/** For an authorizer that cannot list its rules, e.g. `webhook authorizer does not support user rule resolution`. */
export function unlistedRules(why: string): RulesLister {
  return function unlistedRules() {
    return { resourceRules: [], nonResourceRules: [], incomplete: true, evaluationError: why };
  };
}

/** The rules of all members of a chain together, in their order. Source: apiserver pkg/authorization/union RulesFor. */
export function allRules(listers: readonly RulesLister[]): RulesLister {
  return function allRules(user, namespace) {
    const all = listers.map((lister) => lister(user, namespace));
    return {
      resourceRules: all.flatMap((one) => one.resourceRules),
      nonResourceRules: all.flatMap((one) => one.nonResourceRules),
      incomplete: all.some((one) => one.incomplete),
      ...evaluationError(all.map((one) => one.evaluationError).filter((error) => error !== undefined)),
    };
  };
}

function evaluationError(errors: readonly string[]): { readonly evaluationError?: string } {
  return errors.length === 0 ? {} : { evaluationError: aggregateErrors(errors) };
}
