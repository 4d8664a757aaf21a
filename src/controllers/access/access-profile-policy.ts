import { rfc3339 } from "../../apimachinery/clock.ts";
import { setCondition } from "../../apimachinery/conditions.ts";
import type { ApiObject, Condition, ObjectKey } from "../../apimachinery/object.ts";
import type { Reason } from "../../apimachinery/reasons.ts";
import {
  defaultConflictCondition,
  defaultProfileAnnotation,
  isMarkedDefault,
  profileCondition,
  type AccessProfile,
  type AccessRole,
} from "../../apis/access-profile.ts";

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

/** That several profiles are marked as default. */
export interface DefaultConflict {
  readonly reason: Extract<Reason, "ProfileDefaultAmbiguous">;
  readonly message: string;
}

/** `marked` are the names of all profiles that are marked as default; undefined where this is none of them, or the only one. */
export function defaultConflict(profile: AccessProfile, marked: readonly string[]): DefaultConflict | undefined {
  if (!isMarkedDefault(profile) || marked.length < 2) return undefined;
  const sorted = marked.toSorted();
  const others = sorted.filter((name) => name !== profile.metadata.name).map((name) => JSON.stringify(name));
  const more = others.length - maxNamed;
  const also = `${others.slice(0, maxNamed).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  const message = `${marked.length} AccessProfiles are marked as default: an access request that names no profile is for ${JSON.stringify(sorted[0])}, the first by name; remove the annotation ${defaultProfileAnnotation} from all but one (also marked: ${also})`;
  return { reason: "ProfileDefaultAmbiguous", message };
}

const maxNamed = 5;

/** The conditions that say so, or undefined where they do already. */
export function profileConditions(
  { status = {} }: AccessProfile,
  { state, conflict }: { readonly state: ProfileState; readonly conflict: DefaultConflict | undefined },
  now: number,
): readonly Condition[] | undefined {
  const before = status.conditions ?? [];
  const { reason, message } = state;
  const isReady = reason === "ProfileReady";
  const next: Condition = { type: profileCondition, status: isReady ? "True" : "False", reason, message };
  const after = withConflict(setCondition(before, next, rfc3339(now)), conflict, now);
  return after === before ? undefined : after;
}

function withConflict(
  conditions: readonly Condition[],
  conflict: DefaultConflict | undefined,
  now: number,
): readonly Condition[] {
  const type = defaultConflictCondition;
  if (conflict !== undefined) return setCondition(conditions, { type, status: "True", ...conflict }, rfc3339(now));
  return conditions.some((one) => one.type === type) ? conditions.filter((one) => one.type !== type) : conditions;
}
