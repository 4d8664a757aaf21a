import { chmod, readdir } from "node:fs/promises";
import { join } from "node:path";
import { openPermissions } from "../agent/open-permissions.ts";
import { errorText } from "./error-text.ts";
import type { HubOptions } from "./hub-options.ts";

/**
 * Looks at the secrets that a hub reads. Keys in its own directory that others may read are made private; for the directory itself and for
 * files of the operator there is one warning each, since somebody may have reasons there.
 */
export async function checkSecretPermissions(options: HubOptions, pkiDir: string): Promise<void> {
  const { log } = options;
  for (const path of await keysIn(pkiDir)) {
    if ((await openPermissions(path)) === undefined) continue;
    const message =
      "a private key could be used by others than its owner; it has mode 0600 now, but may have been copied: replace it if in doubt";
    try {
      await chmod(path, 0o600);
      log({ level: "warn", message, path });
    } catch (error) {
      log({ level: "warn", message: (await openPermissions(path)) ?? message, error: errorText(error) });
    }
  }
  for (const path of [options.dataDir, ...givenSecrets(options)]) {
    const message = await openPermissions(path);
    if (message !== undefined) log({ level: "warn", message });
  }
}

async function keysIn(dir: string): Promise<readonly string[]> {
  try {
    return (await readdir(dir))
      .filter((name) => name.endsWith(".key"))
      .toSorted()
      .map((name) => join(dir, name));
  } catch {
    // Before the first start there is none; what else is wrong is told when the keys are read.
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
