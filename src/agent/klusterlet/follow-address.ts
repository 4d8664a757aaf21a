import { ConnectionError } from "../../client/client.ts";
import { clusterInfoPath } from "../../trust/cluster-info.ts";
import type { ClusterCredential } from "../../credentials/proof/cluster-credential.ts";
import { managedClusterOn } from "./ensure-managed-cluster.ts";
import type { StoredState } from "../../credentials/storage/stored-state.ts";
import { credentialFiles } from "./register-cluster.ts";
import { reportFailure, type Serving } from "./serving-cluster.ts";
import { clusterInfoIn } from "../../credentials/trust/trust-bundle-manager.ts";

/**
 * Takes up an address that the hub tells in cluster-info and did not tell before, where the same ManagedCluster is seen there with the CAs
 * that are trusted; true when it is written down. @throws StatusError, ConnectionError, JoinError of the store
 */
export async function followAddress(serving: Serving): Promise<boolean> {
  const { session, state, options } = serving;
  const address = await publishedAddress(serving);
  const { told: published } = state.now();
  if (address === undefined || address === published) return false;
  // What it tells from the start need not be an address for this cluster: people chose the one in use.
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

/** Another hub may have the same CA; the object with the same uid is there only on this one. */
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

/** Remembers where the hub is and which CAs it has, for when the bootstrap kubeconfig is needed again. */
export async function learn(state: StoredState, credential: ClusterCredential | undefined): Promise<void> {
  const { origin } = state.now();
  if (origin === undefined || credential?.hub.caPem === undefined) return;
  const { server, caPem } = credential.hub;
  await state.change({ learned: { origin, server, caPem } });
}
