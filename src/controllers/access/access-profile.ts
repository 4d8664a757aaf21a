import { keyOf } from "../../client/object-key.ts";
import type { Clock } from "../../core/clock.ts";
import type { ObjectKey } from "../../core/object.ts";
import { accessProfiles, type AccessProfile } from "../../resources/access-profile.ts";
import { hasReason } from "../api-errors.ts";
import { done, type Controller, type Outcome, type Watch } from "../controller.ts";
import { clusterRoles, namespaces, roles } from "../kinds.ts";
import type { SharedInformers } from "../shared-informers.ts";
import { referenceTo } from "../told.ts";
import { profileConditions, profileState } from "./access-profile-policy.ts";

const serviceAccount = "access-request-controller";

export interface AccessProfileOptions {
  readonly informers: SharedInformers;
  readonly clock: Clock;
}

/** Reports on each profile whether the namespace and the roles that it names exist: without them approving grants nothing. */
export function accessProfile(options: AccessProfileOptions): Controller {
  const { client, reader } = options.informers.as(serviceAccount);
  const profiles = reader({ resource: accessProfiles });
  const homes = reader({ resource: namespaces, metadataOnly: true });
  const localRoles = reader({ resource: roles, metadataOnly: true });
  const clusterWide = reader({ resource: clusterRoles, metadataOnly: true });

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const profile = profiles.get(key) as AccessProfile | undefined;
    if (profile === undefined || profile.metadata.deletionTimestamp !== undefined) return done;
    const state = profileState(profile, {
      namespace: (name) => homes.get({ name }),
      role: localRoles.get,
      clusterRole: (name) => clusterWide.get({ name }),
    });
    const conditions = profileConditions(profile, state, options.clock.now());
    try {
      if (conditions !== undefined) {
        const next = { ...profile, status: { ...profile.status, conditions } };
        await client.update(accessProfiles, next, { subresource: "status" });
      }
    } catch (error) {
      if (hasReason(error, "Conflict", "NotFound")) return { kind: "retry", why: error.message };
      throw error;
    }
    const { reason, message } = state;
    if (reason === "ProfileReady") return done;
    const because = {
      reason,
      about: referenceTo(accessProfiles, profile),
      message: `profile grants nothing: ${message}`,
    };
    return { kind: "blocked", because, again: "woken" };
  }

  const naming = (holds: (spec: AccessProfile["spec"]) => boolean): readonly ObjectKey[] =>
    (profiles.list() as readonly AccessProfile[]).filter(({ spec }) => holds(spec)).map(keyOf);
  return {
    name: "access-profile",
    serviceAccount,
    watches: [
      { resource: accessProfiles },
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
    reconcile,
  };
}
