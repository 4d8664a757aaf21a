import { keyOf } from "../../client/object-key.ts";
import type { Change } from "../../client/object-store.ts";
import type { Clock } from "../../apimachinery/clock.ts";
import type { ApiObject, ObjectKey } from "../../apimachinery/object.ts";
import {
  accessProfiles,
  defaultConflictCondition,
  isMarkedDefault,
  type AccessProfile,
} from "../../apis/access-profile.ts";
import { isConditionTrue } from "../../apimachinery/conditions.ts";
import { done, retryOn, type Controller, type Outcome, type Watch } from "../controller.ts";
import { clusterRoles, namespaces, roles } from "../kinds.ts";
import type { SharedInformers } from "../shared-informers.ts";
import { referenceTo } from "../report.ts";
import { defaultConflict, profileConditions, profileState } from "./access-profile-policy.ts";

const serviceAccount = "access-request-controller";

export interface AccessProfileOptions {
  readonly informers: SharedInformers;
  readonly clock: Clock;
}

/**
 * Reports on each profile whether the namespace and the roles that it names exist: without them approving grants nothing. Reports on each
 * that is marked as default whether others are as well.
 */
export function accessProfile(options: AccessProfileOptions): Controller {
  const { client, reader } = options.informers.as(serviceAccount);
  const profiles = reader({ resource: accessProfiles });
  const homes = reader({ resource: namespaces, metadataOnly: true });
  const localRoles = reader({ resource: roles, metadataOnly: true });
  const clusterWide = reader({ resource: clusterRoles, metadataOnly: true });
  const defaults = markedProfiles();

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const profile = profiles.get(key) as AccessProfile | undefined;
    if (profile === undefined || profile.metadata.deletionTimestamp !== undefined) return done;
    const state = profileState(profile, {
      namespace: (name) => homes.get({ name }),
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
        // Only whether a role exists matters, and large ones take a lot of memory.
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

/** Which profiles are marked as default: a mark that comes or goes concerns all that have one. */
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
