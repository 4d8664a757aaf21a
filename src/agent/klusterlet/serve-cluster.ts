import { informer } from "../../client/informer.ts";
import { isAccepted, managedClusters, type ManagedCluster } from "../../resources/managed-cluster.ts";
import { approverCommands } from "./approver-commands.ts";
import { beatHeart, isAcceptedByHub } from "./beat-heart.ts";
import { managedClusterOn, withClientConfigs } from "./ensure-managed-cluster.ts";
import { followHubTrust } from "./follow-hub-trust.ts";
import { keepManagedNamespaces } from "./managed-namespaces.ts";
import { randomFraction } from "./random-fraction.ts";
import { bootstrapClient } from "./register-cluster.ts";
import { renewCertificate } from "./renew-certificate.ts";
import { reportStatus } from "./report-status.ts";
import { isRace, isRefusal, saidFailure } from "./said-failure.ts";
import { recovered, tellFailure, type ServeEnd, type Serving } from "./serving-cluster.ts";

const informerBackoff = { initialMs: 1000, maximumMs: 15_000 };
const lookMs = 60_000;
const defaultHubTimeoutMs = 600_000;
const refusedAgainMs = 30_000;

/** Serves one hub with the agent's own certificate until something ends that. */
export async function serveCluster(
  parts: Omit<Serving, "signal" | "end" | "cluster" | "changed" | "wake" | "notes">,
): Promise<ServeEnd> {
  const { session, options, state } = parts;
  const { clock, random } = options;
  const over = new AbortController();
  const signal = AbortSignal.any([options.signal, over.signal]);
  let ended: ServeEnd = { kind: "stopped" };
  const name = state.now().clusterName;
  const wakers = new Set<() => void>();
  const follow = informer<ManagedCluster>({
    client: session.client,
    resource: managedClusters,
    fieldSelector: `metadata.name=${name}`,
    clock,
    backoff: informerBackoff,
    random: () => randomFraction(random),
    onError: (error) => void standing.failed(error),
  });
  const serving: Serving = {
    ...parts,
    signal,
    end: (why) => {
      if (!over.signal.aborted) ended = why;
      over.abort();
    },
    cluster: () => follow.get({ name }),
    changed: (ms) => sleepUnlessWoken(ms, { clock, signal, wakers }),
    wake: () => {
      for (const wake of wakers) wake();
    },
    notes: { beatAt: clock.now(), rotated: undefined, told: new Set() },
  };
  const standing = hubStanding(serving);
  follow.onChange(() => {
    standing.seen();
    serving.wake();
  });
  options.report({ kind: "hub", server: session.server, as: "agent" });
  const work = [
    follow.run(signal),
    beatHeart(serving),
    reportStatus(serving),
    renewCertificate(serving),
    followHubTrust(serving),
    followBootstrap(serving),
    addAddresses(serving),
    keepManagedNamespaces(serving),
  ];
  try {
    await Promise.all(work);
  } finally {
    over.abort();
    await Promise.allSettled(work);
  }
  return ended;
}

function sleepUnlessWoken(
  ms: number,
  {
    clock,
    signal,
    wakers,
  }: { readonly clock: Serving["options"]["clock"]; readonly signal: AbortSignal; readonly wakers: Set<() => void> },
): Promise<void> {
  const woken = new AbortController();
  const wake = (): void => woken.abort();
  wakers.add(wake);
  return clock.sleep(ms, AbortSignal.any([signal, woken.signal])).finally(() => wakers.delete(wake));
}

interface HubStanding {
  /** The ManagedCluster was seen. */
  seen(): void;
  /** The hub could not be asked about it, or refused. */
  failed(error: unknown): Promise<void>;
}

function deniedText(server: string, cluster: string, hasOtherHubs: boolean): string {
  const next = hasOtherHubs ? "" : `; it waits for: pratique cluster accept ${cluster}`;
  return `${server} does not let the cluster ${cluster} in any more${next}`;
}

