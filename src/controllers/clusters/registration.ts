import type { ControllerOptions } from "../shared-informers.ts";
import type { UserInfo } from "../../apimachinery/user.ts";
import type { CsrContents } from "../../pki/csr.ts";
import { clusterAddOns } from "./cluster-add-ons.ts";
import type { AutoApproval } from "./cluster-approving-policy.ts";
import { clusterApproving } from "./cluster-approving.ts";
import { clusterHealth } from "./cluster-health.ts";
import { clusterRequests } from "./cluster-requests.ts";
import { clusterSets } from "./cluster-sets.ts";
import type { Controller } from "../controller.ts";
import { managedCluster } from "./managed-cluster.ts";

export interface RegistrationOptions extends ControllerOptions {
  /** Reads the PEM of a request and verifies that its own key signed it, unless the API did. @throws CsrError */
  readonly parse: (pem: string) => CsrContents;
  /** Who joins without a person. */
  readonly rules: readonly AutoApproval[];
  /** Whether the certificates of a cluster that is shut out are revoked. */
  readonly revokes: boolean;
  /** Whether somebody who asks, or an agent, has been revoked. */
  readonly isRevoked: (user: UserInfo) => boolean;
  /** Whether requests that are left to an approver say so in a condition; default false. */
  readonly marks?: boolean;
}

/** The controllers by which clusters join a hub, stay and leave. */
export function registrationControllers(options: RegistrationOptions): readonly Controller[] {
  return [
    managedCluster(options),
    clusterApproving(options),
    clusterRequests(options),
    clusterHealth(options),
    clusterSets(options),
    clusterAddOns(options),
  ];
}
