import { resolve } from "node:path";
import { KubeconfigError, parseKubeconfig, type Kubeconfig } from "../client/kubeconfig.ts";
import { holdsSecret } from "../client/resolve-kubeconfig.ts";
import { logEntry, type Log } from "../apimachinery/log-entry.ts";
import type { Io } from "./io.ts";
import { writeLine } from "./printable.ts";

/** The environment of a command that warns in its log. */
export function warningInLog(io: Io, log: Log): Io {
  return { ...io, warn: (message) => log(logEntry("PermissionsTooOpen", message)) };
}

/** Warns of each of these secret files that other accounts may use. `allowed`: the bits of the mode that others may have, default none. */
export async function warnOfOpenSecrets(
  paths: readonly (string | undefined)[],
  io: Io,
  allowed?: number,
): Promise<void> {
  const { warn = (message: string): void => writeLine(io.stderr, `warning: ${message}`) } = io;
  for (const path of paths) {
    const message = path === undefined ? undefined : await io.openPermissions(resolve(io.cwd, path), allowed);
    if (message !== undefined) warn(message);
  }
}

/** Warns of a kubeconfig that contains a secret itself. */
export async function warnOfOpenKubeconfig(config: Kubeconfig, io: Io): Promise<void> {
  if (holdsSecret(config)) await warnOfOpenSecrets([config.file], io);
}

/** Warns of a kubeconfig that another module reads, and of the secrets that its users name; that module reports its errors. */
export async function warnOfOpenKubeconfigFile(file: string, io: Io): Promise<void> {
  const bytes = await io.readFile(file).catch(() => undefined);
  if (bytes === undefined) return;
  let config: Kubeconfig;
  try {
    config = parseKubeconfig(Buffer.from(bytes).toString("utf8"), file);
  } catch (error) {
    if (error instanceof KubeconfigError) return;
    throw error;
  }
  await warnOfOpenKubeconfig(config, io);
  const secrets = [...config.users.values()].flatMap(({ texts }) => [texts.get("client-key"), texts.get("tokenFile")]);
  await warnOfOpenSecrets(secrets, io);
}
