import type { Resource } from "../apis/resource.ts";
import type { AdmissionRule } from "../apis/admission-match.ts";
import type { AdmissionRequest } from "./admission.ts";

/** What rules look at of a write; `resource` may be another version than the one that was asked for. */
export type RuleSubject = Pick<AdmissionRequest, "operation" | "subresource" | "namespace" | "name"> & {
  readonly resource: Pick<Resource, "group" | "version" | "plural" | "scope">;
};

/** Whether any of the rules speaks of the write. Source: apiserver pkg/admission/plugin/webhook/predicates/rules. */
export function matchesAnyRule(rules: readonly AdmissionRule[], subject: RuleSubject): boolean {
  return rules.some((rule) => matchesRule(rule, subject));
}

function matchesRule(rule: AdmissionRule, { operation, resource, subresource, name }: RuleSubject): boolean {
  const { scope = "*", resourceNames = [] } = rule;
  return (
    (scope === "*" || scope === resource.scope) &&
    listed(rule.operations, operation) &&
    listed(rule.apiGroups, resource.group) &&
    listed(rule.apiVersions, resource.version) &&
    (rule.resources ?? []).some((one) => isNamed(one, resource.plural, subresource)) &&
    (resourceNames.length === 0 || resourceNames.includes(name))
  );
}

function listed(items: readonly string[] = [], wanted: string): boolean {
  return items.includes("*") || items.includes(wanted);
}

/** `pods`, `pods/log`, `pods/*`, `*`, `*` with a subresource, and `*` with all of them. Without a slash, subresources are not meant. */
function isNamed(pattern: string, plural: string, subresource: string): boolean {
  const slash = pattern.indexOf("/");
  const [resource, part] = slash < 0 ? [pattern, ""] : [pattern.slice(0, slash), pattern.slice(slash + 1)];
  return (resource === "*" || resource === plural) && (part === "*" || part === subresource);
}
