import { informer } from "../client/informer.ts";
import type { Clock } from "../apimachinery/clock.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { credentialRevocations } from "../apis/credential-revocation.ts";
import { type FoundRevocation, credentialOf, revocationIndex } from "../apis/revocation-index.ts";
import { type Client, ConnectionError } from "../client/client.ts";
import { type LogEntry, logEntry } from "../apimachinery/log-entry.ts";
import type { AskedSpec } from "../authorization/access-review-spec.ts";
import { failureMessage } from "../client/api-errors.ts";
import { jitteredBackoffMs } from "../client/backoff.ts";
import type { RemoteClient } from "../client/remote.ts";
import { fieldListAt, stringAt } from "../apis/json-fields.ts";
import { parsedJson } from "../client/replies.ts";

/** The status of a SubjectAccessReview that is denied. */
interface Denial {
  readonly allowed: false;
  readonly denied: true;
  readonly reason: string;
}

/** The revocations of a cluster, read from its API. */
export interface WatchedRevocations {
  /** The denial of a review, or undefined where nothing is revoked. Until the list is synced, every review is denied. */
  readonly denial: (asked: AskedSpec) => Denial | undefined;
  readonly isLoaded: () => boolean;
  /** The revocation of the requester; only once the list is synced. */
  readonly findUser: (user: UserInfo) => FoundRevocation | undefined;
  /** True once the list is synced; false where `signal` aborted before. */
  readonly synced: Promise<boolean>;
}

interface WatchedRevocationsOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: (entry: LogEntry) => void;
  readonly signal: AbortSignal;
  /** How reviews are answered until the list is synced, for the log. */
  readonly meanwhile?: string;
}

const backoff = { initialMs: 200, maxMs: 10_000 };

/** Watches the revocations until `signal` aborts. The last synced list stays in effect while the API is unreachable. */
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
      // The identities that read the list, the authorizer among them, must be authorized before it is synced.
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

/** The revocations of a cluster, for its controllers. */
export interface ClusterRevocations {
  readonly isRevoked: (user: UserInfo) => boolean;
  /** Aborts when a cluster that had no revocations starts to serve the kind: the caller must start again. */
  readonly outdated: AbortSignal;
}

interface ClusterRevocationsOptions {
  readonly client: Client & Pick<RemoteClient, "raw">;
  readonly clock: Clock;
  readonly log: (entry: LogEntry) => void;
  readonly signal: AbortSignal;
}

const lookAgainMs = 10_000;

/**
 * Resolves once the revocations are synced, and watches them until `signal` aborts; undefined where that came first. A cluster that does
 * not serve the kind has none, and discovery is repeated every ten seconds; while the cluster is unreachable or denies the list, the
 * function waits.
 */
export async function clusterRevocations(options: ClusterRevocationsOptions): Promise<ClusterRevocations | undefined> {
  const { log } = options;
  const outdated = new AbortController();
  const served = await untilAnswered(options);
  if (served === undefined) return undefined;
  if (!served) {
    log(
      logEntry(
        "RevocationsNotServed",
        "this cluster does not serve CredentialRevocations, so no credential counts as revoked; pratique manifests prints the definition",
      ),
    );
    void lookAgain(options, outdated);
    return { isRevoked: () => false, outdated: outdated.signal };
  }
  const watched = watchedRevocations({ ...options, meanwhile: "nothing is approved or issued" });
  if (!(await watched.synced)) return undefined;
  return { isRevoked: (user) => watched.findUser(user) !== undefined, outdated: outdated.signal };
}

/** Whether the kind is served; retried until discovery answers; undefined where `signal` aborted before. */
async function untilAnswered(options: ClusterRevocationsOptions): Promise<boolean | undefined> {
  const { clock, log, signal } = options;
  for (let failures = 1; !signal.aborted; failures += 1) {
    try {
      return await isServed(options);
    } catch (error) {
      if (signal.aborted) break;
      if (failures === 1) {
        log(
          logEntry(
            "RevocationsUnavailable",
            "cannot determine whether the cluster serves CredentialRevocations; the controller tries again",
            { meanwhile: "nothing is approved or issued", error: failureMessage(error) },
          ),
        );
      }
    }
    await clock.sleep(jitteredBackoffMs(backoff, failures, Math.random), signal);
  }
  return undefined;
}

async function lookAgain(options: ClusterRevocationsOptions, outdated: AbortController): Promise<void> {
  const { clock, log, signal } = options;
  while (!signal.aborted) {
    await clock.sleep(lookAgainMs, signal);
    if ((await untilAnswered(options)) !== true) continue;
    log(logEntry("RevocationsServed", "this cluster serves CredentialRevocations now; the controllers start again"));
    outdated.abort();
    return;
  }
}

/** @throws ConnectionError for every reply that is neither yes nor no */
async function isServed({ client, signal }: ClusterRevocationsOptions): Promise<boolean> {
  const { group, version, plural } = credentialRevocations;
  const { status, body } = await client.raw("GET", `/apis/${group}/${version}`, { signal });
  if (status === 404) return false;
  if (status !== 200) throw new ConnectionError("DISCOVERY", `discovery of ${group} was answered with ${status}`);
  const list = parsedJson(body);
  if (stringAt(list, "kind") !== "APIResourceList") {
    const what = list === undefined ? "something that is not JSON" : "something else";
    throw new ConnectionError("DISCOVERY", `discovery of ${group} was answered with ${what}`);
  }
  return fieldListAt(list, "resources").some((resource) => stringAt(resource, "name") === plural);
}
