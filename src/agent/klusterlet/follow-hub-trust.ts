import { randomFraction } from "../../host/system-random.ts";
import { type TrustFiles, clusterInfoIn, trustBundleManager } from "../../credentials/trust/trust-bundle-manager.ts";
import { type ClusterCredential, readClusterCredential } from "../../credentials/proof/cluster-credential.ts";
import { credentialFiles } from "./register-cluster.ts";
import { type Serving, reportFailure } from "./serving-cluster.ts";
import { ConnectionError } from "../../client/client.ts";
import { clusterInfoPath } from "../../trust/cluster-info.ts";
import { managedClusterOn } from "./ensure-managed-cluster.ts";
import type { StoredState } from "../../credentials/storage/registration-state.ts";

/**
 * Follows the CAs and the address in the hub's cluster-info, over TLS that is verified by the trusted CAs, about once an hour. A CA is
 * stored when the hub can be reached with the new set; an address when the same ManagedCluster exists there with the same CAs. After a
 * change the session starts again.
 */
export async function followHubTrust(serving: Serving): Promise<void> {
  const { session, options, signal, end } = serving;
  const { caPem } = session.credential().hub;
  // The operating system updates its own roots.
  if (caPem === undefined) return;
  let isWritten = false;
  const member = trustBundleManager({
    ...options,
    fraction: () => randomFraction(options.random),
    files: trustFiles(serving, caPem, () => {
      isWritten = true;
    }),
    report: (event) => {
      if (event.reason === "TrustBundleUpdated")
        options.report({ kind: "trusts", pins: event.details?.["pins"] as readonly string[] });
      if (event.reason === "RenewalFailed") reportFailure(serving, "trust", event.message);
    },
  });
  while (!signal.aborted) {
    const turn = await member.act(signal);
    if (signal.aborted) return;
    if (isWritten || (await followAddress(serving))) {
      end({ kind: "reload" });
      return;
    }
    const until = turn.kind === "wait" ? turn.until : options.clock.now();
    await options.clock.sleep(Math.max(1000, until - options.clock.now()), signal);
  }
}

/** Only the kubeconfig contains the CA. */
function trustFiles({ session, options, state }: Serving, caPem: string, written: () => void): TrustFiles {
  const { store } = options;
  const kubeconfig = "kubeconfig";
  return {
    ca: store.place,
    kubeconfig,
    read: async () => {
      const { certificatePem: clientCertPem, keyPem: clientKeyPem } = session.credential();
      return { server: session.server, caPem, credentials: { clientCertPem, clientKeyPem } };
    },
    text: async (path) =>
      path === kubeconfig ? credentialFiles(session.credential(), session.credential().hub).kubeconfig : undefined,
    write: async (_path, content) => {
      const credential = session.credential();
      const files = { ...credentialFiles(credential, credential.hub), kubeconfig: content };
      await learn(state, readClusterCredential(files));
      await store.writeCredential(files);
      written();
    },
  };
}

/**
 * Adopts a new address from the hub's cluster-info, where the same ManagedCluster exists there with the trusted CAs; true when it is
 * stored. @throws StatusError, ConnectionError, JoinError of the store
 */
export async function followAddress(serving: Serving): Promise<boolean> {
  const { session, state, options } = serving;
  const address = await publishedAddress(serving);
  const { told: published } = state.now();
  if (address === undefined || address === published) return false;
  // The first known address need not be for this cluster: people chose the one in use.
  if (published !== undefined && address !== session.server) {
    const credential = session.credential();
    const next: ClusterCredential = { ...credential, hub: { ...credential.hub, server: address } };
    const why = await whyNotThere(serving, next);
    if (why !== undefined) {
      reportFailure(
        serving,
        "address",
        `cluster-info names the address ${address} now, ${why}; the address in use is kept`,
      );
      return false;
    }
    await learn(state, next);
    await options.store.writeCredential(credentialFiles(credential, next.hub));
    await state.change({ told: address });
    options.report({ kind: "moved", server: address });
    return true;
  }
  await state.change({ told: address });
  return false;
}

async function publishedAddress({ session, signal }: Serving): Promise<string | undefined> {
  try {
    const { status, body } = await session.client.raw("GET", clusterInfoPath, { signal });
    if (status !== 200) return undefined;
    const info = clusterInfoIn(body);
    return info.kind === "parsed" ? info.server : undefined;
  } catch (error) {
    if (error instanceof ConnectionError) return undefined;
    throw error;
  }
}

/** Another hub may have the same CA; an object with the same uid exists only on this one. */
async function whyNotThere({ session, state, cluster }: Serving, next: ClusterCredential): Promise<string | undefined> {
  const client = session.clientWith(next);
  try {
    const seen = await managedClusterOn(client, state.now().clusterName);
    const known = cluster()?.metadata.uid;
    return known !== undefined && seen?.metadata.uid === known ? undefined : "where another hub answers";
  } catch (error) {
    if (error instanceof ConnectionError) return `which cannot be reached: ${error.message}`;
    return "where this agent is refused";
  } finally {
    client.close();
  }
}

/** Stores the address and CAs of the hub, for when the bootstrap kubeconfig is needed again. */
export async function learn(state: StoredState, credential: ClusterCredential | undefined): Promise<void> {
  const { origin } = state.now();
  if (origin === undefined || credential?.hub.caPem === undefined) return;
  const { server, caPem } = credential.hub;
  await state.change({ learned: { origin, server, caPem } });
}
