import type { Backoff } from "../../client/backoff.ts";
import type { ObjectKey } from "../../core/object.ts";
import type { UserInfo } from "../../core/user.ts";
import { CsrError } from "../../pki/csr.ts";
import type { CsrContents } from "../../pki/csr.ts";
import { done } from "../controller.ts";
import type { Controller, Outcome } from "../controller.ts";
import { accessReviewOf, approvalOf, isAllowed, isUndecided, recognisersOf } from "./csr-approving-policy.ts";
import { csrView, withCondition } from "./csr-view.ts";
import { certificateSigningRequests, subjectAccessReviews } from "../kinds.ts";
import type { SharedInformers } from "../shared-informers.ts";

const serviceAccount = "certificate-controller";

export interface CsrApprovingOptions {
  readonly informers: SharedInformers;
  /** Reads the PEM of a request, which the API verified when it was created. @throws CsrError */
  readonly parse: (pem: string) => CsrContents;
  /** Whether what the requester asked with has been revoked since; such a request is left to people. */
  readonly isRevoked?: (requester: UserInfo) => boolean;
  /** Whether it asks with a credential after which a later one is in use elsewhere; such a request is left to people as well. */
  readonly isCloned?: (requester: UserInfo, request: CsrContents, askedAt: number) => boolean;
}

// As in Kubernetes: a grant may follow soon, and a request that nobody ever grants costs little.
const backoff: Backoff = { initialMs: 200, maximumMs: 1_000_000 };

/**
 * Approves kubelet client certificates whose requester has the permission for them; never denies. One that is recognised and not
 * allowed is asked about again, so that a later grant takes effect. Source: Kubernetes pkg/controller/certificates/approver.
 */
export function csrApproving(options: CsrApprovingOptions): Controller {
  const { client, reader } = options.informers.as(serviceAccount);
  const csrs = reader({ resource: certificateSigningRequests });

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const object = csrs.get(key);
    if (object === undefined) return done;
    const csr = csrView(object);
    if (!isUndecided(csr)) return done;
    if (options.isRevoked?.(csr.requester) === true) return { kind: "retry", why: "its requester is revoked" };
    const facts = readable(options.parse, csr.request);
    const askedAt = Date.parse(object.metadata.creationTimestamp ?? "");
    if (facts !== undefined && options.isCloned?.(csr.requester, facts, askedAt) === true) return done;
    const recognisers = facts === undefined ? [] : recognisersOf(csr, facts);
    for (const recogniser of recognisers) {
      const review = await client.create(subjectAccessReviews, accessReviewOf(csr, recogniser.access));
      if (!isAllowed(review)) continue;
      const approved = withCondition(object, approvalOf(recogniser));
      await client.update(certificateSigningRequests, approved, { subresource: "approval" });
      return done;
    }
    if (recognisers.length === 0) return done;
    return { kind: "retry", why: "recognised as a kubelet client certificate, but its requester is not allowed it" };
  }

  return {
    name: "csrapproving",
    serviceAccount,
    watches: [{ resource: certificateSigningRequests }],
    concurrency: 64,
    backoff,
    reconcile,
  };
}

function readable(parse: CsrApprovingOptions["parse"], pem: string): CsrContents | undefined {
  try {
    return parse(pem);
  } catch (error) {
    if (error instanceof CsrError) return undefined;
    throw error;
  }
}
