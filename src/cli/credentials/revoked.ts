import { ignoreReasons } from "../../client/api-errors.ts";
import type { Client } from "../../client/client.ts";
import { accessRequests, type AccessRequest } from "../../apis/access-request.ts";
import { clonedAnnotation, credentialRevocations } from "../../apis/credential-revocation.ts";
import { accessGrants, type AccessGrants } from "../../apis/credential-state.ts";
import { revocationIndex, type RevocationIndex } from "../../apis/revocation-index.ts";

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
  const revocations = await ignoreReasons(client.list(credentialRevocations), "Forbidden", "NotFound");
  for (const object of revocations?.items ?? []) {
    index.put(object);
    if (object.metadata.annotations?.[clonedAnnotation] !== undefined) clones.add(object.metadata.name ?? "");
  }
  return { index, clones, grants: await grantsOf(client) };
}

async function grantsOf(client: Client): Promise<AccessGrants | undefined> {
  const requests = await ignoreReasons(client.list<AccessRequest>(accessRequests), "Forbidden", "NotFound");
  return requests && accessGrants(requests.items);
}
