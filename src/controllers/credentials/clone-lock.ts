import type { Client } from "../../client/client.ts";
import type { ObjectKey } from "../../apimachinery/object.ts";
import {
  cloneLockPendingAnnotation,
  clonedAnnotation,
  credentialRevocations,
  type CredentialRevocation,
} from "../../apis/credential-revocation.ts";
import { issuedCredentials, type CredentialIssue, type IssuedCredential } from "../../apis/issued-credential.ts";
import { ignoreReasons } from "../../client/api-errors.ts";
import { done, retryOn, type Controller, type Outcome, referenceTo, type Report } from "../controller.ts";
import type { SharedInformers } from "../shared-informers.ts";
import { recordName } from "./credential-record.ts";

const serviceAccount = "credential-controller";
const certificatePrefix = "X509SHA256=";
const fingerprintForm = /^[0-9a-f]{64}$/;

/** The prefix of the names of revocations that lock out clones. */
export const cloneRevocationPrefix = "clone-";

/** An identity that two machines hold. */
export interface FoundClone {
  readonly record: IssuedCredential;
  /** The credential of the requester. */
  readonly asking: CredentialIssue;
  /** Credentials issued after it, at least one of which is in use. */
  readonly later: readonly CredentialIssue[];
}

/** The name of the revocation that locks out the holder of this certificate. */
export function cloneRevocationName(issue: CredentialIssue): string {
  return nameOf(fingerprintOf(issue));
}

/**
 * Revokes the credential of the requester, and records in that revocation which later ones the controller `clone-lock` revokes next, also
 * after a restart. This one is first: while only it is revoked, no credential is taken for the newest by mistake. @throws StatusError
 * AlreadyExists where it was revoked before
 */
export async function beginCloneLock(client: Client, { record, asking, later }: FoundClone): Promise<Outcome> {
  const { username } = record.spec.identity;
  const number = asking.generation === undefined ? "" : ` (number ${asking.generation})`;
  const reason = `two machines hold ${username}: a credential${number} was used to ask for the next one while a later one was in use`;
  const pending = later.map(fingerprintOf).filter((one) => fingerprintForm.test(one));
  const first = revocationOf({ fingerprint: fingerprintOf(asking), username, reason });
  const annotations = { ...first.metadata.annotations, [cloneLockPendingAnnotation]: pending.join(",") };
  await client.create(credentialRevocations, { ...first, metadata: { ...first.metadata, annotations } });
  return done;
}

/** Completes each started clone lock: revokes the later credentials, each on its own, so that one of them can be accepted again; then reports it. */
export function cloneLock({ informers }: { readonly informers: SharedInformers }): Controller {
  const { client, reader } = informers.as(serviceAccount);
  const revocations = reader({ resource: credentialRevocations });
  const records = reader({ resource: issuedCredentials });

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const first = revocations.get(key) as CredentialRevocation | undefined;
    const { [cloneLockPendingAnnotation]: pending, [clonedAnnotation]: username = "" } =
      first?.metadata.annotations ?? {};
    if (first === undefined || pending === undefined) return done;
    const { fingerprint: asking = "", reason = "" } = first.spec;
    for (const fingerprint of pending.split(",").filter((one) => fingerprintForm.test(one))) {
      const revocation = revocationOf({ fingerprint, username, reason });
      await ignoreReasons(client.create(credentialRevocations, revocation), "AlreadyExists");
    }
    // A later reconcile must not revoke again what an operator has accepted again.
    const annotations = { [cloneLockPendingAnnotation]: null };
    await client.patch(credentialRevocations, key, { metadata: { uid: first.metadata.uid, annotations } });
    const record = records.get({ name: recordName({ username, purpose: "Client" }) }) as IssuedCredential | undefined;
    return { kind: "done", reports: [lockReport(first, asking, record)] };
  }

  return {
    name: "clone-lock",
    serviceAccount,
    watches: [{ resource: credentialRevocations }, { resource: issuedCredentials, keys: () => [] }],
    concurrency: 1,
    reconcile: (key) => retryOn(reconcile(key), "Conflict", "NotFound"),
  };
}

/** Refers to the record of the identity; to the first revocation where there is no record. */
function lockReport(first: CredentialRevocation, fingerprint: string, record: IssuedCredential | undefined): Report {
  const username = first.metadata.annotations?.[clonedAnnotation] ?? "";
  const asking = record?.status?.issued?.find((issue) => fingerprintOf(issue) === fingerprint);
  const number = asking?.generation === undefined ? "" : ` (number ${asking.generation})`;
  return {
    reason: "CredentialCloned",
    about: record === undefined ? referenceTo(credentialRevocations, first) : referenceTo(issuedCredentials, record),
    message: `Two machines hold ${username}: an earlier credential${number} asked for the next one while a later one was in use. Both are locked out: let the right machine join again with a new key.`,
    details: { user: username, fingerprint: asking?.key },
  };
}

function fingerprintOf({ credentialID = "" }: CredentialIssue): string {
  return credentialID.startsWith(certificatePrefix) ? credentialID.slice(certificatePrefix.length) : "";
}

function nameOf(fingerprint: string): string {
  return `${cloneRevocationPrefix}${fingerprint.slice(0, 40)}`;
}

function revocationOf(clone: {
  readonly fingerprint: string;
  readonly username: string;
  readonly reason: string;
}): CredentialRevocation {
  const { group, version, kind } = credentialRevocations;
  return {
    apiVersion: `${group}/${version}`,
    kind,
    metadata: {
      name: nameOf(clone.fingerprint),
      annotations: { [clonedAnnotation]: clone.username },
    },
    spec: { fingerprint: clone.fingerprint, reason: clone.reason },
  };
}
