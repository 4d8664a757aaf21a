import { rfc3339 } from "../../core/clock.ts";
import { setCondition } from "../../core/conditions.ts";
import type { ApiObject, Condition, ObjectKey } from "../../core/object.ts";
import type { Reason } from "../../core/reasons.ts";
import { profileCondition, type AccessProfile, type AccessRole } from "../../resources/access-profile.ts";

/** What a profile may name, as it is now. */
export interface ProfileSurroundings {
  readonly namespace: (name: string) => ApiObject | undefined;
  readonly role: (key: ObjectKey) => ApiObject | undefined;
  readonly clusterRole: (name: string) => ApiObject | undefined;
}

/** Whether everything that a profile names exists, or the first thing that does not. */
export interface ProfileState {
  readonly reason: Extract<
    Reason,
    "ProfileNamespaceMissing" | "ProfileNamespaceTerminating" | "ProfileReady" | "ProfileRoleMissing"
  >;
  readonly message: string;
}

/** Looks for the namespace first: without it there is no role either. */
export function profileState({ spec }: AccessProfile, around: ProfileSurroundings): ProfileState {
  const { namespace, roles = [] } = spec;
  const home = around.namespace(namespace);
  const shown = JSON.stringify(namespace);
  if (home === undefined) {
    const message = `namespace ${shown} does not exist; create it (kubectl create namespace ${namespace}), or change the profile`;
    return { reason: "ProfileNamespaceMissing", message };
  }
  if (home.metadata.deletionTimestamp !== undefined) {
    const message = `namespace ${shown} is being deleted; create it again, or change the profile`;
    return { reason: "ProfileNamespaceTerminating", message };
  }
  const exists = ({ kind, name }: AccessRole): boolean =>
    (kind === "Role" ? around.role({ namespace, name }) : around.clusterRole(name)) !== undefined;
  const missing = roles.filter((role) => !exists(role)).map(({ kind, name }) => `${kind} ${JSON.stringify(name)}`);
  if (missing.length > 0) {
    const verb = missing.length === 1 ? "does" : "do";
    const message = `${missing.join(", ")} ${verb} not exist; create ${missing.length === 1 ? "it" : "them"}, or change the profile`;
    return { reason: "ProfileRoleMissing", message };
  }
  return { reason: "ProfileReady", message: "namespace and roles exist" };
}

/** The conditions that say so, or undefined where they do already. */
export function profileConditions(
  { status = {} }: AccessProfile,
  { reason, message }: ProfileState,
  now: number,
): readonly Condition[] | undefined {
  const before = status.conditions ?? [];
  const isReady = reason === "ProfileReady";
  const next: Condition = { type: profileCondition, status: isReady ? "True" : "False", reason, message };
  const after = setCondition(before, next, rfc3339(now));
  return after === before ? undefined : after;
}
