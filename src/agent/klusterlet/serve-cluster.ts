import { informer } from "../../client/informer.ts";
import { managedClusters, type ManagedCluster } from "../../apis/managed-cluster.ts";
import { clusterChanges, reportFailure, type ServeEnd, type Serving } from "./serving-cluster.ts";
import { updateLease, isAcceptedByHub } from "./lease-updater.ts";
import { withClientConfigs } from "./ensure-managed-cluster.ts";
import { followHubTrust } from "./follow-hub-trust.ts";
import { acceptanceStatus } from "./acceptance-status.ts";
import { keepManagedNamespaces } from "./managed-namespaces.ts";
import { randomFraction } from "../../host/system-random.ts";
import { renewCertificate } from "./renew-certificate.ts";
import { reportStatus } from "./report-status.ts";
import { isRace, describeError } from "../../credentials/request/connection-failure.ts";

const informerBackoff = { initialMs: 1000, maxMs: 15_000 };
const lookMs = 60_000;
const defaultHubTimeoutMs = 600_000;

/** Serves one hub with the agent's own certificate until the session ends. */
export async function serveCluster(
  parts: Omit<Serving, "signal" | "end" | "cluster" | "changes" | "notes">,
): Promise<ServeEnd> {
  const { session, options, state } = parts;
  const { clock, random } = options;
  const over = new AbortController();
  const signal = AbortSignal.any([options.signal, over.signal]);
  let ended: ServeEnd = { kind: "stopped" };
  const name = state.now().clusterName;
  const follow = informer<ManagedCluster>({
    client: session.client,
    resource: managedClusters,
    fieldSelector: `metadata.name=${name}`,
    clock,
    backoff: informerBackoff,
    random: () => randomFraction(random),
    onError: (error) => void acceptance.failed(error),
  });
  const serving: Serving = {
    ...parts,
    signal,
    end: (why) => {
      if (!over.signal.aborted) ended = why;
      over.abort();
    },
    cluster: () => follow.get({ name }),
    changes: clusterChanges(clock, signal),
    notes: { beatAt: clock.now(), rotated: undefined, reported: new Set() },
  };
  const acceptance = acceptanceStatus(serving);
  follow.onChange(() => {
    acceptance.seen();
    serving.changes.wake();
  });
  options.report({ kind: "hub", server: session.server, as: "agent" });
  const work = [
    follow.run(signal),
    updateLease(serving),
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

/** Checks each minute whether the bootstrap kubeconfig names another hub, and whether this one has not answered for too long. */
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

/** Adds the addresses that the hub lacks, once the cluster is accepted. */
async function addAddresses(serving: Serving): Promise<void> {
  const { options, signal, session, cluster, changes } = serving;
  const changed = changes.follow();
  const { externalServers: servers, spokeCaPem: caPem } = options;
  while (!signal.aborted && servers.length > 0) {
    const now = cluster();
    const next = isAcceptedByHub(now) ? withClientConfigs(now, { servers, caPem }) : undefined;
    if (next !== undefined) {
      await session.client.update(managedClusters, next).catch((error: unknown) => {
        if (!isRace(error)) reportFailure(serving, "addresses", describeError(error, session.server));
      });
    }
    await changed(lookMs);
  }
}
