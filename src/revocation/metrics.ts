import { objectOf } from "../registry/entry.ts";
import { accessRequests, type AccessRequest } from "../apis/access-request.ts";
import { clonedAnnotation, credentialRevocations } from "../apis/credential-revocation.ts";
import {
  accessGrants,
  credentialOfIssue,
  credentialState,
  credentialStates,
  isEndedAccess,
  newestIssue,
} from "../apis/credential-state.ts";
import { issuedCredentials, type IssuedCredential } from "../apis/issued-credential.ts";
import { storagePrefix } from "../apis/resource.ts";
import type { Revocations } from "./revocations.ts";
import type { WatchCache } from "../storage/watch-cache.ts";

/** The numbers of credentials in each state and of revocations, as Prometheus text; counted at each call. */
export function credentialMetrics(
  cache: WatchCache,
  { now, revoked }: { readonly now: () => number; readonly revoked: Pick<Revocations, "size" | "refusals" | "find"> },
): () => string {
  return () => {
    const at = now();
    const grants = accessGrants(
      Array.from(cache.list(storagePrefix(accessRequests)), (entry) => objectOf(entry) as AccessRequest),
    );
    const counts = new Map<string, number>(
      ["Client", "Serving", "Access"].flatMap((purpose) =>
        [...credentialStates, "revoked"].map((state) => [labels(purpose, state), 0] as const),
      ),
    );
    for (const entry of cache.list(storagePrefix(issuedCredentials))) {
      const record = objectOf(entry) as IssuedCredential;
      const isRevoked =
        revoked.find(credentialOfIssue(record.spec.identity, newestIssue(record) ?? {})) !== undefined ||
        isEndedAccess(record, grants, at);
      const key = labels(record.spec.identity.purpose, isRevoked ? "revoked" : credentialState(record, at));
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return [
      "# HELP pratique_issued_credentials Identities that hold a credential, by what it is for and how it stands.",
      "# TYPE pratique_issued_credentials gauge",
      ...[...counts].map(([key, count]) => `pratique_issued_credentials{${key}} ${count}`),
      "# HELP pratique_cloned_identities Identities that two machines hold, both of which are locked out.",
      "# TYPE pratique_cloned_identities gauge",
      `pratique_cloned_identities ${clonedIn(cache).size}`,
      "# HELP pratique_credential_revocations Credential revocations that are stored.",
      "# TYPE pratique_credential_revocations gauge",
      `pratique_credential_revocations ${revoked.size()}`,
      "# HELP pratique_revoked_requests_total Requests that came with a revoked credential, and reviews of revoked tokens.",
      "# TYPE pratique_revoked_requests_total counter",
      `pratique_revoked_requests_total ${revoked.refusals()}`,
      "",
    ].join("\n");
  };
}

function clonedIn(cache: WatchCache): ReadonlySet<string> {
  const found = new Set<string>();
  for (const entry of cache.list(storagePrefix(credentialRevocations))) {
    const of = objectOf(entry).metadata.annotations?.[clonedAnnotation];
    if (of !== undefined) found.add(of);
  }
  return found;
}

function labels(purpose: string, state: string): string {
  return `purpose="${purpose}",state="${state}"`;
}
