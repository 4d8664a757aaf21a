import { readText } from "../../host/read-text.ts";
import { join, resolve } from "node:path";
import type { KlusterletOptions } from "../../agent/klusterlet/klusterlet-options.ts";
import { mirroredStore, type KlusterletStore } from "../../credentials/storage/klusterlet-store.ts";
import { folderStore, stateFile } from "../../credentials/storage/folder-store.ts";
import { secretStore } from "../../credentials/storage/secret-store.ts";
import { privateFiles } from "../../host/private-files.ts";
import { KubeconfigError, parseKubeconfig } from "../../client/kubeconfig.ts";
import type { RemoteClient } from "../../client/remote.ts";
import { resolveKubeconfig, type ResolvedKubeconfig } from "../../client/resolve-kubeconfig.ts";
import { dnsLabelProblems } from "../../apimachinery/names.ts";
import { checkedText, usageError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { Io } from "../io.ts";
import { warnOfOpenKubeconfigFile, warnOfOpenSecrets } from "../open-secrets.ts";
import { release } from "../release.ts";

const minSeconds = 3600;

/** @throws CliError usage where no --bootstrap-kubeconfig is given */
export function requireBootstrap(args: Args): void {
  if (args.list("bootstrap-kubeconfig").length > 0) return;
  throw usageError("--bootstrap-kubeconfig is missing", [
    "On the hub: pratique cluster token --bootstrap-kubeconfig FILE",
  ]);
}

/** The options of `klusterletOptions`, with a connection to the spoke where there is one; the connections close when `use` ends. */
export async function withKlusterlet<T>(
  args: Args,
  io: Io,
  use: (options: Omit<KlusterletOptions, "report" | "signal">) => Promise<T>,
): Promise<T> {
  for (const file of [...args.list("bootstrap-kubeconfig"), args.text("spoke-kubeconfig")]) {
    if (file !== undefined) await warnOfOpenKubeconfigFile(resolve(io.cwd, file), io);
  }
  const namespace = checkedText(args, "namespace", dnsLabelProblems);
  const [servers, seconds] = [externalServers(args), expirationSeconds(args)];
  const dir = klusterletDir(args, io);
  if (dir !== undefined) {
    // The secret files: the key in use, and the state, which contains the key of a pending request.
    await warnOfOpenSecrets([join(dir, "tls.key"), join(dir, stateFile)], io);
  }
  const config = await spokeConfig(args, io);
  const spoke = config === undefined ? undefined : await io.connect(config);
  try {
    return await use({
      bootstrapKubeconfigs: args.list("bootstrap-kubeconfig").map((file) => resolve(io.cwd, file)),
      clusterName: args.text("cluster-name"),
      spoke,
      spokeCaPem: config?.caPem,
      store: spoke === undefined ? folderStore(dir ?? usualDir(io), privateFiles) : clusterStore(spoke, namespace, dir),
      externalServers: servers,
      expirationSeconds: seconds,
      machine: io.machine(),
      readFile: io.readFile,
      clock: io.clock,
      random: io.random,
      userAgent: `pratique/${release}`,
    });
  } finally {
    spoke?.close();
  }
}

async function spokeConfig(args: Args, io: Io): Promise<ResolvedKubeconfig | undefined> {
  const file = args.text("spoke-kubeconfig");
  if (file === undefined) return undefined;
  const path = resolve(io.cwd, file);
  const text = await readText("spoke-kubeconfig", path, io);
  try {
    return await resolveKubeconfig(parseKubeconfig(text, path), { readFile: io.readFile });
  } catch (error) {
    throw error instanceof KubeconfigError ? usageError(`--spoke-kubeconfig ${error.message}`) : error;
  }
}

/** The folder of credential and state; undefined where both are only in Secrets of the cluster itself. */
function klusterletDir(args: Args, io: Io): string | undefined {
  const dir = args.text("dir");
  if (dir !== undefined) return resolve(io.cwd, dir);
  return args.text("spoke-kubeconfig") === undefined ? usualDir(io) : undefined;
}

function usualDir({ isRoot, home }: Io): string {
  return isRoot ? "/var/lib/pratique/klusterlet" : join(home, ".pratique", "klusterlet");
}

function clusterStore(spoke: RemoteClient, namespace: string, dir: string | undefined): KlusterletStore {
  const secret = secretStore(spoke, namespace);
  return dir === undefined ? secret : mirroredStore(secret, folderStore(dir, privateFiles));
}

/** The addresses of --external-server. @throws CliError usage */
export function externalServers(args: Args): readonly string[] {
  const urls = args.list("external-server");
  const bad = urls.find((url) => !url.startsWith("https://") || !URL.canParse(url));
  if (bad !== undefined) throw usageError(`--external-server ${JSON.stringify(bad)} is no https:// URL`);
  return urls;
}

function expirationSeconds(args: Args): number | undefined {
  const ms = args.number("certificate-duration");
  if (ms === undefined) return undefined;
  const seconds = Math.floor(ms / 1000);
  if (seconds < minSeconds) throw usageError(`--certificate-duration ${seconds}s: must be 1h or more`);
  return seconds;
}
