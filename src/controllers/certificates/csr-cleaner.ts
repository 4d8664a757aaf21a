import { sameUid } from "../object-status.ts";
import type { ControllerOptions } from "../shared-informers.ts";
import type { ApiObject, ObjectKey } from "../../apimachinery/object.ts";
import { decodePem } from "../../pki/pem.ts";
import { parseCertificate } from "../../pki/parse-certificate.ts";
import { ignoreReasons } from "../../client/api-errors.ts";
import { type Controller, type Outcome, done } from "../controller.ts";
import { csrView } from "./csr-view.ts";
import { certificateSigningRequests } from "../kinds.ts";
import { waitingConditions } from "../../apis/csr-conditions.ts";

const serviceAccount = "certificate-controller";

const pollMs = 3_600_000;

/** Deletes requests that are no longer needed; checks each once an hour. Source: Kubernetes pkg/controller/certificates/cleaner. */
export function csrCleaner(options: ControllerOptions): Controller {
  const { clock } = options;
  const { client, reader } = options.informers.as(serviceAccount);
  const csrs = reader({ resource: certificateSigningRequests });

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const object = csrs.get(key);
    if (object === undefined) return done;
    if (staleReason(object, () => certificateEnd(object), clock.now()) === undefined) {
      return { kind: "requeue", afterMs: pollMs, why: "not stale yet" };
    }
    await ignoreReasons(client.delete(certificateSigningRequests, key, sameUid(object)), "NotFound", "Conflict");
    return done;
  }

  return {
    name: "csrcleaner",
    serviceAccount,
    watches: [{ resource: certificateSigningRequests }],
    concurrency: 4,
    reconcile,
  };
}

function certificateEnd(object: ApiObject): number | undefined {
  const { certificate } = csrView(object);
  if (certificate === "") return undefined;
  try {
    const leaf = decodePem(certificate)[0];
    return leaf === undefined ? undefined : parseCertificate(leaf.bytes).notAfter;
  } catch {
    // Any signer may have written it; an unreadable one has no known end and is deleted an hour after its approval.
    return undefined;
  }
}

const refused = { Denied: "denied", Failed: "failed" };
const decidedMs = 3_600_000;
const youngMs = 600_000;
const pendingMs = 24 * 3_600_000;

/**
 * Why a CertificateSigningRequest is to be deleted at `now`, or undefined when it stays. `certificateEnd` returns the NotAfter of the
 * issued certificate in milliseconds, where that can be read; it is called last, and not for a young request. Source: Kubernetes pkg/controller/certificates/cleaner.
 */
export function staleReason(
  object: ApiObject,
  certificateEnd: () => number | undefined,
  now: number,
): string | undefined {
  const csr = csrView(object);
  const issued = csr.certificate !== "";
  const decisions = Object.entries(issued ? { Approved: "approved and issued", ...refused } : refused);
  const isOld = (decision: string): boolean =>
    csr.conditions.some(({ type, lastUpdateTime }) => type === decision && isOlder(lastUpdateTime, decidedMs, now));
  const decided = decisions.find(([type]) => isOld(type));
  if (decided !== undefined) return `${decided[1]} more than an hour ago`;
  // Conditions of this hub report what the request waits for; those of other controllers keep it, as in Kubernetes.
  const isPending = csr.conditions.every(({ type }) => waitingConditions.has(type));
  if (isPending && isOlder(object.metadata.creationTimestamp, pendingMs, now)) {
    return "pending for more than 24 hours";
  }
  const approved = csr.conditions.some((one) => one.type === "Approved");
  // Parsing a certificate costs more than all of the above; young requests are checked again within the hour.
  if (!issued || !approved || !isOlder(object.metadata.creationTimestamp, youngMs, now)) return undefined;
  return (certificateEnd() ?? Number.POSITIVE_INFINITY) < now ? "its certificate has expired" : undefined;
}

// An absent or unreadable time is never old: a request is deleted only when its age is known.
function isOlder(time: string | undefined, ageMs: number, now: number): boolean {
  const then = time === undefined ? Number.NaN : Date.parse(time);
  return now - then > ageMs;
}
