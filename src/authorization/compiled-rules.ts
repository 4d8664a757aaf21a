import type { Attributes } from "./authorizer.ts";
import type { PolicyRule } from "../apis/rbac.ts";

/** The rules of one role, indexed so that a request looks only at rules that name its resource. */
export interface CompiledRules {
  /** The rules as written, null lists replaced by empty ones. */
  readonly rules: readonly PolicyRule[];
  readonly byResource: ReadonlyMap<string, readonly CompiledRule[]>;
  readonly byPath: readonly CompiledRule[];
}

/** One rule with its place in the role, counted from 0; `names` is set where the rule has more of them than a linear search takes. */
export interface CompiledRule {
  readonly index: number;
  readonly rule: PolicyRule;
  readonly names: ReadonlySet<string> | undefined;
}

/** Up to so many names of a rule are searched linearly; a set for each rule would take more memory than the rest of the rule. */
const fewNames = 8;

/** A request's resource as rules write it, prepared once for many roles. */
export interface RuleQuery {
  readonly attributes: Attributes;
  /** `res` or `res/sub`. */
  readonly resource: string;
  /** The wildcard over all resources with this subresource, or undefined without a subresource. */
  readonly anyResource: string | undefined;
}

/** Indexes the rules of a role. Tolerates null and absent lists, which then match nothing. */
export function compileRules(rules: readonly PolicyRule[] | null | undefined): CompiledRules {
  const byResource = new Map<string, CompiledRule[]>();
  const byPath: CompiledRule[] = [];
  let last: PolicyRule | undefined;
  const clean = (rules ?? []).map((rule) => (last = compact(rule, last)));
  for (const [index, rule] of clean.entries()) {
    const names = rule.resourceNames ?? [];
    const compiled = { index, rule, names: names.length > fewNames ? new Set(names) : undefined };
    for (const resource of new Set(rule.resources)) {
      const known = byResource.get(resource);
      if (known === undefined) byResource.set(resource, [compiled]);
      else known.push(compiled);
    }
    if ((rule.nonResourceURLs ?? []).length > 0) byPath.push(compiled);
  }
  return { rules: clean, byResource, byPath };
}

/** Prepares a request for `firstMatch`. */
export function ruleQuery(attributes: Attributes): RuleQuery {
  const { resource, subresource } = attributes;
  return subresource === ""
    ? { attributes, resource, anyResource: undefined }
    : { attributes, resource: `${resource}/${subresource}`, anyResource: `*/${subresource}` };
}

/** The first rule of the role that permits the request: the same answer as `ruleMatches` over the rules in order. */
export function firstMatch(compiled: CompiledRules, query: RuleQuery): CompiledRule | undefined {
  const { attributes } = query;
  if (attributes.path !== undefined) {
    const { path, verb } = attributes;
    return compiled.byPath.find(({ rule }) => covers(rule.verbs, verb) && pathMatches(rule, path));
  }
  let first = firstOf(compiled.byResource.get(query.resource), attributes);
  if (query.anyResource !== undefined) {
    first = earlier(first, firstOf(compiled.byResource.get(query.anyResource), attributes));
  }
  return query.resource === "*" ? first : earlier(first, firstOf(compiled.byResource.get("*"), attributes));
}

/** The maximum number of rules of the role that `firstMatch` looks at. */
export function rulesToLookAt(
  { byPath, byResource }: CompiledRules,
  { attributes, resource, anyResource }: RuleQuery,
): number {
  if (attributes.path !== undefined) return byPath.length;
  const any = anyResource === undefined ? 0 : (byResource.get(anyResource)?.length ?? 0);
  return any + (byResource.get(resource)?.length ?? 0) + (resource === "*" ? 0 : (byResource.get("*")?.length ?? 0));
}

function firstOf(rules: readonly CompiledRule[] | undefined, attributes: Attributes): CompiledRule | undefined {
  if (rules === undefined) return undefined;
  for (const compiled of rules) {
    const { rule } = compiled;
    if (!covers(rule.verbs, attributes.verb) || !covers(rule.apiGroups, attributes.group)) continue;
    if (!isNamed(rule) || (attributes.name !== "" && hasName(compiled, attributes.name))) return compiled;
  }
  return undefined;
}

function earlier(one: CompiledRule | undefined, other: CompiledRule | undefined): CompiledRule | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one.index <= other.index ? one : other;
}

/** Whether the rule is restricted to certain names. */
export function isNamed({ resourceNames }: PolicyRule): boolean {
  return resourceNames !== undefined && resourceNames.length > 0;
}

/** Whether the rule is restricted to certain names and this is one of them. */
export function hasName({ rule, names }: CompiledRule, name: string): boolean {
  return names?.has(name) ?? rule.resourceNames?.includes(name) === true;
}

const lists = ["apiGroups", "resources", "resourceNames", "nonResourceURLs"] as const;

/** The rule without null lists; it shares equal lists with the rule before it, as most of a large role are equal. */
function compact(rule: PolicyRule, last: PolicyRule | undefined): PolicyRule {
  const kept: { -readonly [list in keyof PolicyRule]: PolicyRule[list] } = {
    verbs: shared(rule.verbs, last?.verbs) ?? [],
  };
  for (const list of lists) {
    const items = shared(rule[list], last?.[list]);
    if (items !== undefined) kept[list] = items;
  }
  return kept;
}

function shared(
  items: readonly string[] | null | undefined,
  last: readonly string[] | undefined,
): readonly string[] | undefined {
  if (!Array.isArray(items)) return undefined;
  const isSame = last?.length === items.length && last.every((item, index) => item === items[index]);
  return isSame ? last : items;
}

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

/** Whether a list of verbs or groups contains the word or `*`. */
export function covers(list: readonly string[] | undefined, word: string): boolean {
  const words = list ?? none;
  return words.includes(word) || words.includes("*");
}

/** Whether the rule's paths cover this one: exactly, as `*`, or as a prefix ending in `*`. */
function pathMatches(rule: PolicyRule, path: string): boolean {
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
