import { quoted } from "../apimachinery/quoted.ts";
import {
  type CompiledRule,
  type CompiledRules,
  compileRules,
  hasName,
  isNamed,
  covers,
  pathCovers,
} from "./compiled-rules.ts";
import type { PolicyRule } from "../apis/rbac.ts";

/** Everything: all verbs on all resources and all paths. */
export const fullAuthority: readonly PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
  { verbs: ["*"], nonResourceURLs: ["*"] },
];

/** How many atomic rules are compared one by one; beyond that only full authority counts. The largest default role has 1,000. */
export const maxAtoms = 20_000;

/** How many comparisons with an atomic rule are made; beyond that only full authority counts. About 20 ms of work. */
export const maxComparisons = 500_000;

/** The rules of the user, and how many comparisons with them are left. */
interface Held {
  readonly owned: CompiledRules;
  comparisons: number;
}

/**
 * What `requested` permits and `held` does not, as atomic rules (one group, resource, verb and name, or one path and verb);
 * empty when all of it is held. Requests of more than `maxAtoms` atoms, and those that take more than `maxComparisons`, are returned whole
 * unless everything is held.
 * Source: component-helpers auth/rbac/validation Covers.
 */
export function uncoveredRules(rules: readonly PolicyRule[], requested: readonly PolicyRule[]): readonly PolicyRule[] {
  const owned = compileRules(rules);
  if (requested.reduce((sum, rule) => sum + atomCount(rule), 0) > maxAtoms) {
    return holdsEverything(owned) ? [] : requested;
  }
  const held = { owned, comparisons: maxComparisons };
  const uncovered = requested.flatMap(atoms).filter((atom) => !atomCovered(held, atom));
  return held.comparisons >= 0 ? uncovered : holdsEverything(owned) ? [] : requested;
}

/** Joins atomic rules that differ only in their verb. Source: component-helpers CompactRules. */
export function compactRules(rules: readonly PolicyRule[]): readonly PolicyRule[] {
  const joined = new Map<string, PolicyRule>();
  for (const rule of rules) {
    const { verbs, ...rest } = rule;
    const paths = rule.nonResourceURLs ?? [];
    // Paths are listed one by one.
    const key = JSON.stringify([
      rest.apiGroups,
      rest.resources,
      rest.resourceNames,
      paths,
      paths.length > 0 ? verbs : [],
    ]);
    const known = joined.get(key);
    joined.set(key, known === undefined ? rule : { ...known, verbs: [...new Set([...known.verbs, ...verbs])] });
  }
  return [...joined.values()];
}

/** `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}`, empty parts left out. Source: rbac/v1 CompactString. */
export function ruleText(rule: PolicyRule): string {
  const parts: readonly (readonly [string, readonly string[] | undefined])[] = [
    ["APIGroups", rule.apiGroups],
    ["Resources", rule.resources],
    ["NonResourceURLs", rule.nonResourceURLs],
    ["ResourceNames", rule.resourceNames],
    ["Verbs", rule.verbs],
  ];
  const shown = parts.filter(([, words]) => words !== undefined && words.length > 0);
  return `{${shown.map(([label, words]) => `${label}:${wordsText(words ?? [])}`).join(", ")}}`;
}

/** `["a" "b"]`: a list of words as Kubernetes' messages show it. */
export function wordsText(words: readonly string[]): string {
  return `[${words.map(quoted).join(" ")}]`;
}

function atomCount(rule: PolicyRule): number {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  const named = apiGroups.length * resources.length * Math.max(1, resourceNames.length);
  return verbs.length * (named + nonResourceURLs.length);
}

function atoms(rule: PolicyRule): PolicyRule[] {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  const names = resourceNames.length === 0 ? [{}] : resourceNames.map((name) => ({ resourceNames: [name] }));
  const onResources = apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      verbs.flatMap((verb) =>
        names.map((name): PolicyRule => ({ apiGroups: [group], resources: [resource], verbs: [verb], ...name })),
      ),
    ),
  );
  const onPaths = nonResourceURLs.flatMap((url) => verbs.map((verb) => ({ nonResourceURLs: [url], verbs: [verb] })));
  return [...onResources, ...onPaths];
}

function holdsEverything(owned: CompiledRules): boolean {
  const held = { owned, comparisons: Infinity };
  return fullAuthority.every((atom) => atomCovered(held, atom));
}

function atomCovered(held: Held, atom: PolicyRule): boolean {
  const { owned } = held;
  const verb = atom.verbs[0] ?? "";
  const path = atom.nonResourceURLs?.[0];
  if (path !== undefined) {
    return owned.byPath.some(({ rule, names }) => {
      const urls = rule.nonResourceURLs ?? [];
      held.comparisons -= 1 + urls.length;
      if (held.comparisons < 0 || names !== undefined || !covers(rule.verbs, verb)) return false;
      return urls.some((pattern) => pathCovers(pattern, path));
    });
  }
  const resource = atom.resources?.[0] ?? "";
  const slash = resource.indexOf("/");
  const candidates = [resource, "*", ...(slash < 0 ? [] : [`*${resource.slice(slash)}`])];
  return candidates.some((candidate) =>
    (owned.byResource.get(candidate) ?? []).some((one) => {
      held.comparisons -= 1;
      return held.comparisons >= 0 && ruleCovers(one, atom, verb);
    }),
  );
}

function ruleCovers(owned: CompiledRule, atom: PolicyRule, verb: string): boolean {
  const { rule } = owned;
  if (!covers(rule.verbs, verb) || !covers(rule.apiGroups, atom.apiGroups?.[0] ?? "")) return false;
  const name = atom.resourceNames?.[0];
  return !isNamed(rule) || (name !== undefined && hasName(owned, name));
}
