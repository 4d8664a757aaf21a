import type { ClientCredentials } from "../client/transport.ts";
import { accessFolder } from "./access-folder.ts";
import { readAgentState } from "./agent-state.ts";
import { certificateFolder } from "./certificate-folder.ts";
import { readCertificateState } from "./certificate-state.ts";
import type { FoundCredential } from "./find-credentials.ts";
import { JoinError } from "./join-error.ts";
import { keptAccess } from "./kept-access.ts";
import { readKeptCertificate } from "./kept-certificate.ts";
import { nodeHubAddress } from "./node-hub.ts";
import type { PrivateFiles } from "./private-files.ts";
import { refusalOf, type Refused } from "./refusal-state.ts";

/** What a program of this machine needs to speak with the hub. The credentials are secret. Times in milliseconds since the epoch. */
export interface MachineCredential {
  readonly server: string;
  readonly caPem: string;
  readonly credentials: ClientCredentials;
  readonly expiresAt: number;
  /** When the agent means to replace it, where an agent keeps it. */
  readonly renewsAt: number | undefined;
  /** That the hub refuses it, as the agent that keeps it has found. */
  readonly refused: Refused | undefined;
}

/**
 * Reads a credential as it is now; certificate and key come from one read of one file, so they always fit. @throws JoinError no-access
 * where there is none, unauthorized where it has expired
 */
export async function machineCredential(
  found: FoundCredential,
  { files, now }: { readonly files: PrivateFiles; readonly now: number },
): Promise<MachineCredential> {
  const credential = found.kind === "token" ? await tokenIn(found.dir, files) : await certificateIn(found, files);
  if (now < credential.expiresAt) return credential;
  throw new JoinError(
    "unauthorized",
    `the credential in ${found.kind === "token" ? found.dir : found.certDir} has expired: see pratique agent --status`,
  );
}

async function tokenIn(dir: string, files: PrivateFiles): Promise<MachineCredential> {
  const folder = accessFolder(dir, undefined, files);
  const { server, caPem, token, claims } = await keptAccess(folder);
  const state = await readAgentState(folder);
  const { expiresAt } = claims;
  // The token counts by the hub's clock, and whoever asks goes by this machine's.
  const ahead = state?.aheadMs ?? 0;
  const renewsAt = state?.expiresAt === expiresAt ? state.nextAt : undefined;
  const credentials = { token };
  const refused = await refusalOf(credentials, { text: () => folder.text(folder.refusals) });
  return { server, caPem, credentials, expiresAt: expiresAt + ahead, renewsAt, refused };
}

async function certificateIn(
  { certDir, kubeconfig }: Extract<FoundCredential, { readonly kind: "node" }>,
  files: PrivateFiles,
): Promise<MachineCredential> {
  const folder = certificateFolder({ certDir, prefix: "kubelet-client" }, files, undefined);
  const { server, caPem } = await nodeHubAddress({ kubeconfig, text: folder.text });
  const text = await folder.text(folder.current);
  const current = text === undefined ? undefined : readKeptCertificate(text);
  if (current === undefined) {
    throw new JoinError("no-access", `${folder.current} holds no certificate with its key: join with pratique join`);
  }
  const state = await readCertificateState(folder);
  const { certificatesPem: clientCertPem, keyPem: clientKeyPem, notAfter: expiresAt, serial } = current;
  const renewsAt = state?.serial === serial ? state.nextAt : undefined;
  const credentials = { clientCertPem, clientKeyPem };
  const refused = await refusalOf(credentials, { text: () => folder.text(folder.refusals) });
  return { server, caPem, credentials, expiresAt, renewsAt, refused };
}
