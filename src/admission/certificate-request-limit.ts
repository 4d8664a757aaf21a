import { StatusError } from "../apimachinery/status.ts";
import { mastersGroup } from "../apimachinery/user.ts";
import type { AdmissionPlugin } from "./admission.ts";

export interface CertificateRequestLimitOptions {
  /** How many CertificateSigningRequests of this user are undecided. */
  readonly undecided: (username: string) => number;
  readonly maxUndecided: number;
}

/**
 * Refuses a CertificateSigningRequest of a user who has `maxUndecided` that no approver has decided: each is kept for a day, and a
 * bootstrap token is good for any number of them. Members of system:masters are not limited.
 */
export function certificateRequestLimit({ undecided, maxUndecided }: CertificateRequestLimitOptions): AdmissionPlugin {
  return {
    name: "PratiqueCertificateRequestLimit",
    concerns: ({ group, plural }) => group === "certificates.k8s.io" && plural === "certificatesigningrequests",
    validate: async ({ user, operation, subresource }) => {
      if (operation !== "CREATE" || subresource !== "" || user.groups.includes(mastersGroup)) return;
      if (undecided(user.username) < maxUndecided) return;
      throw new StatusError(
        "TooManyRequests",
        `user ${JSON.stringify(user.username)} has ${maxUndecided} CertificateSigningRequests that no approver has decided: approve, deny or delete some of them (pratique pending), then try again`,
        { details: { retryAfterSeconds: 60 } },
      );
    },
  };
}
