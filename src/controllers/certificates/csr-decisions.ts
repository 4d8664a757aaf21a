import { type CsrControllerOptions, readRequest, csrView } from "./csr-view.ts";
import type { ApiObject, Condition, ObjectKey } from "../../apimachinery/object.ts";
import type { Reason } from "../../apimachinery/reasons.ts";
import { keyFingerprint } from "../../pki/keys.ts";
import { csrDeciderOf } from "../../apis/certificate-signing-request.ts";
import { done, type Controller, type Outcome, isRecent, referenceTo, type Report } from "../controller.ts";
import { certificateSigningRequests } from "../kinds.ts";

const serviceAccount = "certificate-controller";

const reasonOf: Readonly<Record<string, Reason>> = {
  Approved: "CertificateApproved",
  Denied: "CertificateDenied",
  Failed: "CertificateFailed",
};

/** Reports each decision on a certificate request once, whether an approver, a controller or the signer made it. */
export function csrDecisions({ informers, clock, parse }: CsrControllerOptions): Controller {
  const csrs = informers.as(serviceAccount).reader({ resource: certificateSigningRequests });

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const object = csrs.get(key);
    if (object === undefined) return done;
    const reports = csrView(object)
      .conditions.filter(({ type, status }) => Object.hasOwn(reasonOf, type) && status === "True")
      .filter(({ lastUpdateTime }) => isRecent(lastUpdateTime ?? object.metadata.creationTimestamp, clock.now()))
      .map((condition) => decisionReport(object, condition, parse));
    return { kind: "done", reports };
  }

  return {
    name: "csrdecisions",
    serviceAccount,
    watches: [{ resource: certificateSigningRequests }],
    concurrency: 4,
    reconcile,
  };
}

function decisionReport(object: ApiObject, condition: Condition, parse: CsrControllerOptions["parse"]): Report {
  const { type, message = "" } = condition;
  const csr = csrView(object);
  const request = readRequest(parse, csr);
  return {
    reason: reasonOf[type] ?? "CertificateFailed",
    about: referenceTo(certificateSigningRequests, object),
    message: `certificate request ${type.toLowerCase()}${message === "" ? "" : `: ${message}`}`,
    details: {
      // The signer sets Failed; the stamped user decided the rest, or a controller that names itself in the reason.
      user: type === "Failed" ? "signer" : (csrDeciderOf(object) ?? condition.reason),
      requester: csr.requester.username,
      signer: csr.signerName,
      fingerprint: typeof request === "string" ? undefined : keyFingerprint(request.spki),
      why: condition.reason,
    },
    once: true,
  };
}
