import {
  type CsrControllerOptions,
  type CsrView,
  csrView,
  hasCondition,
  withCertificate,
  withCondition,
  withConditions,
} from "./csr-view.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { setCondition } from "../../apimachinery/conditions.ts";
import type { ApiObject, Condition, ObjectKey } from "../../apimachinery/object.ts";
import type { UserInfo } from "../../apimachinery/user.ts";
import type { CsrContents } from "../../pki/csr.ts";
import { type CsrFacts, signerChecks } from "../../pki/signers.ts";
import { type Controller, type Outcome, done, referenceTo } from "../controller.ts";
import { isUserRevoked } from "./node-name-claims.ts";
import { certificateSigningRequests } from "../kinds.ts";
import { signingDelayedCondition } from "../../apis/csr-conditions.ts";
import { userRevokedReason } from "./manual-approval.ts";

const serviceAccount = "certificate-controller";

/** What to sign. The request is verified, approved, and valid for its signer. */
export interface SigningOrder {
  readonly request: CsrContents;
  readonly usages: readonly string[];
  /** The requested duration; undefined: the maximum of the signer. */
  readonly expirationSeconds: number | undefined;
  readonly signerName: string;
}

export interface CsrSigningOptions extends CsrControllerOptions {
  /** Whether the credential of the requester, or the user that the certificate is for, has been revoked since. */
  readonly isRevoked?: (requester: UserInfo) => boolean;
  /** Issues the certificate, as one PEM block. An error is written to the request, and issuing is retried. */
  readonly sign: (order: SigningOrder) => Promise<string>;
}

/**
 * Signs approved requests of the built-in signers; a request that violates the rules of its signer fails permanently. Source: Kubernetes
 * pkg/controller/certificates/signer.
 */
export function csrSigning(options: CsrSigningOptions): Controller {
  const { parse, sign } = options;
  const { client, reader } = options.informers.as(serviceAccount);
  const csrs = reader({ resource: certificateSigningRequests });
  const signers = new Set(signerChecks.keys());

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const object = csrs.get(key);
    if (object === undefined) return done;
    const csr = csrView(object);
    if (!awaitsSigning(csr, signers)) return done;
    const request = parse(csr.request);
    const refusal = revocationOf(csr, request) ?? refusalOf(csr, request);
    if (refusal !== undefined) {
      await write(withCondition(object, refusal));
      return done;
    }
    const { usages, expirationSeconds, signerName } = csr;
    let pem: string;
    try {
      pem = await sign({ request, usages, expirationSeconds, signerName });
    } catch (error) {
      return delayed(object, csr, error);
    }
    const kept = csr.conditions.filter(({ type }) => type !== signingDelayedCondition);
    await write(withCertificate(withConditions(object, kept), pem));
    return done;
  }

  function revocationOf({ requester }: CsrView, { subject }: CsrContents): Condition | undefined {
    const { isRevoked } = options;
    if (isRevoked?.(requester) === true) return requesterRevoked;
    return isUserRevoked(subject.commonName, isRevoked) ? userRevoked(subject.commonName) : undefined;
  }

  /** Written before the retry, as requester and approvers read it. */
  async function delayed(object: ApiObject, csr: CsrView, error: unknown): Promise<Outcome> {
    // Only the operator gets the cause; requesters must not learn paths of the hub.
    const cause = error instanceof Error ? error.message : String(error);
    const message = `the signer ${csr.signerName} could not issue the certificate, and tries again; the hub's log has the cause`;
    const condition: Condition = { type: signingDelayedCondition, status: "True", reason: "IssuingFailed", message };
    const conditions = setCondition(csr.conditions, condition, rfc3339(options.clock.now()));
    if (conditions !== csr.conditions) await write(withConditions(object, conditions));
    const about = referenceTo(certificateSigningRequests, object);
    const details = { requester: csr.requester.username, cause };
    return { kind: "blocked", because: { reason: "IssuingFailed", about, message, details }, again: "paused" };
  }

  async function write(object: ApiObject): Promise<void> {
    await client.update(certificateSigningRequests, object, { subresource: "status" });
  }

  return {
    name: "csrsigning",
    serviceAccount,
    watches: [{ resource: certificateSigningRequests }],
    concurrency: 64,
    reconcile,
  };
}

/** Whether a request waits for a built-in signer: approved, not denied, not failed, no certificate yet. */
export function awaitsSigning(csr: CsrView, signers: ReadonlySet<string>): boolean {
  return (
    csr.certificate === "" &&
    hasCondition(csr, "Approved") &&
    !hasCondition(csr, "Denied") &&
    !hasCondition(csr, "Failed") &&
    signers.has(csr.signerName)
  );
}

/** The permanent failure of a request whose requester was revoked after it created the request. */
const requesterRevoked: Condition = {
  type: "Failed",
  status: "True",
  reason: "RequesterRevoked",
  message: "the credential with which this was requested has been revoked",
};

/** The permanent failure of a request for a certificate of a user that is revoked by name, by any requester. */
function userRevoked(user: string): Condition {
  return {
    type: "Failed",
    status: "True",
    reason: userRevokedReason,
    message: `the user ${JSON.stringify(user)} is revoked: delete that CredentialRevocation (pratique revocations list), then create a new request`,
  };
}

/** The permanent failure of a request that is invalid for its signer, or undefined when it may be signed. A signer without known rules signs nothing. */
export function refusalOf(csr: CsrView, facts: CsrFacts): Condition | undefined {
  const check = signerChecks.get(csr.signerName);
  const message = check === undefined ? `unknown signer ${csr.signerName}` : check(facts, csr.usages);
  return message === undefined
    ? undefined
    : { type: "Failed", status: "True", reason: "SignerValidationFailure", message };
}
