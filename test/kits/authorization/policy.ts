import {
  type ClusterRoleBinding,
  type ClusterRole,
  rbacGroup,
  type Subject,
  type PolicyRule,
  type RoleBinding,
  type Role,
} from "../../../src/apis/rbac.ts";
import type { Random } from "./random.ts";
import {
  accountNames,
  apiGroups,
  groups,
  names,
  namespaces,
  nodeNames,
  pathPatterns,
  pathVerbs,
  resources,
  subresources,
  users,
  verbs,
} from "./words.ts";

/** Roles and bindings. */
export interface Policy {
  readonly clusterRoles: readonly ClusterRole[];
  readonly roles: readonly Role[];
  readonly clusterRoleBindings: readonly ClusterRoleBinding[];
  readonly roleBindings: readonly RoleBinding[];
}

const tiers = ["web", "data", "edge"] as const;
/** Objects of RBAC may have nearly any name. */
const oddities = ["", "", "", " spaced", ":colon", ' "quoted"', " ü", " <&>", " 🙂", "\u00a0", "\u200b"];

/** Roles of both kinds, aggregated ones, and bindings of them, of which some refer to nothing. `size` is the number of roles of a kind. */
export function randomPolicy(random: Random, size: number): Policy {
  const named = (prefix: string) => (index: number) => `${prefix}-${index}${random.one(oddities)}`;
  const times = <T>(count: number, make: (index: number) => T): readonly T[] =>
    Array.from({ length: count }, (_, at) => make(at));
  const wide = times(size, named("wide"));
  const clusterRoles = [
    ...wide.map((name) => clusterRole(random, name)),
    ...times(Math.ceil(size / 8), (index) => aggregated(random, index)),
  ];
  const roles = times(size, (index): Role => {
    const namespace = random.one(namespaces);
    const rules = times(random.below(4), () => resourceRule(random));
    return { ...head("Role"), metadata: { name: named("local")(index), namespace }, rules };
  });
  const wideNames = clusterRoles.map(({ metadata }) => metadata.name ?? "");
  const clusterRoleBindings = times(size, (index): ClusterRoleBinding => {
    const name = random.chance(0.05) ? `absent-${random.below(3)}` : random.one(wideNames);
    const roleRef = { apiGroup: rbacGroup, kind: "ClusterRole", name };
    const metadata = { name: named("everywhere")(index) };
    return { ...head("ClusterRoleBinding"), metadata, roleRef, subjects: subjects(random, false) };
  });
  const roleBindings = times(size * 2, (index): RoleBinding => {
    const namespace = random.one(namespaces);
    const local = roles
      .filter(({ metadata }) => metadata.namespace === namespace)
      .map(({ metadata }) => metadata.name ?? "");
    const kind = random.chance(0.5) && local.length > 0 ? "Role" : "ClusterRole";
    const known = kind === "Role" ? local : wideNames;
    const name = random.chance(0.05) ? `absent-${random.below(3)}` : random.one(known);
    const metadata = { name: named("here")(index), namespace };
    return {
      ...head("RoleBinding"),
      metadata,
      roleRef: { apiGroup: rbacGroup, kind, name },
      subjects: subjects(random, true),
    };
  });
  return { clusterRoles, roles, clusterRoleBindings, roleBindings };
}

function head(kind: string): { readonly apiVersion: string; readonly kind: string } {
  return { apiVersion: `${rbacGroup}/v1`, kind };
}

function clusterRole(random: Random, name: string): ClusterRole {
  const rules = Array.from({ length: random.below(5) }, () =>
    random.chance(0.25) ? pathRule(random) : resourceRule(random),
  );
  const labels = random.chance(0.4) ? { [`tier.example.com/${random.one(tiers)}`]: random.one(["true", "false"]) } : {};
  return { ...head("ClusterRole"), metadata: { name, labels }, rules };
}

/** Every other one is itself a part of others. */
function aggregated(random: Random, index: number): ClusterRole {
  const [sums, isPart] = ["tier.example.com/sums", index % 2 === 0];
  const selector = (): object => {
    const key = isPart || random.chance(0.5) ? `tier.example.com/${random.one(tiers)}` : sums;
    const operator = random.one(["In", "NotIn"]);
    return random.chance(0.6)
      ? { matchLabels: { [key]: "true" } }
      : {
          matchExpressions: [
            { key, operator, values: ["true"] },
            { key, operator: "Exists" },
          ],
        };
  };
  const clusterRoleSelectors = Array.from({ length: 1 + random.below(2) }, selector);
  const labels = isPart ? { [sums]: random.one(["true", "false"]) } : {};
  const metadata = { name: `sum-${index}`, labels };
  return { ...head("ClusterRole"), metadata, aggregationRule: { clusterRoleSelectors }, rules: [] };
}

function resourceRule(random: Random): PolicyRule {
  const resource = (): string => {
    const plain = random.one(resources);
    const kind = random.next();
    if (kind < 0.55) return plain;
    if (kind < 0.8) return `${plain}/${random.one(subresources)}`;
    if (kind < 0.9) return `*/${random.one(subresources)}`;
    return random.one(["*", "*", `${plain}/*`, "*/*"]);
  };
  return {
    verbs: random.chance(0.12) ? ["*"] : random.some(verbs, 1, 4),
    apiGroups: random.chance(0.12) ? ["*"] : random.some(apiGroups, 1, 2),
    resources: Array.from({ length: 1 + random.below(3) }, resource),
    ...(random.chance(0.3) ? { resourceNames: random.some(names, 1, 3) } : {}),
  };
}

function pathRule(random: Random): PolicyRule {
  return {
    verbs: random.chance(0.2) ? ["*"] : random.some(pathVerbs, 1, 3),
    nonResourceURLs: random.some(pathPatterns, 1, 3),
  };
}

/** In a namespace an account may be named without its own. */
function subjects(random: Random, mayOmitNamespace: boolean): readonly Subject[] {
  return Array.from({ length: random.chance(0.05) ? 0 : 1 + random.below(3) }, (): Subject => {
    const kind = random.next();
    if (kind < 0.45) {
      const name = random.chance(0.08) ? `system:node:${random.one(nodeNames)}` : random.one(users);
      return { kind: "User", apiGroup: rbacGroup, name };
    }
    if (kind < 0.75) {
      // A rule for everybody would leave little to refuse.
      const name = random.chance(0.02) ? "system:authenticated" : random.one(groups);
      return { kind: "Group", apiGroup: rbacGroup, name };
    }
    const namespace = mayOmitNamespace && random.chance(0.4) ? {} : { namespace: random.one(namespaces) };
    return { kind: "ServiceAccount", name: random.one(accountNames), ...namespace };
  });
}
