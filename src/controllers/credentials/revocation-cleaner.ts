import type { Clock } from "../../core/clock.ts";
import type { ObjectKey } from "../../core/object.ts";
import { credentialRevocations, type CredentialRevocation } from "../../resources/credential-revocation.ts";
import { hasReason } from "../api-errors.ts";
import { done, type Controller, type Outcome } from "../controller.ts";
import type { SharedInformers } from "../shared-informers.ts";
import { isRecent, referenceTo, type Told } from "../told.ts";

const serviceAccount = "credential-controller";

export interface RevocationCleanerOptions {
  readonly informers: SharedInformers;
  readonly clock: Clock;
  /** When the last certificate that any trusted CA could have issued ends, in milliseconds since the epoch. */
  readonly certificatesEnd: number;
}

/** Clocks of others may be behind by a day. */
const marginMs = 86_400_000;

/**
 * When nothing is left that a revocation could refuse, in milliseconds: at its own end, or for one certificate when no CA could vouch
 * for it any more. Users and accounts have no end, as they may be given new credentials; a token's end is not known from its id.
 */
function revocationEnd({ spec }: CredentialRevocation, certificatesEnd: number): number {
  const end = Date.parse(spec.expiresAt ?? "");
  if (!Number.isNaN(end)) return end;
  const isCertificate = spec.fingerprint !== undefined || spec.certificate !== undefined;
  return isCertificate ? certificatesEnd + marginMs : Number.POSITIVE_INFINITY;
}

function revocationReport(revocation: CredentialRevocation): Told {
  const { spec, status } = revocation;
  const { reason, expiresAt: _end, ...target } = spec;
  return {
    reason: "CredentialRevoked",
    about: referenceTo(credentialRevocations, revocation),
    message: `credential revoked: ${JSON.stringify(target)}`,
    details: { user: status?.revokedBy, why: reason },
    once: true,
  };
}

/** Reports revocations when they are made, and deletes those that can refuse nothing any more. */
export function revocationCleaner({ informers, clock, certificatesEnd }: RevocationCleanerOptions): Controller {
  const { client, reader } = informers.as(serviceAccount);
  const revocations = reader({ resource: credentialRevocations });

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const revocation = revocations.get(key) as CredentialRevocation | undefined;
    if (revocation === undefined) return done;
    const isNew = isRecent(revocation.metadata.creationTimestamp, clock.now());
    const tell = isNew ? [revocationReport(revocation)] : [];
    const afterMs = revocationEnd(revocation, certificatesEnd) - clock.now();
    if (afterMs === Number.POSITIVE_INFINITY) return { kind: "done", tell };
    if (afterMs > 0) return { kind: "requeue", afterMs, why: "still in force", tell };
    const { uid, resourceVersion } = revocation.metadata;
    const preconditions = {
      ...(uid === undefined ? {} : { uid }),
      // Whoever has just put its end off must not lose it.
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    };
    try {
      await client.delete(credentialRevocations, key, { preconditions });
    } catch (error) {
      if (hasReason(error, "NotFound")) return done;
      if (hasReason(error, "Conflict")) return { kind: "retry", why: error.message };
      throw error;
    }
    return done;
  }

  return {
    name: "revocation-cleaner",
    serviceAccount,
    watches: [{ resource: credentialRevocations }],
    concurrency: 2,
    reconcile,
  };
}
