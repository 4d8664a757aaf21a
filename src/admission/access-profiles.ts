import type { AccessProfile } from "../apis/access-profile.ts";
import { accessGroup } from "../apis/access-request.ts";
import type { AccessCheck } from "./access-check.ts";
import type { AdmissionPlugin } from "./admission.ts";
import { isWiderProfile, rightsOfProfile } from "./profile-rights.ts";
import { requireRights, sameRight } from "./required-rights.ts";

/**
 * Requires the writer of an AccessProfile to hold everything that approving requests for it hands out: the controller, which does it,
 * may do more than whoever writes profiles. A change needs what it adds; one that reaches more machines or gives more to each needs all.
 */
export function accessProfileAdmission(may: AccessCheck): AdmissionPlugin {
  return {
    name: "PratiqueAccessProfile",
    concerns: ({ group }) => group === accessGroup,
    validate: async (request) => {
      const { resource, operation, object, oldObject } = request;
      if (resource.group !== accessGroup || resource.plural !== "accessprofiles") return;
      if (operation === "DELETE" || object === undefined) return;
      const next = object as AccessProfile;
      const stored = oldObject as AccessProfile | undefined;
      const rights = rightsOfProfile(next);
      const held = stored === undefined || isWiderProfile(next, stored) ? [] : rightsOfProfile(stored);
      await requireRights(
        may,
        request,
        rights.filter((right) => !held.some((one) => sameRight(one, right))),
      );
    },
  };
}
