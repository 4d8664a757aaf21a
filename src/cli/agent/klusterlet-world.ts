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
import { CliError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { Io } from "../io.ts";
import { warnOfOpenKubeconfigFile, warnOfOpenSecrets, type Warn } from "../open-secrets.ts";
import { release } from "../release.ts";
import { systemErrorText } from "../../apimachinery/system-error.ts";

const minSeconds = 3600;

/** What the options of `klusterletOptions` come to, connected to the spoke where there is one; `use` is done when its connections close. */
export async function withKlusterlet<T>(
  args: Args,
  io: Io,
  use: (options: Omit<KlusterletOptions, "report" | "signal">) => Promise<T>,
  warn?: Warn,
): Promise<T> {
  for (const file of [...args.list("bootstrap-kubeconfig"), args.text("spoke-kubeconfig")]) {
    if (file !== undefined) await warnOfOpenKubeconfigFile(resolve(io.cwd, file), io, warn);
  }
  const namespace = checkedNamespace(args);
  const [servers, seconds] = [externalServers(args), expirationSeconds(args)];
  const dir = klusterletDir(args, io);
  if (dir !== undefined) await warnOfOpenSecrets(secretFiles(dir), io, { warn });
  const config = await spokeConfig(args, io);
  const spoke = config === undefined ? undefined : await io.connect(config);
  try {
    return await use({
      bootstrapKubeconfigs: args.list("bootstrap-kubeconfig").map((file) => resolve(io.cwd, file)),
      clusterName: args.text("cluster-name"),
      spoke,
      spokeCaPem: config?.caPem,
      store: spoke === undefined ? folder(dir ?? usualDir(io)) : clusterStore(spoke, namespace, dir),
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
  const bytes = await io.readFile(path).catch((error: unknown) => {
    throw new CliError("usage", `--spoke-kubeconfig: ${systemErrorText(error, { operation: "read", at: path })}`);
  });
  try {
    return await resolveKubeconfig(parseKubeconfig(Buffer.from(bytes).toString("utf8"), path), {
      readFile: io.readFile,
    });
  } catch (error) {
    throw error instanceof KubeconfigError ? new CliError("usage", `--spoke-kubeconfig ${error.message}`) : error;
  }
}

/** @throws CliError usage */
function checkedNamespace(args: Args): string {
  const namespace = args.text("namespace") ?? "";
  const [problem] = dnsLabelProblems(namespace);
  if (problem !== undefined) throw new CliError("usage", `--namespace ${JSON.stringify(namespace)}: ${problem}`);
  return namespace;
}

/** The folder of credential and state; undefined where the cluster itself keeps them, and nothing is laid out beside. */
function klusterletDir(args: Args, io: Io): string | undefined {
  const dir = args.text("dir");
  if (dir !== undefined) return resolve(io.cwd, dir);
  return args.text("spoke-kubeconfig") === undefined ? usualDir(io) : undefined;
}

function usualDir({ isRoot, home }: Io): string {
  return isRoot ? "/var/lib/pratique/klusterlet" : join(home, ".pratique", "klusterlet");
}

/** What is secret of it: the key in use, and the state, which holds the key of a request under way. */
function secretFiles(dir: string): readonly string[] {
  return ["tls.key", stateFile].map((name) => join(dir, name));
}

function folder(dir: string): KlusterletStore {
  return folderStore(dir, privateFiles);
}

function clusterStore(spoke: RemoteClient, namespace: string, dir: string | undefined): KlusterletStore {
  const secret = secretStore(spoke, namespace);
  return dir === undefined ? secret : mirroredStore(secret, folder(dir));
}

/** The addresses of --external-server. @throws CliError usage */
export function externalServers(args: Args): readonly string[] {
  const urls = args.list("external-server");
  const bad = urls.find((url) => !url.startsWith("https://") || !URL.canParse(url));
  if (bad !== undefined) throw new CliError("usage", `--external-server ${JSON.stringify(bad)} is no https:// URL`);
  return urls;
}

function expirationSeconds(args: Args): number | undefined {
  const ms = args.number("certificate-duration");
  if (ms === undefined) return undefined;
  const seconds = Math.floor(ms / 1000);
  if (seconds < minSeconds) throw new CliError("usage", `--certificate-duration ${seconds}s: must be 1h or more`);
  return seconds;
}
