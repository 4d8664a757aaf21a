import { clientSigner, wantsApiAccess } from "../apis/add-on-versions.ts";
import { managedClusterAddOns } from "../apis/managed-cluster.ts";
import type { AccessCheck } from "./access-check.ts";
import type { AdmissionPlugin } from "./admission.ts";
import { approvalRights, requireRights } from "./required-rights.ts";

/**
 * Requires who registers an add-on for the API to be one who may approve its certificates, as these are approved by themselves from
 * then on. The agent of the cluster, which writes the rest of that status, may not.
 */
export function clusterAddOnAdmission(may: AccessCheck): AdmissionPlugin {
  return {
    name: "ManagedClusterAddOn",
    concerns: ({ group, plural }) => group === managedClusterAddOns.group && plural === managedClusterAddOns.plural,
    validate: async (request) => {
      const { operation, object, oldObject } = request;
      if (operation === "DELETE" || object === undefined || !wantsApiAccess(object)) return;
      if (oldObject !== undefined && wantsApiAccess(oldObject)) return;
      await requireRights(may, request, approvalRights(clientSigner));
    },
  };
}