/** Makes out of answers and refusals how the cluster stands with its hub, and tells it once. */
function hubStanding(serving: Serving): HubStanding {
  const { session, state, options, notes, end, hasOtherHubs, signal } = serving;
  const { report, clock } = options;
  let wasAccepted = false;
  let said = "";
  let askedAt = Number.NEGATIVE_INFINITY;
  const tell = (what: string, run: () => void): void => {
    if (said === what) return;
    said = what;
    run();
  };

  function waiting(): void {
    const { clusterName: cluster, agentName: agent } = state.now();
    const commands = approverCommands(["acceptance"], { cluster, agent, request: undefined });
    tell("waiting", () => report({ kind: "waiting", open: ["acceptance"], agent, commands }));
  }

  function denied(): void {
    const { clusterName } = state.now();
    tell("denied", () => report({ kind: "denied", message: deniedText(session.server, clusterName, hasOtherHubs) }));
    if (hasOtherHubs) end({ kind: "next-hub", message: "the hub does not accept the cluster any more" });
  }

  function detached(): void {
    const message = `${session.server} does not know the cluster ${state.now().clusterName} any more; to join again, leave first: pratique klusterlet --leave, with the options that it was started with`;
    tell("detached", () => report({ kind: "detached", message }));
  }

  function shutOut(): void {
    if (wasAccepted) denied();
    else waiting();
  }

  /** The certificate is good by its dates and refused all the same: the hub may tell the bootstrap identity why. */
  async function refused(isUnknown: boolean): Promise<void> {
    if (clock.now() - askedAt < refusedAgainMs) return;
    askedAt = clock.now();
    const hub = await serving.bootstrap();
    if (hub === undefined) return isUnknown ? undefined : shutOut();
    const client = bootstrapClient(hub, options);
    try {
      const cluster = await managedClusterOn(client, state.now().clusterName);
      if (signal.aborted) return;
      if (!isThere(cluster)) detached();
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
      if (!isThere(cluster)) detached();
      else if (!isAccepted(cluster)) {
        wasAccepted ||= cluster.metadata.finalizers !== undefined;
        shutOut();
      } else if (isAcceptedByHub(cluster)) {
        wasAccepted = true;
        said = "";
      }
    },
    failed: async (error) => {
      if (signal.aborted) return;
      if (isRefusal(error, "Unauthorized")) await refused(true);
      else if (isRefusal(error, "Forbidden")) await refused(false);
      else tellFailure(serving, "hub", saidFailure(error, session.server));
    },
  };
}

/** Whether the hub has such a cluster and is not about to have none. */
function isThere(cluster: ManagedCluster | undefined): cluster is ManagedCluster {
  return cluster !== undefined && cluster.metadata.deletionTimestamp === undefined;
}

/** Looks each minute whether the bootstrap kubeconfig names another hub by now, and whether this one is silent for too long. */
async function followBootstrap({
  options,
  signal,
  end,
  bootstrap,
  state,
  hasOtherHubs,
  notes,
}: Serving): Promise<void> {
  const { clock, hubTimeoutMs = defaultHubTimeoutMs } = options;
  while (!signal.aborted) {
    await clock.sleep(Math.min(lookMs, hasOtherHubs ? hubTimeoutMs : lookMs), signal);
    if (signal.aborted) return;
    const hub = await bootstrap();
    if (hub !== undefined && hub.origin !== state.now().origin) {
      end({ kind: "register", newAgent: false, message: `${hub.file} names another hub now` });
    } else if (hasOtherHubs && clock.now() - notes.beatAt > hubTimeoutMs) {
      end({ kind: "next-hub", message: "the hub takes no heartbeat" });
    }
  }
}

/** Adds the addresses that the hub shall know and does not, once the cluster is let in. */
async function addAddresses(serving: Serving): Promise<void> {
  const { options, signal, session, cluster, changed } = serving;
  const { externalServers: servers, spokeCaPem: caPem } = options;
  while (!signal.aborted && servers.length > 0) {
    const now = cluster();
    const next = isAcceptedByHub(now) ? withClientConfigs(now, { servers, caPem }) : undefined;
    if (next !== undefined) {
      await session.client.update(managedClusters, next).catch((error: unknown) => {
        if (!isRace(error)) tellFailure(serving, "addresses", saidFailure(error, session.server));
      });
    }
    await changed(lookMs);
  }
}
