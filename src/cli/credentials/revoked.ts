import type { Client } from "../../client/client.ts";
import { StatusError } from "../../core/status.ts";
import { clonedAnnotation } from "../../resources/cloned.ts";
import { credentialRevocations } from "../../resources/credential-revocation.ts";
import type { CredentialIdentity, CredentialIssue } from "../../resources/issued-credential.ts";
import { revocationIndex, type Credential, type RevocationIndex } from "../../resources/revocation-index.ts";

/** What is revoked, as somebody may see it. */
export interface Revoked {
  readonly index: RevocationIndex;
  /** Names of those that were made because two machines hold one identity. */
  readonly clones: ReadonlySet<string>;
}

/** All revocations of a server; none where it has no such kind, or where they may not be seen. @throws StatusError */
export async function revocationsOf(client: Client): Promise<Revoked> {
  const index = revocationIndex();
  const clones = new Set<string>();
  try {
    for (const object of (await client.list(credentialRevocations)).items) {
      index.put(object);
      if (object.metadata.annotations?.[clonedAnnotation] !== undefined) clones.add(object.metadata.name ?? "");
    }
  } catch (error) {
    if (!(error instanceof StatusError) || (error.code !== 403 && error.code !== 404)) throw error;
  }
  return { index, clones };
}

/** A credential that was given out, as a revocation would name it. */
export function credentialOfIssue(
  { username }: CredentialIdentity,
  { credentialID, serialNumber, issuer }: CredentialIssue,
): Credential {
  return {
    username,
    ids: credentialID === undefined ? [] : [credentialID],
    ...(serialNumber === undefined ? {} : { serialNumber }),
    ...(issuer === undefined ? {} : { issuer }),
  };
}
