import { join } from "node:path";
import { findCredentials, type FoundCredential } from "../../agent/node/find-credentials.ts";
import { JoinError } from "../../credentials/join-error.ts";
import { folderView } from "./agent-folders.ts";
import { systemErrorCode } from "../../apimachinery/system-error.ts";
import type { Io } from "../io.ts";
import { warnOfOpenSecrets, type Warn } from "../open-secrets.ts";

/** A group may read what `--owner` and `--mode` share with it. */
const sharedBits = 0o040;

/** Warns of the secrets of these credentials that others may read, besides a group that is given them, or change. */
export async function warnOfOpenAgentFiles(found: readonly FoundCredential[], io: Io, warn?: Warn): Promise<void> {
  await warnOfOpenSecrets(found.flatMap(secretsOf), io, { warn, allowed: sharedBits });
}

/** The same for all credentials in these folders; that there is none, or none that can be read, is said by those who use them. */
export async function warnOfOpenAgentFolders(dirs: readonly string[], io: Io, warn: Warn): Promise<void> {
  try {
    await warnOfOpenAgentFiles(await findCredentials(dirs, folderView(io)), io, warn);
  } catch (error) {
    if (!(error instanceof JoinError) && systemErrorCode(error) === undefined) throw error;
  }
}

function secretsOf(found: FoundCredential): readonly string[] {
  if (found.kind === "token") return ["key.pem", "token", "bootstrap-token"].map((name) => join(found.dir, name));
  return ["kubelet-client-current.pem", "kubelet-server-current.pem"].map((name) => join(found.certDir, name));
}
