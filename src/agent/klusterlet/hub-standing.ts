import { hasReason } from "../../client/api-errors.ts";
import { rfc3339 } from "../../core/clock.ts";
import { isAccepted, type ManagedCluster } from "../../resources/managed-cluster.ts";
import { approverCommands } from "./approver-commands.ts";
import { isAcceptedByHub } from "./beat-heart.ts";
import { managedClusterOn } from "./ensure-managed-cluster.ts";
import { bootstrapClient } from "./register-cluster.ts";
import type { ShutOut } from "./registration-state.ts";
import { saidFailure } from "./said-failure.ts";
import { recovered, tellFailure, type Serving } from "./serving-cluster.ts";

const refusedAgainMs = 30_000;

/** How a cluster stands with its hub, from what its agent sees and is refused. */
export interface HubStanding {
  /** The ManagedCluster was seen. */
  seen(): void;
  /** The hub could not be asked about it, or refused. */
  failed(error: unknown): Promise<void>;
}

/** How a cluster can stand, each told once until another is. */
interface Told {
  waiting(): void;
  denied(): void;
  detached(): void;
  accepted(): void;
}

/** Tells how the cluster stands, and keeps that it is shut out for whoever asks, also after a restart. */
function toldStanding(serving: Serving): Told {
  const { session, state, options, hasOtherHubs } = serving;
  const { report, clock } = options;
  let said: keyof Told | undefined;

  async function kept(shutOut: ShutOut | undefined): Promise<void> {
    // Whoever made the cluster leave meanwhile has removed it all.
    if ((await options.store.readState()) !== undefined) await state.change({ shutOut });
  }
  function remember(shutOut: ShutOut | undefined): void {
    if (state.now().shutOut?.message === shutOut?.message) return;
    kept(shutOut).catch((error: unknown) => {
      tellFailure(serving, "state", saidFailure(error, options.store.place));
    });
  }
  function once(what: keyof Told, tell: () => void): void {
    if (said === what) return;
    said = what;
    tell();
  }
  const shut = (kind: "denied" | "detached", message: string): void =>
    once(kind, () => {
      remember({ since: rfc3339(clock.now()), message });
      report({ kind, message });
    });

  return {
    waiting: () => {
      const { clusterName: cluster, agentName: agent } = state.now();
      const commands = approverCommands(["acceptance"], { cluster, agent, request: undefined });
      once("waiting", () => report({ kind: "waiting", open: ["acceptance"], agent, commands }));
    },
    denied: () => {
      const { clusterName } = state.now();
      const next = hasOtherHubs ? "" : `; it waits for: pratique cluster accept ${clusterName}`;
      shut("denied", `cluster ${clusterName} is no longer accepted by ${session.server}${next}`);
    },
    detached: () => {
      const next = "to join again, leave first: pratique klusterlet --leave, with the options that it was started with";
      shut("detached", `${session.server} has no ManagedCluster ${state.now().clusterName} any more; ${next}`);
    },
    accepted: () => {
      said = "accepted";
      remember(undefined);
    },
  };
}

/** Makes out of answers and refusals how the cluster stands with its hub. */
export function hubStanding(serving: Serving): HubStanding {
  const { session, state, options, notes, end, hasOtherHubs, signal } = serving;
  const { clock } = options;
  const told = toldStanding(serving);
  let wasAccepted = false;
  let askedAt = Number.NEGATIVE_INFINITY;

  function denied(): void {
    told.denied();
    if (hasOtherHubs) end({ kind: "next-hub", message: "the hub no longer accepts the cluster" });
  }

  function shutOut(): void {
    if (wasAccepted) denied();
    else told.waiting();
  }

  /** The certificate is good by its dates and refused all the same: the hub may tell the bootstrap identity why. */
  async function refused(isUnknown: boolean): Promise<void> {
    if (clock.now() - askedAt < refusedAgainMs) return;
    askedAt = clock.now();
    const hub = await serving.bootstrap();
    if (hub === undefined) return isUnknown ? tellFailure(serving, "hub", withoutBootstrap(serving)) : shutOut();
    const client = bootstrapClient(hub, options);
    try {
      const cluster = await managedClusterOn(client, state.now().clusterName);
      if (signal.aborted) return;
      if (!isThere(cluster)) told.detached();
      else if (!isAccepted(cluster)) {
        if (isUnknown) denied();
        else shutOut();
      } else if (isUnknown) {
        const message = "the hub accepts the cluster, but this agent's certificate not any more";
        end({ kind: "register", newAgent: true, message });
      }
    } catch (error) {
      if (!isUnknown) return shutOut();
      const why = saidFailure(error, hub.server);
      const message = `the certificate of this agent is refused, and the bootstrap credential too (${why}): write a new one with pratique cluster token`;
      tellFailure(serving, "hub", message);
    } finally {
      client.close();
    }
  }

  return {
    seen: () => {
      const cluster = serving.cluster();
      recovered(notes, "hub");
      if (!isThere(cluster)) told.detached();
      else if (!isAccepted(cluster)) {
        wasAccepted ||= cluster.metadata.finalizers !== undefined;
        shutOut();
      } else if (isAcceptedByHub(cluster)) {
        wasAccepted = true;
        told.accepted();
      }
    },
    failed: async (error) => {
      if (signal.aborted) return;
      if (hasReason(error, "Unauthorized")) await refused(true);
      else if (hasReason(error, "Forbidden")) await refused(false);
      else tellFailure(serving, "hub", saidFailure(error, session.server));
    },
  };
}

function withoutBootstrap({ session, options }: Serving): string {
  const files = options.bootstrapKubeconfigs.join(", ");
  const where = files === "" ? "no bootstrap kubeconfig is given" : `no bootstrap kubeconfig can be read (${files})`;
  return `${session.server} refuses the certificate of this agent (401), and ${where}: write a new one with pratique cluster token`;
}

/** Whether the hub has such a cluster and is not about to have none. */
function isThere(cluster: ManagedCluster | undefined): cluster is ManagedCluster {
  return cluster !== undefined && cluster.metadata.deletionTimestamp === undefined;
}
