import type { UserInfo } from "../apimachinery/user.ts";
import type { PolicyRule } from "../apis/rbac.ts";
import type { SubjectRulesReviewStatus } from "../apis/access-review.ts";
import { aggregateErrors } from "./authorizer.ts";
import type { RbacIndex } from "./rbac-index.ts";

/** What a chain would allow a user in a namespace, as far as it can tell. */
export type RulesLister = (user: UserInfo, namespace: string) => SubjectRulesReviewStatus;

/** What one authorizer would allow a user in a namespace; `errors` lists what it could not determine. */
export type MemberRules = (
  user: UserInfo,
  namespace: string,
) => Omit<SubjectRulesReviewStatus, "evaluationError"> & { readonly errors?: readonly string[] };

/** How long the rules of an answer may be, in characters of JSON: their number is that of all roles times all bindings. */
const maxCharacters = 1 << 20;
const tooMany = "the rules of this user are longer than 1 MiB, and the rest of them is left out";

/** The length of a rule in JSON, about. */
function charactersOf({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): number {
  let sum = 64;
  for (const list of [verbs, apiGroups, resources, resourceNames, nonResourceURLs]) {
    for (const word of list ?? []) sum += word.length + 3;
  }
  return sum;
}

/** The rules that RBAC grants, up to 1 MiB of them. Paths count only where a ClusterRoleBinding grants them; missing roles are the evaluation error. */
export function rbacRules(index: RbacIndex): MemberRules {
  return function rbacRules(user, namespace) {
    const resourceRules: SubjectRulesReviewStatus["resourceRules"][number][] = [];
    const nonResourceRules: SubjectRulesReviewStatus["nonResourceRules"][number][] = [];
    const errors: string[] = [];
    let left = maxCharacters;
    for (const grant of index.grantsFor(user, namespace)) {
      if (grant.role.rules === undefined) errors.push(grant.role.missing);
      for (const rule of grant.role.rules?.rules ?? []) {
        left -= charactersOf(rule);
        if (left < 0) return { resourceRules, nonResourceRules, incomplete: true, errors: [...errors, tooMany] };
        const { nonResourceURLs, ...onResources } = rule;
        if (isNotEmpty(rule.resources)) resourceRules.push(onResources);
        if (grant.kind === "RoleBinding" || !isNotEmpty(nonResourceURLs)) continue;
        nonResourceRules.push({ verbs: rule.verbs, nonResourceURLs });
      }
    }
    return { resourceRules, nonResourceRules, incomplete: false, errors };
  };
}

function isNotEmpty(list: readonly string[] | undefined): list is readonly string[] {
  return list !== undefined && list.length > 0;
}

/** The rules of mode AlwaysAllow: everything. */
export const alwaysAllowRules: MemberRules = function alwaysAllowRules() {
  return {
    resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
    nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
    incomplete: false,
  };
};

/** The rules of mode AlwaysDeny: none. */
export const alwaysDenyRules: MemberRules = function alwaysDenyRules() {
  return { resourceRules: [], nonResourceRules: [], incomplete: false };
};

/** For an authorizer that cannot list its rules, e.g. `webhook authorizer does not support user rule resolution`. */
export function unlistedRules(why: string): MemberRules {
  return function unlistedRules() {
    return { resourceRules: [], nonResourceRules: [], incomplete: true, errors: [why] };
  };
}

/** The rules of all members of a chain together, in their order. Source: apiserver pkg/authorization/union RulesFor. */
export function allRules(listers: readonly MemberRules[]): RulesLister {
  return function allRules(user, namespace) {
    const all = listers.map((lister) => lister(user, namespace));
    return {
      resourceRules: all.flatMap((one) => one.resourceRules),
      nonResourceRules: all.flatMap((one) => one.nonResourceRules),
      incomplete: all.some((one) => one.incomplete),
      ...evaluationError(all.flatMap((one) => one.errors ?? [])),
    };
  };
}

function evaluationError(errors: readonly string[]): { readonly evaluationError?: string } {
  return errors.length === 0 ? {} : { evaluationError: aggregateErrors(errors) };
}
