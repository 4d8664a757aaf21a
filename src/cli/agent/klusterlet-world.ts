import { join, resolve } from "node:path";
import type { KlusterletOptions } from "../../agent/klusterlet/klusterlet-options.ts";
import { mirroredStore, type KlusterletStore } from "../../agent/klusterlet/klusterlet-store.ts";
import { folderStore } from "../../agent/klusterlet/folder-store.ts";
import { secretStore } from "../../agent/klusterlet/secret-store.ts";
import { privateFiles } from "../../agent/private-files.ts";
import { parseKubeconfig } from "../../client/kubeconfig.ts";
import type { RemoteClient } from "../../client/remote.ts";
import { resolveKubeconfig, type ResolvedKubeconfig } from "../../client/resolve-kubeconfig.ts";
import { CliError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { Io } from "../io.ts";
import { warnOfOpenKubeconfigFile, type Warn } from "../open-secrets.ts";
import { release } from "../release.ts";
import { systemErrorText } from "../../core/system-error.ts";

const shortestSeconds = 3600;

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
  const config = await spokeConfig(args, io);
  const spoke = config === undefined ? undefined : await io.connect(config);
  try {
    return await use({
      bootstrapKubeconfigs: args.list("bootstrap-kubeconfig").map((file) => resolve(io.cwd, file)),
      clusterName: args.text("cluster-name"),
      spoke,
      spokeCaPem: config?.caPem,
      store: storeOf(args, io, spoke),
      externalServers: externalServers(args),
      expirationSeconds: expirationSeconds(args),
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
  return resolveKubeconfig(parseKubeconfig(Buffer.from(bytes).toString("utf8"), path), { readFile: io.readFile });
}

function storeOf(args: Args, io: Io, spoke: RemoteClient | undefined): KlusterletStore {
  const dir = args.text("dir");
  if (spoke === undefined) {
    const usual = io.isRoot ? "/var/lib/pratique/klusterlet" : join(io.home, ".pratique", "klusterlet");
    return folderStore(dir === undefined ? usual : resolve(io.cwd, dir), privateFiles);
  }
  const secret = secretStore(spoke, args.text("namespace") ?? "open-cluster-management-agent");
  return dir === undefined ? secret : mirroredStore(secret, folderStore(resolve(io.cwd, dir), privateFiles));
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
  if (seconds < shortestSeconds) throw new CliError("usage", "--certificate-duration is less than 1h");
  return seconds;
}
