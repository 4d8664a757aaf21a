import { quoted } from "../apimachinery/quoted.ts";
import type { PolicyRule } from "../apis/rbac.ts";
import type { Attributes } from "./authorizer.ts";
import { type CompiledRules, firstMatch, ruleQuery, ruleMatches } from "./compiled-rules.ts";
import { namedGrant, type PolicyObject, shownRule } from "./explained-grant.ts";
import { scopeOf, type RbacIndex } from "./rbac-index.ts";
import type { RoleKey } from "./role-slots.ts";
import type { Grant } from "./subject-table.ts";

/** What a similar rule lacks; everything else about it matches. */
export type Lack = "verb" | "name" | "subresource" | "group" | "namespace" | "binding" | "resource";

/** A grant that would almost allow a request. */
export interface NearMiss {
  readonly lacks: Lack;
  /** One sentence for people. */
  readonly text: string;
  /** Absent where nothing binds the role. */
  readonly binding?: PolicyObject;
  readonly role?: PolicyObject;
  readonly rule?: string;
}

/** How many hints of a kind are shown; more would only hide the first. */
const maxSuggestions = 5;
/** How many lists of grants are looked up for grants elsewhere: namespaces times names of the user. */
const maxLookups = 200_000;
const maxWords = 12;
/** How many rules a hint looks at: of hundreds of roles with thousands of rules each, some are skipped. */
const maxRules = { nearest: 10_000, elsewhere: 100_000, unbound: 200_000 };
/** Roles for one program, or that others aggregate, are no advice for other subjects. */
const ofComponents = ["system:controller:", "system:kube-", "system:aggregate-to-"];
const order: readonly Lack[] = ["verb", "name", "subresource", "group", "namespace"];

/**
 * The grants that the user has already and that lack one thing only: a verb, name, subresource or group in a rule, or the namespace.
 * The search calls the rule matcher with that one thing changed. The result contains nothing about the rights of other users.
 */
export function nearestOwnRights(index: RbacIndex, attributes: Attributes): readonly NearMiss[] {
  const missOf = memorized(maxRules.nearest, (rules) => missIn(rules, attributes));
  const misses = index.grantsFor(attributes.user, scopeOf(attributes)).flatMap((grant) => {
    const miss = missOf(grant.role);
    return miss === undefined ? [] : [{ grant, ...miss }];
  });
  const here = misses
    .sort((one, other) => order.indexOf(one.lacks) - order.indexOf(other.lacks))
    .slice(0, maxSuggestions)
    .map((miss) => nearMiss(miss, attributes));
  return here.length === maxSuggestions
    ? here
    : [...here, ...elsewhere(index, attributes, maxSuggestions - here.length)];
}

/**
 * The roles that would allow the request if a binding gave them to the user there; those that grant least first. Roles of the system,
 * and those that allow everything, only where there is no other.
 */
export function unboundRoles(index: RbacIndex, attributes: Attributes): readonly NearMiss[] {
  const query = ruleQuery(attributes);
  const { namespace, path } = attributes;
  const fitting: { readonly key: RoleKey; readonly rules: CompiledRules; readonly rank: number }[] = [];
  let left = maxRules.unbound;
  for (const [key, rules] of index.roles()) {
    if (rules.rules.length > left) continue;
    left -= rules.rules.length;
    if (ofComponents.some((prefix) => key.name.startsWith(prefix))) continue;
    if (key.kind === "Role" && (path !== undefined || key.namespace !== namespace)) continue;
    if (firstMatch(rules, query) !== undefined) fitting.push({ key, rules, rank: rankOf(rules) });
  }
  const small = fitting.filter(({ rules }) => !rules.rules.some(isEverything));
  const ofUsers = small.filter(({ key }) => !key.name.startsWith("system:"));
  const advised = [ofUsers, small, fitting].find((roles) => roles.length > 0) ?? [];
  advised.sort((one, other) => one.rank - other.rank || (one.key.name < other.key.name ? -1 : 1));
  return advised.slice(0, 3).map(({ key, rules }) => {
    const { kind, name } = key;
    const role = { kind, ...(kind === "Role" ? { namespace: key.namespace } : {}), name };
    const rule = firstMatch(rules, query)?.rule;
    return {
      lacks: "binding",
      text: `${kind} ${quoted(name)} would allow it, but nothing binds it to the subject ${placeOf(attributes)}`,
      role,
      ...(rule === undefined ? {} : { rule: shownRule(rule) }),
    };
  });
}

/** The scope of a request, in words. */
export function placeOf({ namespace, path }: Pick<Attributes, "namespace" | "path">): string {
  return path === undefined && namespace !== "" ? `in namespace ${quoted(namespace)}` : "cluster-wide";
}

/** A rule of a role that lacks one thing only. */
interface RuleMiss {
  readonly lacks: Lack;
  readonly rule: PolicyRule;
}

/** The hints from the rules of a role, searched once for all bindings of the role, in a limited number of rules of all roles. */
function memorized<T>(
  limit: number,
  find: (rules: CompiledRules) => T | undefined,
): (role: Grant["role"]) => T | undefined {
  const known = new Map<Grant["role"], T | undefined>();
  let left = limit;
  return (role) => {
    const { rules } = role;
    if (rules === undefined || known.has(role)) return known.get(role);
    const isTooMuch = rules.rules.length > left;
    const found = isTooMuch ? undefined : find(rules);
    if (!isTooMuch) left -= rules.rules.length;
    known.set(role, found);
    return found;
  };
}

