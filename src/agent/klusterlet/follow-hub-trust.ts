import { ConnectionError } from "../../client/client.ts";
import { parseClusterInfo } from "../../trust/cluster-info.ts";
import { clusterInfoPath } from "../cluster-info-read.ts";
import { trustKeeper, type TrustFiles } from "../keep-trust.ts";
import type { ClusterCredential } from "./cluster-credential.ts";
import { managedClusterOn } from "./ensure-managed-cluster.ts";
import { randomFraction } from "./random-fraction.ts";
import { credentialFiles } from "./register-cluster.ts";
import { tellFailure, type Serving } from "./serving-cluster.ts";

/**
 * Follows what the hub tells of its CAs and its address in cluster-info, over TLS that is verified by what is trusted already, about once an
 * hour. A CA is written down when the hub can be reached with the new set; an address when the same ManagedCluster is seen there with the
 * same CAs. After a change the conversation is begun anew.
 */
export async function followHubTrust(serving: Serving): Promise<void> {
  const { session, options, signal, end } = serving;
  const { caPem } = session.credential().hub;
  // The roots of the system are kept by the system.
  if (caPem === undefined) return;
  let isWritten = false;
  const keeper = trustKeeper({
    ...options,
    fraction: () => randomFraction(options.random),
    files: trustFiles(serving, caPem, () => {
      isWritten = true;
    }),
    report: (event) => {
      if (event.event === "trusts") options.report({ kind: "trusts", pins: event.pins });
      if (event.event === "failed") tellFailure(serving, "trust", event.message);
    },
  });
  while (!signal.aborted) {
    const turn = await keeper.act(signal);
    if (signal.aborted) return;
    if (isWritten || (await isMoved(serving))) {
      end({ kind: "reload" });
      return;
    }
    const until = turn.kind === "wait" ? turn.until : options.clock.now();
    await options.clock.sleep(Math.max(1000, until - options.clock.now()), signal);
  }
}

/** The kubeconfig is all that names the CA. */
function trustFiles({ session, options }: Serving, caPem: string, written: () => void): TrustFiles {
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
      await store.writeCredential({ ...credentialFiles(credential, credential.hub), kubeconfig: content });
      written();
    },
  };
}

/** Whether the hub has told of an address that it did not tell before, and which holds. */
async function isMoved(serving: Serving): Promise<boolean> {
  const { session, state, options } = serving;
  const address = await toldAddress(serving);
  const { told } = state.now();
  if (address === undefined || address === told) return false;
  // What it tells from the start need not be an address for this cluster: people chose the one in use.
  if (told !== undefined && address !== session.server) {
    const credential = session.credential();
    const next: ClusterCredential = { ...credential, hub: { ...credential.hub, server: address } };
    const why = await whyNotThere(serving, next);
    if (why !== undefined) {
      tellFailure(serving, "address", `the hub tells that it is at ${address} now, ${why}; the address in use is kept`);
      return false;
    }
    await options.store.writeCredential(credentialFiles(credential, next.hub));
    await state.change({ told: address });
    options.report({ kind: "moved", server: address });
    return true;
  }
  await state.change({ told: address });
  return false;
}

async function toldAddress({ session, signal }: Serving): Promise<string | undefined> {
  try {
    const { status, body } = await session.client.raw("GET", clusterInfoPath, { signal });
    if (status !== 200) return undefined;
    const { data } = JSON.parse(body.toString("utf8")) as { readonly data?: { readonly kubeconfig?: unknown } };
    const info = parseClusterInfo(typeof data?.kubeconfig === "string" ? data.kubeconfig : "");
    return info.kind === "parsed" ? info.server : undefined;
  } catch (error) {
    if (error instanceof ConnectionError || error instanceof SyntaxError) return undefined;
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
    if (error instanceof ConnectionError) return `which cannot be reached (${error.code})`;
    return "where this agent is refused";
  } finally {
    client.close();
  }
}
