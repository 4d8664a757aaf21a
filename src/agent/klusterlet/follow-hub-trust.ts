import { trustBundleManager, type TrustFiles } from "../../credentials/trust/trust-bundle-manager.ts";
import { readClusterCredential } from "../../credentials/proof/cluster-credential.ts";
import { followAddress, learn } from "./follow-address.ts";
import { randomFraction } from "../../host/system-random.ts";
import { credentialFiles } from "./register-cluster.ts";
import { reportFailure, type Serving } from "./serving-cluster.ts";

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

/** The kubeconfig is all that names the CA. */
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
