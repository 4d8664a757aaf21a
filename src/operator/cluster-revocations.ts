import { jitteredBackoffMs } from "../client/backoff.ts";
import { ConnectionError, type Client } from "../client/client.ts";
import type { RemoteClient } from "../client/remote.ts";
import type { Clock } from "../apimachinery/clock.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";
import { credentialRevocations } from "../apis/credential-revocation.ts";
import { fieldListAt, stringAt } from "../apis/json-fields.ts";
import { watchedRevocations } from "./watched-revocations.ts";
import { failureMessage } from "../client/api-errors.ts";
import { parsedJson } from "../client/replies.ts";

/** What is revoked on a cluster, as its controllers are to respect it. */
export interface ClusterRevocations {
  readonly isRevoked: (user: UserInfo) => boolean;
  /** Aborts when the cluster turns out to have revocations after all: whoever works by this answer begins anew. */
  readonly outdated: AbortSignal;
}

export interface ClusterRevocationsOptions {
  readonly client: Client & Pick<RemoteClient, "raw">;
  readonly clock: Clock;
  readonly log: (entry: LogEntry) => void;
  readonly signal: AbortSignal;
}

const backoff = { initialMs: 200, maxMs: 10_000 };
const lookAgainMs = 10_000;

/**
 * Resolves once it is known what is revoked, and follows it until `signal` aborts; undefined where that came first. A cluster that does
 * not serve the kind has none, and is asked again every ten seconds; one that cannot be asked, or lets nobody read them, is waited for.
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

/** Whether the kind is served, asked until there is an answer; undefined where `signal` aborted before. */
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

/** @throws ConnectionError for every answer that says neither yes nor no */
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
