import type { Attributes } from "./authorizer.ts";
import type { PolicyRule } from "../resources/policy-rule.ts";
import { covers, pathMatches } from "./rule-match.ts";

/** The rules of one role, arranged so that a request looks only at rules that speak of its resource. */
export interface CompiledRules {
  /** The rules as written, null lists replaced by empty ones. */
  readonly rules: readonly PolicyRule[];
  readonly byResource: ReadonlyMap<string, readonly CompiledRule[]>;
  readonly byPath: readonly CompiledRule[];
}

/** One rule with its place in the role, counted from 0; `names` is undefined where every name is meant. */
export interface CompiledRule {
  readonly index: number;
  readonly rule: PolicyRule;
  readonly names: ReadonlySet<string> | undefined;
}

/** A request's resource as rules write it, prepared once for many roles. */
export interface RuleQuery {
  readonly attributes: Attributes;
  /** `res` or `res/sub`. */
  readonly resource: string;
  /** The wildcard over all resources with this subresource, or undefined without a subresource. */
  readonly anyResource: string | undefined;
}

/** Arranges the rules of a role. Tolerates null and absent lists, which then match nothing. */
export function compileRules(rules: readonly PolicyRule[] | null | undefined): CompiledRules {
  const byResource = new Map<string, CompiledRule[]>();
  const byPath: CompiledRule[] = [];
  const clean = (rules ?? []).map(withoutNulls);
  for (const [index, rule] of clean.entries()) {
    const names = rule.resourceNames ?? [];
    const compiled = { index, rule, names: names.length === 0 ? undefined : new Set(names) };
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

/** How many rules of the role `firstMatch` looks at, at the most. */
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
    const { rule, names } = compiled;
    if (!covers(rule.verbs, attributes.verb) || !covers(rule.apiGroups, attributes.group)) continue;
    if (names === undefined || (attributes.name !== "" && names.has(attributes.name))) return compiled;
  }
  return undefined;
}

function earlier(one: CompiledRule | undefined, other: CompiledRule | undefined): CompiledRule | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one.index <= other.index ? one : other;
}

function withoutNulls(rule: PolicyRule): PolicyRule {
  const kept = Object.entries(rule).filter(([, value]) => Array.isArray(value));
  const { verbs = [], ...rest }: Partial<PolicyRule> = Object.fromEntries(kept);
  return { verbs, ...rest };
}
