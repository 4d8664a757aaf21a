import { join } from "node:path";
import { accessFolder, readAgentState, storedAccess } from "../../credentials/storage/access-folder.ts";
import type { CredentialName } from "../../credentials/credential-event.ts";
import { certificateFolder, readCertificateState } from "../../credentials/storage/certificate-folder.ts";
import { onFile, JoinError } from "../../credentials/join-error.ts";
import type { FoundCredential } from "./find-credentials.ts";
import {
  refusalOf,
  type Presented,
  type RefusalFile,
  type Refused,
} from "../../credentials/proof/credential-probe-manager.ts";
import type { TrustFiles } from "../../credentials/trust/trust-bundle-manager.ts";
import { nodeHubAddress, nodeCertificate } from "../../credentials/node-client.ts";
import type { FileAccess, PrivateFiles } from "../../host/private-files.ts";

/** Contains no secret. */
const publishedFile = "hub-address.json";

/** A credential read from its files. */
export interface StoredCredential extends Presented {
  /** When the agent plans to renew it, in milliseconds since the epoch, where an agent does. */
  readonly renewsAt: number | undefined;
}

/** The files of a machine's client credential. */
export interface CredentialStore {
  readonly name: CredentialName & { readonly kind: "token" | "client-certificate" };
  /** Reads the present credential; certificate and key come from one read of one file, so they always match. @throws JoinError no-access */
  readonly read: () => Promise<StoredCredential>;
  /** The file that records that the hub rejects it. */
  readonly refusals: RefusalFile;
  /** The files of the machine's trust bundle. */
  readonly trust: TrustFiles;
}

/** The files of a credential; touches nothing yet. Written files are readable as `access` says, else as they were before. */
export function credentialStore(
  found: FoundCredential,
  files: PrivateFiles,
  access: FileAccess | undefined,
): CredentialStore {
  return found.kind === "token" ? tokenStore(found.dir, files, access) : nodeStore(found, files, access);
}

function tokenStore(dir: string, files: PrivateFiles, access: FileAccess | undefined): CredentialStore {
  const folder = accessFolder(dir, undefined, files);
  const { ca, kubeconfig, refusals, text } = folder;
  const write = (path: string, content: string): Promise<void> => folder.write(path, content, access);
  const read = async (): Promise<StoredCredential> => {
    const { token, claims, ...address } = await storedAccess(folder);
    const state = await readAgentState(folder);
    const renewsAt = state?.expiresAt === claims.expiresAt ? state.nextAt : undefined;
    // The token expires by the hub's clock, and every reader of this compares with this machine's.
    return { ...address, credentials: { token }, notAfter: claims.expiresAt + (state?.aheadMs ?? 0), renewsAt };
  };
  return {
    name: { kind: "token", path: folder.token },
    read,
    refusals: {
      text: () => text(refusals),
      write: (content) => write(refusals, content),
      remove: () => folder.remove(refusals),
    },
    trust: { ca, kubeconfig, published: join(dir, publishedFile), text, write, read },
  };
}

function nodeStore(
  { certDir, kubeconfig }: Pick<Extract<FoundCredential, { readonly kind: "node" }>, "certDir" | "kubeconfig">,
  files: PrivateFiles,
  access: FileAccess | undefined,
): CredentialStore {
  const folder = certificateFolder({ certDir, prefix: "kubelet-client" }, files, access);
  const { current, refusals, text } = folder;
  const ca = join(certDir, "ca.crt");
  const read = async (): Promise<StoredCredential> => {
    const address = await nodeHubAddress({ kubeconfig, text });
    const {
      certificatesPem: clientCertPem,
      keyPem: clientKeyPem,
      notAfter,
      serial,
    } = await nodeCertificate({ current, text });
    const state = await readCertificateState(folder);
    const renewsAt = state?.serial === serial ? state.nextAt : undefined;
    return { ...address, credentials: { clientCertPem, clientKeyPem }, notAfter, renewsAt };
  };
  return {
    name: { kind: "client-certificate", path: current },
    read,
    refusals: {
      text: () => text(refusals),
      write: (content) => folder.writeShared(refusals, content),
      remove: () => folder.remove(refusals),
    },
    trust: {
      ca,
      kubeconfig,
      published: join(certDir, publishedFile),
      text,
      // As `pratique join` writes them: other programs read the CA, and only the owner reads the kubeconfig.
      write: (path, content) =>
        onFile({ operation: "write", at: path }, () =>
          files.replaceFile(path, content, access ?? (path === ca ? 0o644 : 0o600)),
        ),
      read,
    },
  };
}

/** What a program of this machine needs to call the hub. The credentials are secret. Times in milliseconds since the epoch. */
export interface MachineCredential extends StoredCredential {
  /** That the hub rejects it, as the agent has recorded. */
  readonly refused: Refused | undefined;
}

/** Reads the present credential. @throws JoinError no-access where there is none, unauthorized where it has expired */
export async function machineCredential(
  found: FoundCredential,
  { files, now }: { readonly files: PrivateFiles; readonly now: number },
): Promise<MachineCredential> {
  const { read, refusals } = credentialStore(found, files, undefined);
  const credential = await read();
  if (now < credential.notAfter) return { ...credential, refused: await refusalOf(credential.credentials, refusals) };
  throw new JoinError(
    "unauthorized",
    `the credential in ${found.kind === "token" ? found.dir : found.certDir} has expired: see pratique agent --status`,
  );
}
