import type { ControllerOptions } from "../shared-informers.ts";
import { keyOf } from "../../client/paths.ts";
import type { Change } from "../../client/object-store.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import type { ApiObject, Condition, ObjectKey } from "../../apimachinery/object.ts";
import {
  type AccessProfile,
  type AccessRole,
  accessProfiles,
  defaultConflictCondition,
  defaultProfileAnnotation,
  isMarkedDefault,
  profileCondition,
} from "../../apis/access-profile.ts";
import { isConditionTrue, setCondition } from "../../apimachinery/conditions.ts";
import { type Controller, type Outcome, type Watch, done, referenceTo, retryOn } from "../controller.ts";
import { clusterRoles, namespaces, roles } from "../kinds.ts";
import type { Reason } from "../../apimachinery/reasons.ts";

const serviceAccount = "access-request-controller";

/**
 * Sets a condition on each profile whether the namespace and the roles that it names exist: without them an approval grants nothing. Sets
 * a condition on each default profile whether there are others.
 */
export function accessProfile(options: ControllerOptions): Controller {
  const { client, reader } = options.informers.as(serviceAccount);
  const profiles = reader({ resource: accessProfiles });
  const allNamespaces = reader({ resource: namespaces, metadataOnly: true });
  const localRoles = reader({ resource: roles, metadataOnly: true });
  const clusterWide = reader({ resource: clusterRoles, metadataOnly: true });
  const defaults = markedProfiles();

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const profile = profiles.get(key) as AccessProfile | undefined;
    if (profile === undefined || profile.metadata.deletionTimestamp !== undefined) return done;
    const state = profileState(profile, {
      namespace: (name) => allNamespaces.get({ name }),
      role: localRoles.get,
      clusterRole: (name) => clusterWide.get({ name }),
    });
    const conflict = defaultConflict(profile, defaults.names());
    const conditions = profileConditions(profile, { state, conflict }, options.clock.now());
    if (conditions !== undefined) {
      const next = { ...profile, status: { ...profile.status, conditions } };
      await client.update(accessProfiles, next, { subresource: "status" });
    }
    const about = referenceTo(accessProfiles, profile);
    const { reason, message } = state;
    if (reason === "ProfileReady") {
      return conflict === undefined ? done : { kind: "blocked", because: { ...conflict, about }, again: "woken" };
    }
    const because = { reason, about, message: `profile grants nothing: ${message}` };
    const isNew = conflict !== undefined && !isConditionTrue(profile.status?.conditions, defaultConflictCondition);
    return { kind: "blocked", because, again: "woken", ...(isNew ? { reports: [{ ...conflict, about }] } : {}) };
  }

  const naming = (holds: (spec: AccessProfile["spec"]) => boolean): readonly ObjectKey[] =>
    (profiles.list() as readonly AccessProfile[]).filter(({ spec }) => holds(spec)).map(keyOf);
  return {
    name: "access-profile",
    serviceAccount,
    watches: [
      { resource: accessProfiles, observe: defaults.observe, keys: defaults.affected },
      {
        resource: namespaces,
        metadataOnly: true,
        keys: ({ metadata }) => naming(({ namespace }) => namespace === metadata.name),
      },
      ...[roles, clusterRoles].map((resource): Watch => ({
        resource,
        // Only the existence of a role matters, and large ones take a lot of memory.
        metadataOnly: true,
        keys: ({ metadata }: { readonly metadata: { readonly name?: string } }) =>
          naming((spec) =>
            (spec.roles ?? []).some(({ kind, name }) => kind === resource.kind && name === metadata.name),
          ),
      })),
    ],
    concurrency: 4,
    reconcile: (key) => retryOn(reconcile(key), "Conflict", "NotFound"),
  };
}

/** The default profiles: a change of the mark affects all profiles that have it. */
function markedProfiles(): {
  readonly names: () => readonly string[];
  readonly observe: (change: Change) => void;
  readonly affected: (profile: ApiObject) => readonly ObjectKey[];
} {
  const marked = new Set<string>();
  let hasChanged = false;
  return {
    names: () => [...marked],
    observe: ({ type, object }) => {
      const { name = "" } = object.metadata;
      const isMarked = type !== "DELETED" && isMarkedDefault(object);
      hasChanged = isMarked !== marked.has(name);
      if (isMarked) marked.add(name);
      else marked.delete(name);
    },
    affected: (profile) => [keyOf(profile), ...(hasChanged ? Array.from(marked, (name) => ({ name })) : [])],
  };
}

/** The objects that profiles may name, at this moment. */
interface ProfileSurroundings {
  readonly namespace: (name: string) => ApiObject | undefined;
  readonly role: (key: ObjectKey) => ApiObject | undefined;
  readonly clusterRole: (name: string) => ApiObject | undefined;
}

/** Whether everything that a profile names exists, or the first thing that does not. */
interface ProfileState {
  readonly reason: Extract<
    Reason,
    "ProfileNamespaceMissing" | "ProfileNamespaceTerminating" | "ProfileReady" | "ProfileRoleMissing"
  >;
  readonly message: string;
}

/** Checks the namespace first: without it no role exists either. */
function profileState({ spec }: AccessProfile, around: ProfileSurroundings): ProfileState {
  const { namespace, roles = [] } = spec;
  const found = around.namespace(namespace);
  const shown = JSON.stringify(namespace);
  if (found === undefined) {
    const message = `namespace ${shown} does not exist; create it (kubectl create namespace ${namespace}), or change the profile`;
    return { reason: "ProfileNamespaceMissing", message };
  }
  if (found.metadata.deletionTimestamp !== undefined) {
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

/** The condition that several profiles are marked as default. */
interface DefaultConflict {
  readonly reason: Extract<Reason, "ProfileDefaultAmbiguous">;
  readonly message: string;
}

/** `marked` are the names of all default profiles; undefined where this is none of them, or the only one. */
function defaultConflict(profile: AccessProfile, marked: readonly string[]): DefaultConflict | undefined {
  if (!isMarkedDefault(profile) || marked.length < 2) return undefined;
  const sorted = marked.toSorted();
  const others = sorted.filter((name) => name !== profile.metadata.name).map((name) => JSON.stringify(name));
  const more = others.length - maxNamed;
  const also = `${others.slice(0, maxNamed).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  const message = `${marked.length} AccessProfiles are marked as default: an access request that names no profile is for ${JSON.stringify(sorted[0])}, the first by name; remove the annotation ${defaultProfileAnnotation} from all but one (also marked: ${also})`;
  return { reason: "ProfileDefaultAmbiguous", message };
}

const maxNamed = 5;

/** The changed conditions, or undefined where nothing changes. */
function profileConditions(
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
