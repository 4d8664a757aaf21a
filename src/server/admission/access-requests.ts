import { accessAccountAdmission, accessTokenAdmission } from "../../admission/access-accounts.ts";
import { accessProfileAdmission, recoveryPolicyAdmission } from "../../admission/access-profiles.ts";
import {
  accessRequestAdmission,
  tooManyAccessRequests,
  type AccessRequestLookups,
} from "../../admission/access-requests.ts";
import { nodeInventoryAdmission } from "../../admission/required-rights.ts";
import type { AccessCheck, AdmissionPlugin } from "../../admission/admission.ts";
import { profileFor } from "../../controllers/access/access-request-policy.ts";
import type { Clock } from "../../apimachinery/clock.ts";
import { anonymousUser } from "../../apimachinery/user.ts";
import type { PipelineOptions } from "../../apiserver/pipeline.ts";
import { objectOf } from "../../registry/entry.ts";
import { accessProfiles, type AccessProfile } from "../../apis/access-profile.ts";
import { accessRequests, plainAddress, stateOf, type AccessRequest } from "../../apis/access-request.ts";
import { storagePrefix } from "../../apis/resource.ts";
import { pinsOf } from "../../ca/ca-folder.ts";
import type { HubBase } from "../hub-state.ts";
import { defaultAccessRequestLimits, type HubOptions } from "../hub-options.ts";
import type { WatchCache } from "../../storage/watch-cache.ts";
import { addressLimit, placeOf } from "../../admission/address-limit.ts";
import { cachedObject, compiledObjects, countedObjects } from "../../storage/observed-objects.ts";

/** The plugins that guard access requests and profiles, on the watch cache. */
export function accessAdmission(
  { accessRequests: limits = defaultAccessRequestLimits }: Pick<HubOptions, "accessRequests">,
  parts: Pick<HubBase, "cache" | "clock" | "authorities"> & { readonly may: AccessCheck },
): readonly AdmissionPlugin[] {
  const { cache, clock, may, authorities } = parts;
  // Pins of the CAs that machines receive.
  const caPins = (): readonly string[] => pinsOf(authorities());
  const profiles = compiledObjects(cache, {
    prefix: storagePrefix(accessProfiles),
    compile: (entry) => objectOf(entry) as AccessProfile,
  });
  const profileOf = (name: string | undefined): AccessProfile | undefined => profileFor(profiles(), name);
  const owners = {
    accountOf: async (namespace: string, name: string) => cachedObject(cache, `${accounts}${namespace}/${name}`),
    requestOf: (name: string) => cachedObject(cache, storagePrefix(accessRequests) + name) as AccessRequest | undefined,
  };
  const lookups: AccessRequestLookups = { profileOf, requestOf: owners.requestOf, ...pendingIn(cache), caPins };
  const now = (): number => clock.now();
  return [
    accessRequestAdmission({ lookups, may, maxPending: limits.pending, now }),
    accessProfileAdmission(may),
    recoveryPolicyAdmission(may),
    nodeInventoryAdmission(may),
    accessAccountAdmission({ lookups: owners, may }),
    accessTokenAdmission({ profileOf, ...owners }, may),
  ];
}

/** Counts the requests of machines without a credential before reading their bodies: rejected requests count too. The function throws StatusError TooManyRequests. */
export function accessRequestRate(
  { accessRequests: limits = defaultAccessRequestLimits }: Pick<HubOptions, "accessRequests">,
  clock: Clock,
): PipelineOptions["limitRate"] {
  const take = addressLimit({ perAddress: limits.perAddress, inAll: limits.inAll, now: () => clock.now() });
  return ({ info, user, address }) => {
    if (user.username !== anonymousUser || info.verb !== "create") return;
    if (info.group !== accessRequests.group || info.resource !== accessRequests.plural) return;
    if (!take(plainAddress(address))) throw tooManyAccessRequests();
  };
}

const accounts = storagePrefix({ group: "", plural: "serviceaccounts" });

/** The number of requests that wait for an answer. */
function pendingIn(cache: WatchCache): Required<Pick<AccessRequestLookups, "pending" | "pendingFrom">> {
  const { all, of } = countedObjects(cache, {
    prefix: storagePrefix(accessRequests),
    under: (entry) => {
      const request = objectOf(entry) as AccessRequest;
      return stateOf(request) === "Pending" ? placeOf(request.status?.evidence?.sourceAddress ?? "") : undefined;
    },
  });
  return { pending: all, pendingFrom: (address) => of(placeOf(address)) };
}
