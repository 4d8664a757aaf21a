import { X509Certificate } from "node:crypto";
import { chmod, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { openPermissions, octal, requireOwnFolder, trustedOwners } from "../host/permissions.ts";
import { textIfThere } from "../host/private-files.ts";
import { logEntry } from "../apimachinery/log-entry.ts";
import { shellWord } from "../apimachinery/shell-word.ts";
import type { HubOptions } from "./hub-options.ts";

/**
 * Checks the folders of a data directory. Folders that other users may write to are made private: others could put their own keys, store
 * or links there. @throws HubError data-dir where another user owns keys or store, or could change the target of a symbolic link in their
 * place
 */
export async function checkFolders({ dataDir, log }: HubOptions, pkiDir: string): Promise<void> {
  const storeDir = join(dataDir, "store");
  const trusted = await trustedOwners(dataDir);
  for (const path of [pkiDir, storeDir]) await requireOwnFolder(path, trusted);
  for (const path of [pkiDir, storeDir, join(dataDir, "audit")]) {
    const mode = await modeOf(path);
    if (mode === undefined || (mode & 0o022) === 0) continue;
    const was = `others than its owner could write to ${path} (mode ${octal(mode)})`;
    try {
      await chmod(path, 0o700);
      log(logEntry("PermissionsTooOpen", `${was}; it has mode 0700 now, but look whether everything in it is yours`));
    } catch (error) {
      const next = `correct it with: chmod 700 ${shellWord(path)}`;
      log(logEntry("PermissionsTooOpen", `${was}; ${next}`, { error }));
    }
  }
}

async function modeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mode & 0o777;
  } catch {
    // Other problems are reported when it is read.
    return undefined;
  }
}

/**
 * Checks the secrets that a hub reads. Keys in its own directory that others may read are made private; the directory itself and files of
 * the operator get one warning each, since their modes may be intended.
 */
export async function checkSecretPermissions(options: HubOptions, pkiDir: string): Promise<void> {
  const { log } = options;
  for (const path of await keysIn(pkiDir)) {
    if ((await openPermissions(path)) === undefined) continue;
    const message =
      "a private key could be used by others than its owner; it has mode 0600 now, but may have been copied: replace it if in doubt";
    try {
      await chmod(path, 0o600);
      log(logEntry("PermissionsTooOpen", message, { path }));
    } catch (error) {
      log(logEntry("PermissionsTooOpen", (await openPermissions(path)) ?? message, { error }));
    }
  }
  await checkAdminKubeconfig(join(options.dataDir, "admin.kubeconfig"), log);
  for (const path of [options.dataDir, ...givenSecrets(options)]) {
    const message = await openPermissions(path);
    if (message !== undefined) log(logEntry("PermissionsTooOpen", message));
  }
}

/** Each start replaces the file, but the certificate in it remains valid until it expires. */
async function checkAdminKubeconfig(path: string, log: HubOptions["log"]): Promise<void> {
  const mode = await modeOf(path);
  if (mode === undefined || (await openPermissions(path)) === undefined) return;
  const fingerprint = await clientFingerprint(path);
  const next =
    fingerprint === undefined ? "" : `: if in doubt, revoke it with: pratique revoke --fingerprint ${fingerprint}`;
  log(
    logEntry(
      "PermissionsTooOpen",
      `${path} had mode ${octal(mode)}, so others than its owner could use it; this start replaces it, but its key may have been copied${next}`,
    ),
  );
}

async function clientFingerprint(path: string): Promise<string | undefined> {
  const [, data] = /client-certificate-data: "?([\w+/=]+)/.exec((await textIfThere(path)) ?? "") ?? [];
  try {
    return data === undefined ? undefined : new X509Certificate(Buffer.from(data, "base64")).fingerprint256;
  } catch {
    // A file of another user contains no certificate of this hub.
    return undefined;
  }
}

async function keysIn(dir: string): Promise<readonly string[]> {
  try {
    return (await readdir(dir))
      .filter((name) => name.endsWith(".key"))
      .toSorted()
      .map((name) => join(dir, name));
  } catch {
    // It is missing before the first start; other problems are reported when the keys are read.
    return [];
  }
}

function givenSecrets(options: HubOptions): readonly string[] {
  return [
    options.tokenAuthFile,
    options.clusterSigningKeyFile,
    options.serviceAccountSigningKeyFile,
    options.authorizationWebhook?.configFile,
    options.tokenWebhook?.configFile,
    options.auditWebhookConfigFile,
  ].filter((path) => path !== undefined);
}
