import type { Attributes } from "./authorizer.ts";
import { type ExplainedGrant, explainedGrant } from "./explained-grant.ts";
import type { RbacIndex } from "./rbac-index.ts";
import { firstMatch, ruleQuery } from "./compiled-rules.ts";

/**
 * Every subject that RBAC lets do what the attributes ask, with the binding, role and rule; their `user` does not count. By kind and
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
    // A subject that can be nobody (of an unknown kind, or an account of no namespace) has no rights.
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
