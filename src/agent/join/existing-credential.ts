import { currentContextOf, KubeconfigError, parseKubeconfig, type CurrentContext } from "../../client/kubeconfig.ts";
import { decodePem } from "../../pki/pem.ts";
import { certificatesOfBundle, pinnedCertificates, type CaPin, type PinnableCertificate } from "../../trust/pins.ts";
import { verifyClientChain, loadTrustRoots } from "../../pki/verify-chain.ts";
import { JoinError } from "../../credentials/join-error.ts";
import type { JoinFolder } from "./join-folder.ts";
import { readable, readStoredCertificate } from "../../credentials/storage/stored-certificate.ts";
import { nodeUser } from "../../credentials/request/node-identity.ts";

/** The credential of an earlier join, complete and valid by its own CA. */
export interface ExistingJoin {
  readonly server: string;
  readonly nodeUser: string;
  readonly authorities: readonly PinnableCertificate[];
  /** In milliseconds since the epoch. */
  readonly validUntil: number;
}

/**
 * The credential of an earlier join at these paths: undefined when there is none, or none that is valid. `now` in milliseconds since the
 * epoch. @throws JoinError already-joined when the kubeconfig belongs to another identity and must not be overwritten
 */
export async function existingJoin(folder: JoinFolder, now: number): Promise<ExistingJoin | undefined> {
  const text = await folder.read(folder.kubeconfig);
  if (text === undefined) return undefined;
  const cluster = clusterOfOwn(text, folder);
  const pem = await folder.read(folder.current);
  if (pem === undefined || cluster === undefined) return undefined;
  return readable(() => {
    const found = validCredential(pem, { caPem: cluster.caPem, now });
    return found && { ...found, server: cluster.server, authorities: certificatesOfBundle(cluster.caPem) };
  });
}

/** When the credential in use expires, if it is this node's, complete, and from this CA; else undefined. */
export async function credentialFor(
  folder: JoinFolder,
  wanted: { readonly nodeName: string; readonly caPem: string; readonly now: number },
): Promise<number | undefined> {
  const pem = await folder.read(folder.current);
  const found = pem === undefined ? undefined : readable(() => validCredential(pem, wanted));
  return found?.nodeUser === nodeUser(wanted.nodeName) ? found.validUntil : undefined;
}

/** The hub of this join, as far as it is known. */
export type WantedHub = { readonly pins: readonly CaPin[] } | { readonly caPem: string };

/** Rejects a second identity for a machine: the existing one must be this node's, and of this hub. @throws JoinError already-joined */
export function requireSameJoin(
  existing: ExistingJoin,
  wanted: { readonly nodeName: string; readonly hub: WantedHub },
): void {
  const replace = "give other places with --cert-dir and --kubeconfig, or replace it with --force";
  if (existing.nodeUser !== nodeUser(wanted.nodeName)) {
    throw new JoinError(
      "already-joined",
      `this machine is joined to ${existing.server} already, as ${existing.nodeUser} and not as ${nodeUser(wanted.nodeName)}; ${replace}`,
    );
  }
  if (!isSameHub(existing.authorities, wanted.hub)) {
    throw new JoinError(
      "already-joined",
      `this machine is joined to ${existing.server} already, whose CA is another one than that of the hub to join; ${replace}`,
    );
  }
}

function isSameHub(authorities: readonly PinnableCertificate[], hub: WantedHub): boolean {
  if ("pins" in hub) return pinnedCertificates(hub.pins, authorities).length > 0;
  const wanted = certificatesOfBundle(hub.caPem);
  return authorities.some((one) => wanted.some((other) => other.pin === one.pin));
}

interface Cluster {
  readonly server: string;
  readonly caPem: string;
}

function clusterOfOwn(text: string, folder: JoinFolder): Cluster | undefined {
  const { user, server, caPem } = parsed(text, folder);
  if (user?.texts.get("client-certificate") !== folder.current) {
    throw foreign(folder, "belongs to another program: it does not use the credential of this machine");
  }
  return server === undefined || caPem === undefined ? undefined : { server, caPem };
}

function parsed(text: string, folder: JoinFolder): CurrentContext {
  try {
    return currentContextOf(parseKubeconfig(text, folder.kubeconfig));
  } catch (error) {
    if (error instanceof KubeconfigError) throw foreign(folder, "is there already and is no kubeconfig");
    throw error;
  }
}

function foreign(folder: JoinFolder, what: string): JoinError {
  return new JoinError(
    "already-joined",
    `${folder.kubeconfig} ${what}; give another place with --kubeconfig, or overwrite it with --force`,
  );
}

function validCredential(
  pem: string,
  { caPem, now }: { readonly caPem: string; readonly now: number },
): Pick<ExistingJoin, "nodeUser" | "validUntil"> | undefined {
  const kept = readStoredCertificate(pem);
  if (kept === undefined) return undefined;
  const [leaf, ...intermediates] = decodePem(kept.certificatesPem).map(({ bytes }) => bytes);
  if (leaf === undefined) return undefined;
  const verdict = verifyClientChain({ leaf, intermediates, roots: loadTrustRoots(caPem), now });
  return verdict.ok ? { nodeUser: kept.commonName, validUntil: verdict.validUntil } : undefined;
}
