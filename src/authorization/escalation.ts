import { jsonEqual } from "../apimachinery/equal.ts";
import { badRequest, forbidden, notFound, type StatusError } from "../apimachinery/status.ts";
import { mastersGroup, type UserInfo } from "../apimachinery/user.ts";
import { quoted } from "../apimachinery/quoted.ts";
import { rbacGroup, type PolicyRule } from "../apis/rbac.ts";
import { compactRules, fullAuthority, ruleText, uncoveredRules, wordsText } from "./rule-coverage.ts";
import { aggregateErrors, type Attributes, type Authorizer } from "./authorizer.ts";
import type { RbacIndex } from "./rbac-index.ts";
import { type AnyBinding, type AnyRole, type RbacObject, aggregationOf } from "./rbac-types.ts";

/** What the escalation checks call: the whole chain, and the rules of a user. */
export interface EscalationChecks {
  readonly authorize: Authorizer;
  readonly rules: Pick<RbacIndex, "rulesFor" | "rulesOf">;
}

/** A create (`stored` undefined) or update of a validated role by an authenticated, already authorized user. */
export interface RoleWrite {
  readonly user: UserInfo;
  readonly object: AnyRole;
  readonly stored: AnyRole | undefined;
}

/** A create (`stored` undefined) or update of a validated binding by an authenticated, already authorized user. */
export interface BindingWrite {
  readonly user: UserInfo;
  readonly object: AnyBinding;
  readonly stored: AnyBinding | undefined;
}

/** The maximum length of the missing rules in a message, in characters. */
const maxMessage = 16_384;

/**
 * Why the user may not write this role, or undefined when it may: it is in system:masters, changes neither rules nor labels,
 * may `escalate` the role, or has every rule itself. An aggregationRule, old or new, requires full authority, because its
 * rules come from other roles; a change of labels counts too, because labels can add a role to an aggregated one.
 * Source: kubernetes pkg/registry/rbac/{role,clusterrole}/policybased.
 */
export async function roleWriteRefusal(write: RoleWrite, checks: EscalationChecks): Promise<StatusError | undefined> {
  const { user, object, stored } = write;
  if (isMaster(user) || (stored !== undefined && grantsTheSame(object, stored))) return undefined;
  const { plural, namespace, name } = placeOf(object);
  if (await isAllowed(checks, { user, verb: "escalate", resource: plural, namespace, name })) return undefined;

  const refuse = (why: string): StatusError => forbidden({ group: rbacGroup, plural }, name, why);
  const missing = missingRulesText(checks, { user, namespace, rules: object.rules ?? [] });
  if (missing !== undefined) return refuse(missing);
  const aggregates = [object, stored].some((role) => role !== undefined && aggregationOf(role) !== undefined);
  if (!aggregates || missingRulesText(checks, { user, namespace, rules: fullAuthority }) === undefined)
    return undefined;
  return refuse("must have cluster-admin privileges to use the aggregationRule");
}

/**
 * Why the user may not write this binding, or undefined when it may: it is in system:masters, changes neither subjects nor
 * roleRef, may `bind` the role in the binding's namespace, or has every rule of the role there. A missing role is 404.
 * Source: kubernetes pkg/registry/rbac/{rolebinding,clusterrolebinding}/policybased.
 */
export async function bindingWriteRefusal(
  write: BindingWrite,
  checks: EscalationChecks,
): Promise<StatusError | undefined> {
  const { user, object, stored } = write;
  if (isMaster(user) || (stored !== undefined && bindsTheSame(object, stored))) return undefined;
  const { roleRef } = object;
  const { plural, namespace, name } = placeOf(object);
  if (roleRef.kind !== "ClusterRole" && (roleRef.kind !== "Role" || namespace === "")) {
    return badRequest(`unsupported role reference kind: ${quoted(roleRef.kind)}`);
  }
  const role = roleRef.kind.toLowerCase();
  if (await isAllowed(checks, { user, verb: "bind", resource: `${role}s`, namespace, name: roleRef.name }))
    return undefined;

  const rules = checks.rules.rulesOf(roleRef, namespace);
  if (rules === undefined) return notFound({ group: rbacGroup, plural: role }, roleRef.name);
  const missing = missingRulesText(checks, { user, namespace, rules });
  return missing === undefined ? undefined : forbidden({ group: rbacGroup, plural }, name, missing);
}

/** Which object is written; the namespace is empty for a cluster-scoped one, whatever its metadata contains. */
function placeOf({ kind, metadata }: RbacObject): Readonly<Record<"plural" | "namespace" | "name", string>> {
  const { namespace = "", name = "" } = metadata;
  return { plural: `${kind.toLowerCase()}s`, namespace: kind.startsWith("Cluster") ? "" : namespace, name };
}

/**
 * The message that names what the user lacks, or undefined when it has all rules in the namespace. One line per missing
 * rule, sorted, verbs joined; long lists are cut. Source: pkg/registry/rbac/validation ConfirmNoEscalation.
 */
export function missingRulesText(
  checks: Pick<EscalationChecks, "rules">,
  wanted: { readonly user: UserInfo; readonly namespace: string; readonly rules: readonly PolicyRule[] },
): string | undefined {
  const { user, namespace, rules } = wanted;
  const held = checks.rules.rulesFor(user, namespace);
  const missing = uncoveredRules(held.rules, rules);
  if (missing.length === 0) return undefined;
  const lines = [...new Set(compactRules(missing).map(ruleText))].sort();
  const who = `user ${quoted(user.username)} (groups=${wordsText(user.groups)})`;
  const resolution = held.errors.length === 0 ? "" : `; resolution errors: [${aggregateErrors(held.errors)}]`;
  return `${who} is attempting to grant RBAC permissions not currently held:\n${cut(lines)}${resolution}`;
}

async function isAllowed(
  checks: EscalationChecks,
  wanted: Pick<Attributes, "user" | "verb" | "resource" | "namespace" | "name">,
): Promise<boolean> {
  const attributes = { ...wanted, group: rbacGroup, version: "*", subresource: "", path: undefined };
  return (await checks.authorize(attributes)).verdict === "allow";
}

function isMaster(user: UserInfo): boolean {
  return user.groups.includes(mastersGroup);
}

function grantsTheSame(next: AnyRole, stored: AnyRole): boolean {
  const part = (role: AnyRole): unknown => [role.rules ?? [], aggregationOf(role), role.metadata.labels ?? {}];
  return jsonEqual(part(next), part(stored));
}

function bindsTheSame(next: AnyBinding, stored: AnyBinding): boolean {
  const part = (binding: AnyBinding): unknown => [binding.subjects ?? [], binding.roleRef];
  return jsonEqual(part(next), part(stored));
}

function cut(lines: readonly string[]): string {
  const kept: string[] = [];
  let length = 0;
  for (const line of lines) {
    length += line.length + 1;
    if (length > maxMessage) return [...kept, `... and ${lines.length - kept.length} more`].join("\n");
    kept.push(line);
  }
  return kept.join("\n");
}
