import { createHash } from "node:crypto";
import { KubeconfigError, parseKubeconfig } from "../../client/kubeconfig.ts";
import { resolveKubeconfig } from "../../client/resolve-kubeconfig.ts";
import type { ClientCredentials } from "../../client/transport.ts";
import { certificatesOfBundle, PinError } from "../../trust/pins.ts";
import { JoinError } from "../join-error.ts";
import type { HubAddress } from "./hub-kubeconfig.ts";
import type { LearnedTrust } from "./registration-state.ts";

/** A hub as a bootstrap kubeconfig names it, and what may be said to it. The credentials are secret. */
export interface BootstrapHub extends HubAddress {
  /** The path of the kubeconfig. */
  readonly file: string;
  readonly credentials: ClientCredentials;
  /** Differs where address, CA or entry name differ: then it is another hub, or one that was built anew. */
  readonly origin: string;
}

/** Reads a file by its path; rejects as node:fs does. */
export type ReadFile = (path: string) => Promise<Uint8Array>;

/** What a bootstrap kubeconfig says. @throws JoinError bad-discovery-file */
export async function readBootstrapHub(file: string, readFile: ReadFile): Promise<BootstrapHub> {
  const text = await readFile(file).catch((error: unknown) => {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unreadable";
    throw new JoinError("bad-discovery-file", `cannot read ${file} (${code})`, { cause: error, causeCode: code });
  });
  try {
    const config = parseKubeconfig(Buffer.from(text).toString("utf8"), file);
    const { server, caPem, insecureSkipTlsVerify, tlsServerName, ...user } = await resolveKubeconfig(config, {
      readFile,
    });
    if (insecureSkipTlsVerify) {
      throw bad(
        `${file} says insecure-skip-tls-verify: credentials would go to whoever answers; put the hub's CA into it`,
      );
    }
    if (tlsServerName !== undefined) {
      throw bad(`${file} says tls-server-name, which the kubeconfig of an agent does not carry over`);
    }
    if (user.token === undefined && user.clientCertPem === undefined) throw bad(`${file} holds no credentials`);
    if (caPem !== undefined) certificatesOfBundle(caPem);
    const entry = config.contexts.get(config.currentContext)?.texts.get("cluster") ?? "";
    const address = { server, caPem, entry };
    return {
      ...address,
      file,
      credentials: {
        ...(user.token === undefined ? {} : { token: user.token }),
        ...(user.clientCertPem === undefined ? {} : { clientCertPem: user.clientCertPem }),
        ...(user.clientKeyPem === undefined ? {} : { clientKeyPem: user.clientKeyPem }),
      },
      origin: originOf(address),
    };
  } catch (error) {
    if (error instanceof KubeconfigError) throw bad(error.message);
    if (error instanceof PinError) throw bad(`${file}: ${error.message}`);
    throw error;
  }
}

/**
 * The hub with what the agent has learned of it since: a bootstrap kubeconfig outlives the CA and the address that stand in it. It stays
 * the same hub, whose `origin` is that of the file.
 */
export function withLearned(hub: BootstrapHub, learned: LearnedTrust | undefined): BootstrapHub {
  if (learned === undefined || learned.origin !== hub.origin) return hub;
  return { ...hub, server: learned.server, caPem: learned.caPem };
}

/** One text for each hub, as far as an agent can tell hubs apart. */
export function originOf({ server, caPem, entry }: HubAddress): string {
  return createHash("sha256")
    .update(JSON.stringify([server, caPem ?? "", entry]))
    .digest("hex");
}

function bad(why: string): JoinError {
  return new JoinError("bad-discovery-file", why);
}
