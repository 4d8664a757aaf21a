import type { Attributes } from "./authorizer.ts";
import type { PolicyRule } from "../apis/rbac.ts";

const none: readonly string[] = [];

/**
 * Whether one rule permits the request, every comparison exact and case-sensitive. `resources: ["*"]` covers subresources,
 * `pods` does not cover `pods/exec`, `pods/*` is not a wildcard, a rule with resourceNames never matches a request
 * without a name. Rules for paths count only where the caller says so by passing a request with a path.
 * Source: kubernetes pkg/apis/rbac/v1 evaluation helpers.
 */
export function ruleMatches(rule: PolicyRule, attributes: Attributes): boolean {
  if (!covers(rule.verbs, attributes.verb)) return false;
  if (attributes.path !== undefined) return pathMatches(rule, attributes.path);
  return (
    covers(rule.apiGroups, attributes.group) &&
    resourceMatches(rule, attributes.resource, attributes.subresource) &&
    nameMatches(rule, attributes.name)
  );
}

/** Whether a list of verbs or groups holds the word or `*`. */
export function covers(list: readonly string[] | undefined, word: string): boolean {
  const words = list ?? none;
  return words.includes(word) || words.includes("*");
}

/** Whether the rule's paths hold this one: exactly, as `*`, or as a prefix ending in `*`. */
export function pathMatches(rule: PolicyRule, path: string): boolean {
  return (rule.nonResourceURLs ?? none).some((pattern) => pathCovers(pattern, path));
}

/** Whether one path pattern covers a path, or another pattern. Only asterisks at its end are wild. */
export function pathCovers(pattern: string, path: string): boolean {
  if (pattern === path) return true;
  let end = pattern.length;
  while (end > 0 && pattern[end - 1] === "*") end--;
  return end < pattern.length && path.startsWith(pattern.slice(0, end));
}

function resourceMatches(rule: PolicyRule, resource: string, subresource: string): boolean {
  const resources = rule.resources ?? none;
  if (resources.includes("*")) return true;
  if (subresource === "") return resources.includes(resource);
  return resources.includes(`${resource}/${subresource}`) || resources.includes(`*/${subresource}`);
}

function nameMatches(rule: PolicyRule, name: string): boolean {
  const names = rule.resourceNames ?? none;
  return names.length === 0 || (name !== "" && names.includes(name));
}
