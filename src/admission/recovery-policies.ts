import { accessGroup } from "../apis/access-request.ts";
import type { RecoveryPolicy } from "../apis/recovery-policy.ts";
import { recoveryDefaults, type RecoveryTerms } from "../apis/recovery-policy.ts";
import type { AccessCheck } from "./access-check.ts";
import type { AdmissionPlugin } from "./admission.ts";
import { hasMoreNetworks, isMore } from "./access-profiles.ts";
import { approvalRights, requireRights } from "./required-rights.ts";

const nodeSigner = "kubernetes.io/kube-apiserver-client-kubelet";

/**
 * Requires the writer of a RecoveryPolicy to be one who may approve what it approves: client certificates of nodes. A change that lets
 * in no more nodes, no later and no more often needs nothing.
 */
export function recoveryPolicyAdmission(may: AccessCheck): AdmissionPlugin {
  return {
    name: "PratiqueRecoveryPolicy",
    concerns: ({ group, plural }) => group === accessGroup && plural === "recoverypolicies",
    validate: async (request) => {
      const { operation, object, oldObject } = request;
      if (operation === "DELETE" || object === undefined) return;
      const [next, stored] = [object as RecoveryPolicy, oldObject as RecoveryPolicy | undefined];
      if (stored !== undefined && !isWider(next.spec, stored.spec)) return;
      await requireRights(may, request, approvalRights(nodeSigner));
    },
  };
}

function isWider(next: RecoveryPolicy["spec"], stored: RecoveryPolicy["spec"]): boolean {
  const value = (terms: RecoveryTerms, field: keyof typeof recoveryDefaults): number =>
    terms[field] ?? recoveryDefaults[field];
  return (
    isMore(next.nodeNames, stored.nodeNames) ||
    value(next, "windowSeconds") > value(stored, "windowSeconds") ||
    value(next, "times") > value(stored, "times") ||
    value(next, "perSeconds") < value(stored, "perSeconds") ||
    hasMoreNetworks(next.networks, stored.networks)
  );
}
