import type { Clock } from "../../apimachinery/clock.ts";
import type { ApiObject, ObjectKey } from "../../apimachinery/object.ts";
import { decodePem } from "../../pki/pem.ts";
import { parseCertificate } from "../../pki/parse-certificate.ts";
import { ignoreReasons } from "../../client/api-errors.ts";
import { done } from "../controller.ts";
import type { Controller, Outcome } from "../controller.ts";
import { staleReason } from "./csr-cleaner-policy.ts";
import { csrView } from "./csr-view.ts";
import { certificateSigningRequests } from "../kinds.ts";
import type { SharedInformers } from "../shared-informers.ts";

const serviceAccount = "certificate-controller";

export interface CsrCleanerOptions {
  readonly informers: SharedInformers;
  readonly clock: Clock;
}

const pollMs = 3_600_000;

/** Deletes requests that nobody needs any more, looking at each once an hour. Source: Kubernetes pkg/controller/certificates/cleaner. */
export function csrCleaner(options: CsrCleanerOptions): Controller {
  const { clock } = options;
  const { client, reader } = options.informers.as(serviceAccount);
  const csrs = reader({ resource: certificateSigningRequests });

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const object = csrs.get(key);
    if (object === undefined) return done;
    if (staleReason(object, () => certificateEnd(object), clock.now()) === undefined) {
      return { kind: "requeue", afterMs: pollMs, why: "not stale yet" };
    }
    const { uid } = object.metadata;
    const preconditions = uid === undefined ? {} : { preconditions: { uid } };
    await ignoreReasons(client.delete(certificateSigningRequests, key, preconditions), "NotFound", "Conflict");
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
    // Any signer may have put it there; one that cannot be read has no known end, and the hour's rule removes it.
    return undefined;
  }
}
