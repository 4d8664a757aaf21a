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

/** Holds no secret. */
const publishedFile = "hub-address.json";

/** A credential as its files hold it. */
export interface StoredCredential extends Presented {
  /** When the agent means to replace it, in milliseconds since the epoch, where an agent keeps it. */
  readonly renewsAt: number | undefined;
}

/** Where a machine keeps the credential that it shows to its hub, and what belongs to it. */
export interface CredentialStore {
  readonly name: CredentialName & { readonly kind: "token" | "client-certificate" };
  /** As the files say it now; certificate and key come from one read of one file, so they always fit. @throws JoinError no-access */
  readonly read: () => Promise<StoredCredential>;
  /** Where it is written down that the hub refuses it. */
  readonly refusals: RefusalFile;
  /** Where the machine keeps which hub it trusts. */
  readonly trust: TrustFiles;
}

/** The files of a credential; nothing is touched yet. Who may read what is written is as `access` says, else as those who wrote it first left it. */
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
    // The token counts by the hub's clock, and all who read this go by this machine's.
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
      // As joining wrote it: other programs read the CA, and nobody else the kubeconfig.
      write: (path, content) =>
        onFile({ operation: "write", at: path }, () =>
          files.replaceFile(path, content, access ?? (path === ca ? 0o644 : 0o600)),
        ),
      read,
    },
  };
}

/** What a program of this machine needs to speak with the hub. The credentials are secret. Times in milliseconds since the epoch. */
export interface MachineCredential extends StoredCredential {
  /** That the hub refuses it, as the agent that keeps it has found. */
  readonly refused: Refused | undefined;
}

/** Reads a credential as it is now. @throws JoinError no-access where there is none, unauthorized where it has expired */
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
