import { credentialStore, type StoredCredential } from "./credential-store.ts";
import type { FoundCredential } from "./find-credentials.ts";
import { JoinError } from "../../credentials/join-error.ts";
import type { PrivateFiles } from "../../host/private-files.ts";
import { refusalOf, type Refused } from "../../credentials/storage/refusal-state.ts";

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
