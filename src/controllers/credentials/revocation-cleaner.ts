import { versionOf } from "../object-status.ts";
import type { ControllerOptions } from "../shared-informers.ts";
import type { ObjectKey } from "../../apimachinery/object.ts";
import { credentialRevocations, revokedText, type CredentialRevocation } from "../../apis/credential-revocation.ts";
import { ignoreReasons } from "../../client/api-errors.ts";
import { done, retryOn, type Controller, type Outcome, isRecent, referenceTo, type Report } from "../controller.ts";

const serviceAccount = "credential-controller";

export interface RevocationCleanerOptions extends ControllerOptions {
  /** When the last certificate that a trusted CA could have issued expires, in milliseconds since the epoch. */
  readonly certificatesEnd: number;
  /** The user who deleted the revocation of this uid, where known. */
  readonly removedBy?: ((uid: string) => string | undefined) | undefined;
}

/** Other clocks may be behind by a day. */
const marginMs = 86_400_000;

/**
 * When a revocation can no longer reject anything, in milliseconds: at its own end, or for one certificate when no CA can vouch for it
 * any more. Users and accounts have no end, as they may get new credentials; the id of a token does not show its end.
 */
function revocationEnd({ spec }: CredentialRevocation, certificatesEnd: number): number {
  const end = Date.parse(spec.expiresAt ?? "");
  if (!Number.isNaN(end)) return end;
  const isCertificate = spec.fingerprint !== undefined || spec.certificate !== undefined;
  return isCertificate ? certificatesEnd + marginMs : Number.POSITIVE_INFINITY;
}

function revocationReport(revocation: CredentialRevocation): Report {
  const { spec, status } = revocation;
  return {
    reason: "CredentialRevoked",
    about: referenceTo(credentialRevocations, revocation),
    message: `credential revoked: ${revokedText(revocation)}`,
    details: { user: status?.revokedBy, why: spec.reason, ...targetDetails(revocation) },
    once: true,
  };
}

function removalReport(revocation: CredentialRevocation, user: string | undefined): Report {
  return {
    reason: "RevocationRemoved",
    about: referenceTo(credentialRevocations, revocation),
    message: `revocation of ${revokedText(revocation)} removed${user === undefined ? "" : ` by ${user}`}`,
    details: {
      user,
      why: revocation.spec.reason,
      revokedBy: revocation.status?.revokedBy,
      ...targetDetails(revocation),
    },
  };
}

/** The revoked credential, as fields of a log line. */
function targetDetails({ spec }: CredentialRevocation): NonNullable<Report["details"]> {
  const { user, fingerprint, certificate, credentialID, bootstrapTokenID, secret } = spec;
  return {
    revokedUser: user,
    fingerprint,
    serial: certificate?.serialNumber,
    credentialID,
    bootstrapTokenID,
    secret: secret && `${secret.namespace}/${secret.name}`,
  };
}

/** Reports created and deleted revocations, and deletes those that can no longer reject anything. */
export function revocationCleaner(options: RevocationCleanerOptions): Controller {
  const { informers, clock, certificatesEnd } = options;
  const { client, reader } = informers.as(serviceAccount);
  const revocations = reader({ resource: credentialRevocations });
  const removed = new Map<string, CredentialRevocation>();

  /** Revocations deleted under this name since the last reconcile. */
  function removals(name: string): readonly Report[] {
    const gone = removed.get(name);
    removed.delete(name);
    return gone === undefined ? [] : [removalReport(gone, options.removedBy?.(gone.metadata.uid ?? ""))];
  }

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const revocation = revocations.get(key) as CredentialRevocation | undefined;
    if (revocation === undefined) return { kind: "done", reports: removals(key.name) };
    const isNew = isRecent(revocation.metadata.creationTimestamp, clock.now());
    const reports = isNew ? [revocationReport(revocation)] : [];
    const afterMs = revocationEnd(revocation, certificatesEnd) - clock.now();
    if (afterMs === Number.POSITIVE_INFINITY) return { kind: "done", reports };
    if (afterMs > 0) return { kind: "requeue", afterMs, why: "still in force", reports };
    // A revocation that was extended meanwhile is kept.
    const preconditions = versionOf(revocation);
    await ignoreReasons(client.delete(credentialRevocations, key, { preconditions }), "NotFound");
    return done;
  }

  return {
    name: "revocation-cleaner",
    serviceAccount,
    watches: [
      {
        resource: credentialRevocations,
        observe: ({ type, object }) => {
          if (type === "DELETED") removed.set(object.metadata.name ?? "", object as CredentialRevocation);
        },
      },
    ],
    concurrency: 2,
    reconcile: (key) => retryOn(reconcile(key), "Conflict"),
  };
}
