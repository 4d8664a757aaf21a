import type { Client } from "../../client/client.ts";
import { StatusError } from "../../core/status.ts";
import { accessRequests, type AccessRequest } from "../../resources/access-request.ts";
import { clonedAnnotation } from "../../resources/cloned.ts";
import { isRevokedAccess } from "../../resources/credential-state.ts";
import { credentialRevocations } from "../../resources/credential-revocation.ts";
import { revocationIndex, type RevocationIndex } from "../../resources/revocation-index.ts";

/** What is revoked, as somebody may see it. */
export interface Revoked {
  readonly index: RevocationIndex;
  /** Names of AccessRequests that were revoked. */
  readonly requests: ReadonlySet<string>;
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
  return { index, clones, requests: await revokedRequests(client) };
}

async function revokedRequests(client: Client): Promise<ReadonlySet<string>> {
  try {
    const { items } = await client.list<AccessRequest>(accessRequests);
    return new Set(items.filter(isRevokedAccess).map(({ metadata }) => metadata.name ?? ""));
  } catch (error) {
    if (!(error instanceof StatusError) || (error.code !== 403 && error.code !== 404)) throw error;
    return new Set();
  }
}
