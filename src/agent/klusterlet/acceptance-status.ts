import { hasReason } from "../../client/api-errors.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { isAccepted, type ManagedCluster } from "../../apis/managed-cluster.ts";
import { approverCommands } from "./approver-commands.ts";
import { isAcceptedByHub } from "./lease-updater.ts";
import { managedClusterOn } from "./ensure-managed-cluster.ts";
import { bootstrapClient } from "./register-cluster.ts";
import type { Rejection } from "../../credentials/storage/registration-state.ts";
import { describeError } from "../../credentials/request/connection-failure.ts";
import { recovered, reportFailure, type Serving } from "./serving-cluster.ts";

const refusedAgainMs = 30_000;

/** Tracks whether the hub accepts a cluster, from the replies to its agent. */
export interface AcceptanceStatus {
  /** The agent has read the ManagedCluster. */
  seen(): void;
  /** The hub was unreachable, or denied the read. */
  failed(error: unknown): Promise<void>;
}

/** The acceptance states, each reported once until another follows. */
interface AcceptanceReports {
  waiting(): void;
  denied(): void;
  detached(): void;
  accepted(): void;
}

/** Reports the acceptance of the cluster, and stores a denial for `status`, also across a restart. */
function acceptanceReports(serving: Serving): AcceptanceReports {
  const { session, state, options, hasOtherHubs, end } = serving;
  const { report, clock } = options;
  let reported: keyof AcceptanceReports | undefined;

  async function storeRejection(rejection: Rejection | undefined): Promise<void> {
    // A command that detached the cluster meanwhile has removed the state.
    if ((await options.store.readState()) !== undefined) await state.change({ shutOut: rejection });
  }
  function remember(rejection: Rejection | undefined): void {
    if (state.now().shutOut?.message === rejection?.message) return;
    storeRejection(rejection).catch((error: unknown) => {
      reportFailure(serving, "state", describeError(error, options.store.place));
    });
  }
  function once(what: keyof AcceptanceReports, notify: () => void): void {
    if (reported === what) return;
    reported = what;
    notify();
  }
  const reportEnd = (kind: "denied" | "detached", message: string): void =>
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
      reportEnd("denied", `cluster ${clusterName} is no longer accepted by ${session.server}${next}`);
      if (hasOtherHubs) end({ kind: "next-hub", message: "the hub no longer accepts the cluster" });
    },
    detached: () => {
      const next = "to join again, leave first: pratique klusterlet --leave, with the options that it was started with";
      reportEnd("detached", `${session.server} has no ManagedCluster ${state.now().clusterName} any more; ${next}`);
    },
    accepted: () => {
      reported = "accepted";
      remember(undefined);
    },
  };
}

/** Derives the acceptance of a cluster from the hub's replies. */
export function acceptanceStatus(serving: Serving): AcceptanceStatus {
  const { session, state, options, notes, end, signal } = serving;
  const { clock } = options;
  const acceptance = acceptanceReports(serving);
  let wasAccepted = false;
  let askedAt = Number.NEGATIVE_INFINITY;

  function reject(): void {
    if (wasAccepted) acceptance.denied();
    else acceptance.waiting();
  }

  /** What the bootstrap identity reads of a cluster whose own credential is rejected, as unknown or without rights. */
  function seenByOther(cluster: ManagedCluster | undefined, isUnknown: boolean): void {
    if (!isThere(cluster)) return acceptance.detached();
    if (!isAccepted(cluster)) return isUnknown ? acceptance.denied() : reject();
    const message = "the hub accepts the cluster, but no longer this agent's certificate";
    if (isUnknown) end({ kind: "register", newAgent: true, message });
  }

  /** The certificate is unexpired and still rejected: the bootstrap identity may read why. */
  async function refused(isUnknown: boolean): Promise<void> {
    if (clock.now() - askedAt < refusedAgainMs) return;
    askedAt = clock.now();
    const hub = await serving.bootstrap();
    if (hub === undefined) return isUnknown ? reportFailure(serving, "hub", withoutBootstrap(serving)) : reject();
    const client = bootstrapClient(hub, options);
    try {
      const cluster = await managedClusterOn(client, state.now().clusterName);
      if (!signal.aborted) seenByOther(cluster, isUnknown);
    } catch (error) {
      if (!isUnknown) return reject();
      const why = describeError(error, hub.server);
      const message = `the certificate of this agent is refused, and the bootstrap credential too (${why}): write a new one with pratique cluster token`;
      reportFailure(serving, "hub", message);
    } finally {
      client.close();
    }
  }

  return {
    seen: () => {
      const cluster = serving.cluster();
      recovered(notes, "hub");
      if (!isThere(cluster)) acceptance.detached();
      else if (!isAccepted(cluster)) {
        wasAccepted ||= cluster.metadata.finalizers !== undefined;
        reject();
      } else if (isAcceptedByHub(cluster)) {
        wasAccepted = true;
        acceptance.accepted();
      }
    },
    failed: async (error) => {
      if (signal.aborted) return;
      if (hasReason(error, "Unauthorized")) await refused(true);
      else if (hasReason(error, "Forbidden")) await refused(false);
      else reportFailure(serving, "hub", describeError(error, session.server));
    },
  };
}

function withoutBootstrap({ session, options }: Serving): string {
  const files = options.bootstrapKubeconfigs.join(", ");
  const where = files === "" ? "no bootstrap kubeconfig is given" : `no bootstrap kubeconfig can be read (${files})`;
  return `${session.server} refuses the certificate of this agent (401), and ${where}: write a new one with pratique cluster token`;
}

/** Whether the hub has the cluster and is not deleting it. */
function isThere(cluster: ManagedCluster | undefined): cluster is ManagedCluster {
  return cluster !== undefined && cluster.metadata.deletionTimestamp === undefined;
}
