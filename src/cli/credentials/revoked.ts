import type { Client } from "../../client/client.ts";
import { StatusError } from "../../core/status.ts";
import { accessRequests, type AccessRequest } from "../../resources/access-request.ts";
import { clonedAnnotation } from "../../resources/cloned.ts";
import { accessGrants, type AccessGrants } from "../../resources/credential-state.ts";
import { credentialRevocations } from "../../resources/credential-revocation.ts";
import { revocationIndex, type RevocationIndex } from "../../resources/revocation-index.ts";

/** What is revoked, as somebody may see it. */
export interface Revoked {
  readonly index: RevocationIndex;
  /** What AccessRequests grant; undefined where the server has none, or where they may not be listed. */
  readonly grants: AccessGrants | undefined;
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
  return { index, clones, grants: await grantsOf(client) };
}

async function grantsOf(client: Client): Promise<AccessGrants | undefined> {
  try {
    return accessGrants((await client.list<AccessRequest>(accessRequests)).items);
  } catch (error) {
    if (!(error instanceof StatusError) || (error.code !== 403 && error.code !== 404)) throw error;
    return undefined;
  }
}
