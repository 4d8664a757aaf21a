import { accessProfileAdmission } from "../admission/access-profiles.ts";
import { accessRequestAdmission, type AccessRequestLookups } from "../admission/access-requests.ts";
import type { AccessCheck } from "../admission/access-check.ts";
import type { AdmissionPlugin } from "../admission/admission.ts";
import { profileFor } from "../controllers/access-request-policy.ts";
import type { Clock } from "../core/clock.ts";
import { objectOf } from "../registry/entry.ts";
import { accessProfiles, type AccessProfile } from "../resources/access-profile.ts";
import { accessRequests, stateOf } from "../resources/access-request.ts";
import { storagePrefix, type Resource } from "../resources/resource.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import { addressLimit } from "./address-limit.ts";

/** How wide the door for machines without a credential is. */
export interface AccessRequestLimits {
  /** New requests a minute from one address; an IPv6 network of 64 bits counts as one. */
  readonly perAddress: number;
  /** New requests a minute from everywhere. */
  readonly inAll: number;
  /** Requests that wait for an answer at once. */
  readonly pending: number;
}

/** What a hub allows that is told nothing else. */
export const defaultAccessRequestLimits: AccessRequestLimits = { perAddress: 30, inAll: 600, pending: 1000 };

/** The plugins that guard access requests and profiles, over what the watch cache holds. */
export function accessAdmission(options: {
  readonly cache: WatchCache;
  readonly clock: Clock;
  readonly may: AccessCheck;
  readonly caPin: string;
  readonly limits: AccessRequestLimits;
}): readonly AdmissionPlugin[] {
  const { cache, clock, may, caPin, limits } = options;
  const lookups: AccessRequestLookups = {
    profileOf: (name) => profileFor(all(cache, accessProfiles) as readonly AccessProfile[], name),
    pending: () => all(cache, accessRequests).filter((request) => stateOf(request) === "Pending").length,
    caPin,
  };
  const now = (): number => clock.now();
  const take = addressLimit({ perAddress: limits.perAddress, inAll: limits.inAll, now });
  return [
    accessRequestAdmission({ lookups, may, take, mostPending: limits.pending, now }),
    accessProfileAdmission(may),
  ];
}

function all(cache: WatchCache, resource: Resource): readonly ReturnType<typeof objectOf>[] {
  return [...cache.list(storagePrefix(resource))].map(objectOf);
}
