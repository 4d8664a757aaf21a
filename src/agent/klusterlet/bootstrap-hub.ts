import { createHash } from "node:crypto";
import { kubeconfigAccess } from "../../client/kubeconfig-access.ts";
import { currentContextOf, KubeconfigError, parseKubeconfig } from "../../client/kubeconfig.ts";
import { resolveKubeconfig } from "../../client/resolve-kubeconfig.ts";
import type { Clock } from "../../apimachinery/clock.ts";
import { systemErrorCode, systemErrorText } from "../../apimachinery/system-error.ts";
import { certificatesOfBundle, PinError } from "../../trust/pins.ts";
import { hasCredentials } from "../discovery/discovery-file.ts";
import type { HubIdentity } from "../discovery/discovery-context.ts";
import { JoinError } from "../../credentials/join-error.ts";
import { processWorld } from "../../host/process-world.ts";
import type { HubAddress } from "../../credentials/proof/cluster-credential.ts";
import type { LearnedTrust } from "../../credentials/storage/registration-state.ts";

/** A hub from a bootstrap kubeconfig, and the credentials for it, which are secret. */
export interface BootstrapHub extends HubAddress {
  /** The path of the kubeconfig. */
  readonly file: string;
  readonly identity: HubIdentity;
  /** The credential plugin that it names. */
  readonly program: string | undefined;
  /** Differs where address, CA or entry name differ: then it is another hub, or one that was set up again. */
  readonly origin: string;
}

/** Reads a file by its path; rejects as node:fs does. */
export type ReadFile = (path: string) => Promise<Uint8Array>;

/** Reads a bootstrap kubeconfig; a program that it names runs as this process, when the hub is called. @throws JoinError bad-discovery-file */
export async function readBootstrapHub(
  file: string,
  { readFile, clock }: { readonly readFile: ReadFile; readonly clock: Clock },
): Promise<BootstrapHub> {
  const text = await readFile(file).catch((error: unknown) => {
    throw new JoinError("bad-discovery-file", systemErrorText(error, { operation: "read", at: file }), {
      cause: error,
      causeCode: systemErrorCode(error),
    });
  });
  try {
    const config = parseKubeconfig(Buffer.from(text).toString("utf8"), file);
    const resolved = await resolveKubeconfig(config, { readFile });
    const { server, caPem, insecureSkipTlsVerify, tlsServerName, proxyUrl } = resolved;
    if (insecureSkipTlsVerify) {
      throw bad(
        `${file} says insecure-skip-tls-verify: credentials would go to an unverified server; put the hub's CA into it`,
      );
    }
    if (!hasCredentials(resolved)) throw bad(`${file} holds no credentials`);
    if (caPem !== undefined) certificatesOfBundle(caPem);
    const address = { server, caPem, entry: currentContextOf(config).entry };
    const world = { ...processWorld({ clock }), readFile };
    const { credentials, refused, impersonate } = kubeconfigAccess(resolved, world);
    return {
      ...address,
      proxyUrl,
      tlsServerName,
      file,
      program: resolved.exec?.command,
      identity: { credentials, refused, impersonate },
      origin: originOf(address),
    };
  } catch (error) {
    if (error instanceof KubeconfigError) throw bad(error.message);
    if (error instanceof PinError) throw bad(`${file}: ${error.message}`);
    throw error;
  }
}

/**
 * The hub with its changes that the agent has stored since: a bootstrap kubeconfig outlives the CA and the address in it. It stays the
 * same hub, whose `origin` is that of the file.
 */
export function withLearned(hub: BootstrapHub, learned: LearnedTrust | undefined): BootstrapHub {
  if (learned === undefined || learned.origin !== hub.origin) return hub;
  return { ...hub, server: learned.server, caPem: learned.caPem };
}

/** One text for each hub, as far as an agent can distinguish hubs. */
export function originOf({ server, caPem, entry }: HubAddress): string {
  return createHash("sha256")
    .update(JSON.stringify([server, caPem ?? "", entry]))
    .digest("hex");
}

function bad(why: string): JoinError {
  return new JoinError("bad-discovery-file", why);
}
