import type { Condition } from "../../apimachinery/object.ts";
import { signerChecks } from "../../pki/signers.ts";
import type { CsrFacts } from "../../pki/signers.ts";
import { hasCondition } from "./csr-view.ts";
import type { CsrView } from "./csr-view.ts";
import { userRevokedReason } from "./manual-approval.ts";

/** Whether a request waits for one of our signers: approved, not denied, not failed, no certificate yet. */
export function awaitsSigning(csr: CsrView, signers: ReadonlySet<string>): boolean {
  return (
    csr.certificate === "" &&
    hasCondition(csr, "Approved") &&
    !hasCondition(csr, "Denied") &&
    !hasCondition(csr, "Failed") &&
    signers.has(csr.signerName)
  );
}

/** The final refusal of a request whose requester was revoked after it had asked. */
export const requesterRevoked: Condition = {
  type: "Failed",
  status: "True",
  reason: "RequesterRevoked",
  message: "the credential with which this was requested has been revoked",
};

/** The final refusal of a request for a certificate of a user that is revoked by name, by any requester. */
export function userRevoked(user: string): Condition {
  return {
    type: "Failed",
    status: "True",
    reason: userRevokedReason,
    message: `the user ${JSON.stringify(user)} is revoked: delete that CredentialRevocation (pratique revocations list), then create a new request`,
  };
}

/** The final refusal of a request that has not the shape of its signer, or undefined when it may be signed. A signer without a known shape signs nothing. */
export function refusalOf(csr: CsrView, facts: CsrFacts): Condition | undefined {
  const check = signerChecks.get(csr.signerName);
  const message = check === undefined ? `unknown signer ${csr.signerName}` : check(facts, csr.usages);
  return message === undefined
    ? undefined
    : { type: "Failed", status: "True", reason: "SignerValidationFailure", message };
}
