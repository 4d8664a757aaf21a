import type { ClusterRole } from "../../../src/apis/rbac.ts";
import type { Difference } from "./agreement.ts";
import { impersonating, type Asker } from "./ask.ts";
import type { Side } from "./comparison.ts";
import type { Policy } from "./policy.ts";
import type { Question } from "./question.ts";
import { namespaces } from "./words.ts";

const path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";

/** What is compared, and what is not. */
export interface RulesSample {
  readonly next: () => Question;
  readonly count: number;
  /** Roles that come with a cluster, which differ from release to release; what they allow is left out. */
  readonly defaults: readonly ClusterRole[];
  readonly policy: Policy;
}

/** The one way in which lists of rules differ. */
export const listedPaths: Pick<Difference, "name" | "why"> = {
  name: "paths through RoleBindings",
  why: "SelfSubjectRulesReview of kube-apiserver also lists paths of ClusterRoles that a RoleBinding refers to, though no RoleBinding grants them; the hub lists only what is granted.",
};

/** How the lists of a sample differ. */
export interface RulesDifferences {
  /** What nobody knows of. */
  readonly strange: readonly object[];
  /** How often `listedPaths` is met. */
  readonly paths: number;
}

/** Of some users what both list as their rights in a namespace, where it is not the same. */
export async function differingRules({ kubernetes, hub }: Side, sample: RulesSample): Promise<RulesDifferences> {
  const { next, count, defaults, policy } = sample;
  const known = new Set(defaults.flatMap(({ rules = [] }) => rules.map(ruleText)));
  const strange: object[] = [];
  let paths = 0;
  for (let asked = 0; asked < count;) {
    const question = next();
    // The others cannot be named in a header, or not by their name.
    if (question.by !== "self" || question.user === "system:node:") continue;
    const namespace = namespaces[asked % namespaces.length] ?? "";
    asked += 1;
    const [theirs, ours] = await Promise.all([
      listed(kubernetes, question, { namespace, known }),
      listed(hub, question, { namespace, known }),
    ]);
    if (JSON.stringify(theirs) === JSON.stringify(ours)) continue;
    const granted = { ...theirs, paths: without(theirs.paths, localPaths(policy, namespace)) };
    const shown = { ...ours, paths: without(ours.paths, localPaths(policy, namespace)) };
    if (JSON.stringify(granted) === JSON.stringify(shown) && ours.paths.every((one) => theirs.paths.includes(one)))
      paths += 1;
    else strange.push({ user: question.user, groups: question.groups, namespace, theirs, ours });
  }
  return { strange, paths };
}

/** The paths in ClusterRoles that RoleBindings of the namespace refer to. */
function localPaths({ clusterRoles, roleBindings }: Policy, namespace: string): ReadonlySet<string> {
  const bound = new Set(
    roleBindings.flatMap(({ metadata, roleRef }) =>
      metadata.namespace === namespace && roleRef.kind === "ClusterRole" ? [roleRef.name] : [],
    ),
  );
  const rules = clusterRoles.flatMap((role) => (bound.has(role.metadata.name ?? "") ? (role.rules ?? []) : []));
  return new Set(rules.map(ruleText));
}

function without(list: readonly string[], others: ReadonlySet<string>): readonly string[] {
  return list.filter((one) => !others.has(one));
}

interface Status {
  readonly resourceRules: readonly object[];
  readonly nonResourceRules: readonly object[];
  readonly evaluationError?: string;
  readonly incomplete: boolean;
}

/** What a server lists, in an order that depends on nothing but what is said. */
interface Listed {
  readonly resources: readonly string[];
  readonly paths: readonly string[];
  readonly errors: readonly string[];
  readonly incomplete: boolean;
  /** Where it was no review. */
  readonly failure?: string;
}

async function listed(
  { post }: Asker,
  question: Question,
  { namespace, known }: { readonly namespace: string; readonly known: ReadonlySet<string> },
): Promise<Listed> {
  const text = await post(path, JSON.stringify({ spec: { namespace } }), impersonating(question));
  const nothing: Listed = { resources: [], paths: [], errors: [], incomplete: false };
  if (!text.startsWith("{")) return { ...nothing, failure: text };
  const { status, message = "" } = JSON.parse(text) as { readonly status: Status | string; readonly message?: string };
  if (typeof status === "string") return { ...nothing, failure: message };
  const { resourceRules, nonResourceRules, evaluationError = "", incomplete } = status;
  return {
    resources: without(resourceRules.map(ruleText).sort(), known),
    paths: without(nonResourceRules.map(ruleText).sort(), known),
    errors: evaluationError
      .replaceAll(/^\[|\]$/g, "")
      .split(", ")
      .sort(),
    incomplete,
  };
}

function ruleText(rule: object): string {
  return JSON.stringify(Object.entries(rule).sort(([one], [other]) => (one < other ? -1 : 1)));
}
