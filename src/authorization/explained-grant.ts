import type { Attributes } from "./authorizer.ts";
import { firstMatch, ruleQuery } from "./compiled-rules.ts";
import { ruleText } from "./rule-coverage.ts";
import type { Grant } from "./subject-table.ts";
import type { RbacIndex } from "./rbac-index.ts";
import { truncate } from "../apimachinery/truncate.ts";

/** An object of the RBAC group; without a namespace it is cluster-wide. */
export interface PolicyObject {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** What allowed a request, by name: the binding, its subject that applies, the role, and the rule as text. */
export interface ExplainedGrant {
  readonly binding: PolicyObject;
  readonly subject: PolicyObject;
  readonly role: PolicyObject;
  readonly rule?: string;
}

/** The maximum length of a rule that is shown, in characters. */
const maxRuleCharacters = 512;

/** The grant with the rule of its role that permits the request, found by the matcher that decides. */
export function explainedGrant(grant: Grant, attributes: Attributes): ExplainedGrant {
  const match = grant.role.rules === undefined ? undefined : firstMatch(grant.role.rules, ruleQuery(attributes));
  return {
    ...namedGrant(grant),
    ...(match === undefined ? {} : { rule: shownRule(match.rule) }),
  };
}

/** The names in a grant. */
export function namedGrant({ kind, namespace, name, subject, roleRef }: Grant): Omit<ExplainedGrant, "rule"> {
  return {
    binding: { kind, ...(namespace === "" ? {} : { namespace }), name },
    subject: {
      kind: subject.kind,
      ...(subject.kind === "ServiceAccount" ? { namespace: subject.namespace || namespace } : {}),
      name: subject.name,
    },
    role: {
      kind: roleRef.kind,
      ...(roleRef.kind === "Role" ? { namespace } : {}),
      name: roleRef.name,
    },
  };
}

/** A rule as text, cut where it is very long. */
export function shownRule(rule: Parameters<typeof ruleText>[0]): string {
  const text = ruleText(rule);
  return truncate(text, maxRuleCharacters);
}

/**
 * Every subject that RBAC allows the attributes, with the binding, role and rule; their `user` is ignored. By kind and
 * name of the subject, then ClusterRoleBindings first.
 */
export function whoCan(index: RbacIndex, attributes: Attributes): readonly ExplainedGrant[] {
  const query = ruleQuery(attributes);
  const found: ExplainedGrant[] = [];
  for (const grant of index.grants()) {
    const { kind, namespace, role } = grant;
    const reaches =
      kind === "ClusterRoleBinding" || (attributes.path === undefined && namespace === attributes.namespace);
    if (!reaches || role.rules === undefined || firstMatch(role.rules, query) === undefined) continue;
    // A subject that matches no user (of an unknown kind, or a ServiceAccount without a namespace) has no rights.
    if (!["User", "Group", "ServiceAccount"].includes(grant.subject.kind)) continue;
    const explained = explainedGrant(grant, attributes);
    if (explained.subject.kind === "ServiceAccount" && explained.subject.namespace === "") continue;
    found.push(explained);
  }
  return found.sort((one, other) => compare(keyOf(one), keyOf(other)));
}

function keyOf({ subject, binding }: ExplainedGrant): readonly string[] {
  return [subject.kind, subject.namespace ?? "", subject.name, binding.kind, binding.name];
}

function compare(one: readonly string[], other: readonly string[]): number {
  for (const [at, word] of one.entries()) {
    const second = other[at] ?? "";
    if (word !== second) return word < second ? -1 : 1;
  }
  return 0;
}
