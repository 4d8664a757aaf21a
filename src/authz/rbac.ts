import { aggregateErrors } from "./aggregate-errors.ts";
import type { Attributes, Authorizer, Decision } from "./authorizer.ts";
import { firstMatch, ruleQuery } from "./compiled-rules.ts";
import type { RbacIndex } from "./rbac-index.ts";
import type { RoleRef, Subject } from "../resources/binding.ts";
import type { PolicyRule } from "../resources/policy-rule.ts";
import { accountNamespace, type Grant } from "./subject-table.ts";

const nothing: Decision = { verdict: "noOpinion", reason: "" };

/** Allows what the bindings of the index permit, and has no opinion on the rest. Source: plugin/pkg/auth/authorizer/rbac. */
export function rbac(index: RbacIndex): Authorizer {
  // A grant's sentence never changes, and the index makes new grants when a binding changes.
  const sentences = new WeakMap<Grant, Decision>();
  return async function rbac(attributes) {
    const grant = index.firstAllowing(attributes);
    if (grant === undefined) return refused(index, attributes);
    const known = sentences.get(grant);
    if (known !== undefined) return known;
    const decision: Decision = { verdict: "allow", reason: allowedBy(grant) };
    sentences.set(grant, decision);
    return decision;
  };
}

/** Why RBAC decided as it did. */
export interface RbacExplanation {
  readonly decision: Decision;
  /** What allowed it: the binding, its subject that applies, the role, and the rule with its place in the role. */
  readonly allowedBy?: {
    readonly binding: BindingName;
    readonly subject: Subject;
    readonly roleRef: RoleRef;
    readonly rule: PolicyRule;
    readonly ruleIndex: number;
  };
  /** All bindings that reach the user there, in the order in which they are asked. */
  readonly considered: readonly {
    readonly binding: BindingName;
    readonly subject: Subject;
    readonly roleRef: RoleRef;
  }[];
}

/** A binding; `namespace` is empty for a ClusterRoleBinding. */
export interface BindingName {
  readonly kind: "ClusterRoleBinding" | "RoleBinding";
  readonly namespace: string;
  readonly name: string;
}

/** The decision that `rbac(index)` gives now, with what led to it; the same lookups, not a second implementation. */
export function explainRbac(index: RbacIndex, attributes: Attributes): RbacExplanation {
  const considered = index.grantsFor(attributes.user, scopeOf(attributes)).map((grant) => {
    return { binding: bindingName(grant), subject: grant.subject, roleRef: grant.roleRef };
  });
  const grant = index.firstAllowing(attributes);
  const match = grant?.role.rules === undefined ? undefined : firstMatch(grant.role.rules, ruleQuery(attributes));
  if (grant === undefined || match === undefined) return { decision: refused(index, attributes), considered };
  const { subject, roleRef } = grant;
  const decision: Decision = { verdict: "allow", reason: allowedBy(grant) };
  const rule = { rule: match.rule, ruleIndex: match.index };
  return { decision, allowedBy: { binding: bindingName(grant), subject, roleRef, ...rule }, considered };
}

function refused(index: RbacIndex, attributes: Attributes): Decision {
  if (index.missingRoles() === 0) return nothing;
  const missing = index
    .grantsFor(attributes.user, scopeOf(attributes))
    .filter((grant) => grant.role.rules === undefined)
    .map((grant) => grant.role.missing);
  return missing.length === 0 ? nothing : { verdict: "noOpinion", reason: `RBAC: ${aggregateErrors(missing)}` };
}

function scopeOf(attributes: Attributes): string {
  return attributes.path === undefined ? attributes.namespace : "";
}

function allowedBy(grant: Grant): string {
  const { kind, name, namespace, roleRef, subject } = grant;
  const binding = JSON.stringify(kind === "RoleBinding" ? `${name}/${namespace}` : name);
  const account = `${subject.name}/${accountNamespace(grant)}`;
  const who = JSON.stringify(subject.kind === "ServiceAccount" ? account : subject.name);
  const role = `${roleRef.kind} ${JSON.stringify(roleRef.name)}`;
  return `RBAC: allowed by ${kind} ${binding} of ${role} to ${subject.kind} ${who}`;
}

function bindingName({ kind, namespace, name }: Grant): BindingName {
  return { kind, namespace, name };
}
