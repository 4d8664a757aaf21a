import type { Client } from "../../client/client.ts";
import { credentialRevocations, type CredentialRevocation } from "../../resources/credential-revocation.ts";
import { issuedCredentials, type CredentialIssue, type IssuedCredential } from "../../resources/issued-credential.ts";
import { hasReason } from "../api-errors.ts";
import { clonedAnnotation } from "../../resources/cloned.ts";
import type { Told } from "../told.ts";

const certificatePrefix = "X509SHA256=";

/** How the names of revocations begin that lock out clones. */
export const cloneRevocationPrefix = "clone-";

/** An identity that two machines hold. */
export interface FoundClone {
  readonly record: IssuedCredential;
  /** The credential with which was asked. */
  readonly asking: CredentialIssue;
  /** Those issued after it, one of which at least is in use. */
  readonly later: readonly CredentialIssue[];
}

/**
 * Locks out both holders: revokes the credential with which was asked, then those issued after it, each by itself, so that one of them
 * can be let in again, and a machine that is set up anew is not touched. Returns what to report.
 */
export async function lockClones(client: Client, { record, asking, later }: FoundClone): Promise<Told> {
  const { username } = record.spec.identity;
  const of = ({ generation }: CredentialIssue): string => (generation === undefined ? "" : ` (number ${generation})`);
  // The one that asks first: while it alone is revoked, nobody takes a credential to be the newest by mistake.
  for (const issue of [asking, ...later]) {
    const fingerprint =
      issue.credentialID?.startsWith(certificatePrefix) === true
        ? issue.credentialID.slice(certificatePrefix.length)
        : "";
    if (fingerprint === "") continue;
    const reason = `two machines hold ${username}: a credential${of(asking)} was used to ask for the next one while a later one was in use`;
    await createOnce(client, revocationOf({ fingerprint, username, reason }));
  }
  const { name, uid } = record.metadata;
  const { group, version, kind } = issuedCredentials;
  return {
    reason: "CredentialCloned",
    about: {
      apiVersion: `${group}/${version}`,
      kind,
      ...(name === undefined ? {} : { name }),
      ...(uid === undefined ? {} : { uid }),
    },
    message: `Two machines hold ${username}: an earlier credential${of(asking)} asked for the next one while a later one was in use. Both are locked out: let the right machine join again with a new key.`,
    details: { user: username, fingerprint: asking.key },
  };
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
      name: `${cloneRevocationPrefix}${clone.fingerprint.slice(0, 40)}`,
      annotations: { [clonedAnnotation]: clone.username },
    },
    spec: { fingerprint: clone.fingerprint, reason: clone.reason },
  };
}

async function createOnce(client: Client, revocation: CredentialRevocation): Promise<void> {
  try {
    await client.create(credentialRevocations, revocation);
  } catch (error) {
    if (!hasReason(error, "AlreadyExists")) throw error;
  }
}
