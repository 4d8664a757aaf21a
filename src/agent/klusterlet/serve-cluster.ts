import { informer } from "../../client/informer.ts";
import { managedClusters, type ManagedCluster } from "../../resources/managed-cluster.ts";
import { beatHeart, isAcceptedByHub } from "./beat-heart.ts";
import { withClientConfigs } from "./ensure-managed-cluster.ts";
import { followHubTrust } from "./follow-hub-trust.ts";
import { hubStanding } from "./hub-standing.ts";
import { keepManagedNamespaces } from "./managed-namespaces.ts";
import { randomFraction } from "../random-fraction.ts";
import { renewCertificate } from "./renew-certificate.ts";
import { reportStatus } from "./report-status.ts";
import { isRace, saidFailure } from "./said-failure.ts";
import { tellFailure, type ServeEnd, type Serving } from "./serving-cluster.ts";

const informerBackoff = { initialMs: 1000, maxMs: 15_000 };
const lookMs = 60_000;
const defaultHubTimeoutMs = 600_000;

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
