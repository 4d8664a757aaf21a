import { hasReason } from "../../client/api-errors.ts";
import { describeError } from "../../credentials/request/connection-failure.ts";
import type { ManagedCluster } from "../../apis/managed-cluster.ts";
import type { Condition } from "../../apimachinery/object.ts";
import type { BootstrapHub } from "./bootstrap-hub.ts";
import type { StoredState } from "../../credentials/storage/registration-state.ts";
import type { KlusterletOptions } from "./klusterlet-options.ts";
import type { Clock } from "../../apimachinery/clock.ts";
import type { RemoteClient } from "../../client/remote.ts";
import type { ClusterCredential } from "../../credentials/proof/cluster-credential.ts";
import { randomFraction } from "../../host/system-random.ts";
import { hubClient } from "../../host/hub-client.ts";

/** Why an agent ends its session with a hub. */
export type ServeEnd =
  | { readonly kind: "stopped" }
  /** The installed files have changed. */
  | { readonly kind: "reload" }
  /** The bootstrap credential is needed again; with `newAgent` the old name cannot be used again. */
  | { readonly kind: "register"; readonly newAgent: boolean; readonly message: string }
  | { readonly kind: "next-hub"; readonly message: string };

/** The state that the parts of an agent share while it serves one hub. */
export interface Serving {
  readonly session: HubSession;
  readonly state: StoredState;
  readonly options: KlusterletOptions;
  /** The hub in its present bootstrap kubeconfig, or undefined while that cannot be read. */
  readonly bootstrap: () => Promise<BootstrapHub | undefined>;
  readonly hasOtherHubs: boolean;
  /** Aborts when the agent, or its session with this hub, ends. */
  readonly signal: AbortSignal;
  readonly end: (why: ServeEnd) => void;
  /** The newest known ManagedCluster. */
  readonly cluster: () => ManagedCluster | undefined;
  /** Wakes on changes of the ManagedCluster, and of the agent's own status. */
  readonly changes: ClusterChanges;
  readonly notes: ServingNotes;
}

/** Values that one part records for another. */
export interface ServingNotes {
  /** When the hub last accepted a heartbeat. */
  beatAt: number;
  /** The result of the last renewal, for the status. */
  rotated: Condition | undefined;
  /** Failures that were reported already. */
  readonly reported: Set<string>;
}

/** Reports a failure once, until `recovered` is called for its topic. */
export function reportFailure({ options, notes }: Serving, topic: string, message: string): void {
  const key = `${topic}: ${message}`;
  if (notes.reported.has(key)) return;
  recovered(notes, topic);
  notes.reported.add(key);
  options.report({ kind: "failed", message });
}

/** How one part of the agent repeats its work; `failure` names what is not done when it fails. */
export interface Repetition {
  readonly topic: string;
  readonly failure: string;
  /** The pause after a failure, in milliseconds; after a conflict it is 2 seconds. */
  readonly everyMs: number;
}

const raceMs = 2_000;

/**
 * Runs `step` with the newest known ManagedCluster, then waits for the milliseconds that it returns or for a change, and repeats until
 * the signal aborts. Failures are reported once, conflicts never.
 */
export async function repeatedly(
  serving: Serving,
  { topic, failure, everyMs }: Repetition,
  step: (cluster: ManagedCluster | undefined) => Promise<number>,
): Promise<void> {
  const { signal, changes, cluster, session } = serving;
  const changed = changes.follow();
  while (!signal.aborted) {
    const pauseMs = await step(cluster()).catch((error: unknown) => {
      if (hasReason(error, "Conflict")) return raceMs;
      if (!signal.aborted) reportFailure(serving, topic, `${failure}: ${describeError(error, session.server)}`);
      return everyMs;
    });
    if (signal.aborted) return;
    await changed(pauseMs);
  }
}

/** Ends the failure of a topic. */
export function recovered({ reported }: ServingNotes, topic: string): void {
  for (const key of reported) if (key.startsWith(`${topic}: `)) reported.delete(key);
}

/** Wakes the parts of an agent that wait for a change of their ManagedCluster. */
export interface ClusterChanges {
  readonly wake: () => void;
  /**
   * For one part, which then waits with the returned function: it resolves after so many milliseconds, or as soon as `wake` has been
   * called since it last resolved. So a change that arrives while the part works ends the next pause at once.
   */
  readonly follow: () => (ms: number) => Promise<void>;
}

/** The changes of one session with a hub; every pause ends with `signal`. */
export function clusterChanges(clock: Clock, signal: AbortSignal): ClusterChanges {
  const wakers: (() => void)[] = [];
  return {
    wake: () => {
      for (const wake of wakers) wake();
    },
    follow: () => {
      let change = new AbortController();
      wakers.push(() => change.abort());
      return async (ms) => {
        await clock.sleep(ms, AbortSignal.any([signal, change.signal]));
        change = new AbortController();
      };
    },
  };
}

/** The agent's session with its hub, always with the newest certificate. */
export interface HubSession {
  readonly server: string;
  readonly client: RemoteClient;
  credential(): ClusterCredential;
  /** Switches to another certificate of the same agent; connections with the old one finish their requests. */
  renewed(credential: ClusterCredential): void;
  /** Connects with a certificate that is not in use yet, or to another address. */
  clientWith(credential: ClusterCredential): RemoteClient;
  close(): void;
}

const timeoutMs = 30_000;

/** Sends nothing yet. */
export function hubSession(first: ClusterCredential, { clock, userAgent, random }: KlusterletOptions): HubSession {
  let current = first;
  const shared = { userAgent, timeoutMs, clock, random: () => randomFraction(random), retryBudgetMs: 0 };
  const shown = (one: ClusterCredential): { readonly clientCertPem: string; readonly clientKeyPem: string } => ({
    clientCertPem: one.certificatePem,
    clientKeyPem: one.keyPem,
  });
  const client = hubClient({ ...shared, ...first.hub, credentials: () => shown(current) });
  return {
    server: first.hub.server,
    client,
    credential: () => current,
    renewed: (credential) => {
      current = credential;
    },
    clientWith: (credential) => hubClient({ ...shared, ...credential.hub, ...shown(credential) }),
    close: () => client.close(),
  };
}
