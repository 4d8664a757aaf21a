import type { ObjectKey } from "../../core/object.ts";
import type { UserInfo } from "../../core/user.ts";
import type { CsrContents } from "../../pki/csr.ts";
import { signerChecks } from "../../pki/signers.ts";
import { done } from "../controller.ts";
import type { Controller, Outcome } from "../controller.ts";
import { awaitsSigning, refusalOf, requesterRevoked } from "./csr-signing-policy.ts";
import { csrView, withCertificate, withCondition } from "./csr-view.ts";
import { certificateSigningRequests } from "../kinds.ts";
import type { SharedInformers } from "../shared-informers.ts";

const serviceAccount = "certificate-controller";

/** What to sign. The request is verified, approved, and has the shape of its signer. */
export interface SigningOrder {
  readonly request: CsrContents;
  readonly usages: readonly string[];
  /** As asked for; undefined: as long as the signer allows. */
  readonly expirationSeconds: number | undefined;
  readonly signerName: string;
}

export interface CsrSigningOptions {
  readonly informers: SharedInformers;
  /** Reads the PEM of a request, which the API verified when it was created. @throws CsrError */
  readonly parse: (pem: string) => CsrContents;
  /** Whether what the requester asked with has been revoked since. */
  readonly isRevoked?: (requester: UserInfo) => boolean;
  /** Issues the certificate, as one PEM block. What it throws is retried. */
  readonly sign: (order: SigningOrder) => Promise<string>;
  /** The signers to serve; default: all three built-in ones. */
  readonly signers?: readonly string[];
}

/** Signs approved requests of the built-in signers; one that breaks its signer's rules fails for good. Source: Kubernetes pkg/controller/certificates/signer. */
export function csrSigning(options: CsrSigningOptions): Controller {
  const { parse, sign } = options;
  const { client, reader } = options.informers.as(serviceAccount);
  const csrs = reader({ resource: certificateSigningRequests });
  const signers = new Set(options.signers ?? signerChecks.keys());

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const object = csrs.get(key);
    if (object === undefined) return done;
    const csr = csrView(object);
    if (!awaitsSigning(csr, signers)) return done;
    const request = parse(csr.request);
    const refusal = options.isRevoked?.(csr.requester) === true ? requesterRevoked : refusalOf(csr, request);
    const { usages, expirationSeconds, signerName } = csr;
    const next =
      refusal === undefined
        ? withCertificate(object, await sign({ request, usages, expirationSeconds, signerName }))
        : withCondition(object, refusal);
    await client.update(certificateSigningRequests, next, { subresource: "status" });
    return done;
  }

  return {
    name: "csrsigning",
    serviceAccount,
    watches: [{ resource: certificateSigningRequests }],
    concurrency: 64,
    reconcile,
  };
}