function missIn({ rules }: CompiledRules, attributes: Attributes): RuleMiss | undefined {
  for (const lacks of order) {
    const rule = rules.find((one) => variants(one, attributes, lacks).some(matching(one)));
    if (rule !== undefined) return { lacks, rule };
  }
  return undefined;
}

function nearMiss({ grant, lacks, rule }: RuleMiss & { readonly grant: Grant }, attributes: Attributes): NearMiss {
  const { binding, role } = namedGrant(grant);
  const text = `${reachText(grant)}; that allows ${allowedInstead(rule, attributes, lacks)}`;
  return { lacks, text, binding, role, rule: shownRule(rule) };
}

function matching(rule: PolicyRule): (attributes: Attributes) => boolean {
  return (attributes) => ruleMatches(rule, attributes);
}

/** The request with one thing changed to match the rule. */
function variants(rule: PolicyRule, attributes: Attributes, lacks: Lack): readonly Attributes[] {
  const { verbs, apiGroups = [], resources = [], resourceNames = [] } = rule;
  if (lacks === "verb") return verbs.slice(0, 1).map((verb) => ({ ...attributes, verb }));
  if (attributes.path !== undefined) return [];
  switch (lacks) {
    case "name":
      return resourceNames.slice(0, 1).map((name) => ({ ...attributes, name }));
    case "subresource":
      return [
        ...(attributes.subresource === "" ? [] : [{ ...attributes, subresource: "" }]),
        ...resources
          .filter((resource) => resource.startsWith(`${attributes.resource}/`))
          .slice(0, 1)
          .map((resource) => ({ ...attributes, subresource: resource.slice(attributes.resource.length + 1) })),
      ];
    case "group":
      return apiGroups.slice(0, 1).map((group) => ({ ...attributes, group }));
    default:
      return [];
  }
}

function allowedInstead(rule: PolicyRule, attributes: Attributes, lacks: Lack): string {
  const { verb, name, group } = attributes;
  const resource =
    attributes.subresource === "" ? attributes.resource : `${attributes.resource}/${attributes.subresource}`;
  switch (lacks) {
    case "verb":
      return `${words(rule.verbs)}, and not ${verb}`;
    case "name":
      return `only the names ${words(rule.resourceNames ?? [])}, and ${name === "" ? "the request has no name" : `not ${quoted(name)}`}`;
    case "subresource":
      return `${words(rule.resources ?? [])}, and not ${resource}`;
    default:
      return `${attributes.resource} in the API groups ${words((rule.apiGroups ?? []).map(quoted))}, and not in ${quoted(group)}`;
  }
}

/** Grants in namespaces other than the requested one whose role would allow the request. */
function elsewhere(index: RbacIndex, attributes: Attributes, max: number): readonly NearMiss[] {
  const { user, namespace, path } = attributes;
  const query = ruleQuery(attributes);
  const found: NearMiss[] = [];
  const matchOf = memorized(maxRules.elsewhere, (rules) => firstMatch(rules, query));
  for (const grant of index.localGrants(user, maxLookups / (user.groups.length + 1))) {
    if (found.length === max) break;
    if (path === undefined && grant.namespace === namespace) continue;
    const match = matchOf(grant.role);
    if (match === undefined) continue;
    const { binding, role } = namedGrant(grant);
    const where =
      path === undefined
        ? `that allows it in namespace ${quoted(grant.namespace)} only, and not ${placeOf(attributes)}`
        : "paths are granted through ClusterRoleBindings only";
    found.push({
      lacks: "namespace",
      text: `${reachText(grant)}; ${where}`,
      binding,
      role,
      rule: shownRule(match.rule),
    });
  }
  return found;
}

function reachText(grant: Grant): string {
  const { binding, subject, role } = namedGrant(grant);
  const place = binding.namespace === undefined ? "" : ` in namespace ${quoted(binding.namespace)}`;
  const who = subject.namespace === undefined ? subject.name : `${subject.namespace}/${subject.name}`;
  return `${binding.kind} ${quoted(binding.name)}${place} gives ${subject.kind} ${quoted(who)} the ${role.kind} ${quoted(role.name)}`;
}

function isEverything({ verbs, resources, nonResourceURLs }: PolicyRule): boolean {
  return verbs.includes("*") && (resources?.includes("*") === true || nonResourceURLs?.includes("*") === true);
}

/** How much a role grants beyond the request; wildcards grant most. */
function rankOf({ rules }: CompiledRules): number {
  const size = (list: readonly string[] | undefined): number =>
    list?.includes("*") === true ? 1000 : (list?.length ?? 0);
  return rules.reduce(
    (sum, rule) => sum + size(rule.verbs) * (size(rule.apiGroups) * size(rule.resources) + size(rule.nonResourceURLs)),
    0,
  );
}

function words(list: readonly string[]): string {
  const shown = list.slice(0, maxWords).join(", ");
  return list.length > maxWords ? `${shown} and ${list.length - maxWords} more` : shown;
}
