import type { ApiObject } from "../../apimachinery/object.ts";
import { waitingConditions } from "../../apis/csr-waiting.ts";
import { csrView } from "./csr-view.ts";

const decidedMs = 3_600_000;
const youngMs = 600_000;
const pendingMs = 24 * 3_600_000;

/**
 * Why a CertificateSigningRequest is to be deleted at `now`, or undefined when it stays. `certificateEnd` gives the NotAfter of the
 * issued certificate in milliseconds, where that can be read; it is asked last, and not for a young request. Source: Kubernetes pkg/controller/certificates/cleaner.
 */
export function staleReason(
  object: ApiObject,
  certificateEnd: () => number | undefined,
  now: number,
): string | undefined {
  const csr = csrView(object);
  const issued = csr.certificate !== "";
  const ended = (type: string): boolean =>
    csr.conditions.some((one) => one.type === type && isOlder(one.lastUpdateTime, decidedMs, now));
  if (issued && ended("Approved")) return "approved and issued more than an hour ago";
  if (ended("Denied")) return "denied more than an hour ago";
  if (ended("Failed")) return "failed more than an hour ago";
  // Our own conditions say what it waits for; those of other controllers keep it, as in Kubernetes.
  const isPending = csr.conditions.every(({ type }) => waitingConditions.has(type));
  if (isPending && isOlder(object.metadata.creationTimestamp, pendingMs, now)) {
    return "pending for more than 24 hours";
  }
  const approved = csr.conditions.some((one) => one.type === "Approved");
  // Reading a certificate costs more than all of the above; young ones are looked at again within the hour.
  if (!issued || !approved || !isOlder(object.metadata.creationTimestamp, youngMs, now)) return undefined;
  return (certificateEnd() ?? Number.POSITIVE_INFINITY) < now ? "its certificate has expired" : undefined;
}

// A time that is absent or unreadable is never old: deleting is for what is known to be.
function isOlder(time: string | undefined, ageMs: number, now: number): boolean {
  const then = time === undefined ? Number.NaN : Date.parse(time);
  return now - then > ageMs;
}
