import { informer } from "../client/informer.ts";
import type { Clock } from "../apimachinery/clock.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { credentialRevocations } from "../apis/credential-revocation.ts";
import { credentialOf, revocationIndex, type FoundRevocation } from "../apis/revocation-index.ts";
import type { Client } from "../client/client.ts";
import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";
import type { AskedSpec } from "../authorization/access-review-spec.ts";
import { failureMessage } from "../client/api-errors.ts";

/** The status of a SubjectAccessReview that is denied. */
interface Denial {
  readonly allowed: false;
  readonly denied: true;
  readonly reason: string;
}

/** The revocations of a cluster, as its API has them. */
export interface WatchedRevocations {
  /** The denial of a review, or undefined where nothing is revoked. While the list is not known, everything is denied. */
  readonly denial: (asked: AskedSpec) => Denial | undefined;
  readonly isLoaded: () => boolean;
  /** The revocation of somebody who asked for something; only where the list is known. */
  readonly findUser: (user: UserInfo) => FoundRevocation | undefined;
  /** True once the list is known; false where `signal` aborted before. */
  readonly synced: Promise<boolean>;
}

export interface WatchedRevocationsOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: (entry: LogEntry) => void;
  readonly signal: AbortSignal;
  /** What becomes of everything while the list is not known, for the log. */
  readonly meanwhile?: string;
}

const backoff = { initialMs: 200, maxMs: 10_000 };

/** Follows the revocations until `signal` aborts. What was known stays known while the API cannot be reached. */
export function watchedRevocations(options: WatchedRevocationsOptions): WatchedRevocations {
  const { client, clock, log, signal, meanwhile } = options;
  const index = revocationIndex();
  let loaded = false;
  const followed = informer({
    client,
    resource: credentialRevocations,
    clock,
    backoff,
    random: Math.random,
    onError: (error, failures) => {
      if (failures !== 1) return;
      log(
        logEntry("RevocationsUnavailable", "cannot watch CredentialRevocations; the program tries again", {
          ...(loaded || meanwhile === undefined ? {} : { meanwhile }),
          error: failureMessage(error),
        }),
      );
    },
  });
  followed.onChange(({ type, object }) => {
    if (type === "DELETED") index.remove(object.metadata.name ?? "");
    else index.put(object);
  });
  void followed.run(signal);
  const synced = followed.synced.then((isSynced) => {
    loaded = isSynced;
    if (isSynced) log(logEntry("RevocationsSynced", "the CredentialRevocations are synced", { count: index.size() }));
    return isSynced;
  });
  const findUser = ({ extra, ...user }: UserInfo): FoundRevocation | undefined =>
    index.find(credentialOf({ ...user, ...(extra === undefined ? {} : { extra: lowered(extra) }) }), clock.now());
  return {
    isLoaded: () => loaded,
    findUser,
    synced,
    denial: (asked) => {
      // Whoever reads the list must be able to before it is known, the authorizer itself among them.
      if (!loaded) return readsTheList(asked) ? undefined : { ...denied, reason: "the revocations are not known yet" };
      const { user, groups = [], extra } = asked;
      const found = findUser({ username: user, groups, ...(extra === undefined ? {} : { extra }) });
      return found === undefined ? undefined : { ...denied, reason: `the credential is revoked: ${found.name}` };
    },
  };
}

const denied = { allowed: false, denied: true } as const;

/** Keys of extra compare without case. Source: apiserver pkg/authentication/user. */
function lowered(extra: Readonly<Record<string, readonly string[]>>): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(Object.entries(extra).map(([key, values]) => [key.toLowerCase(), values]));
}

function readsTheList({ resourceAttributes: about }: AskedSpec): boolean {
  const { group, resource, verb = "" } = about ?? {};
  const { group: wanted, plural } = credentialRevocations;
  return group === wanted && resource === plural && (verb === "list" || verb === "watch");
}
