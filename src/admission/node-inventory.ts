import { jsonEqual } from "../apimachinery/equal.ts";
import type { AccessCheck } from "./access-check.ts";
import type { AdmissionPlugin } from "./admission.ts";
import { approvalRights, requireRights } from "./required-rights.ts";

/** The ConfigMap that the controller of serving certificates reads. */
export const inventoryPlace: { readonly namespace: string; readonly name: string } = {
  namespace: "kube-system",
  name: "pratique-node-inventory",
};

const servingSigner = "kubernetes.io/kubelet-serving";

/**
 * Requires the writer of the inventory of nodes to be one who may approve serving certificates: those whose names it lists are approved
 * automatically. Its labels and annotations, and deleting it, which approves nothing, need no more than the verb.
 */
export function nodeInventoryAdmission(may: AccessCheck): AdmissionPlugin {
  return {
    name: "PratiqueNodeInventory",
    concerns: ({ group, plural }) => group === "" && plural === "configmaps",
    validate: async (request) => {
      const { operation, namespace, name, object, oldObject } = request;
      if (namespace !== inventoryPlace.namespace || name !== inventoryPlace.name) return;
      if (operation === "DELETE" || object === undefined) return;
      if (jsonEqual(object["data"] ?? {}, oldObject?.["data"] ?? {})) return;
      await requireRights(may, request, approvalRights(servingSigner));
    },
  };
}
