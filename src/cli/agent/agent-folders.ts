import type { Acceptance } from "../../credentials/proof/credential-probe.ts";
import type { Trust } from "../../credentials/trust/trust-bundle-manager.ts";
import { release } from "../release.ts";
import { privateFiles, type PrivateFiles } from "../../host/private-files.ts";
import { join, resolve } from "node:path";
import { findCredentials, type FolderView, type FoundCredential } from "../../agent/node/find-credentials.ts";
import { JoinError } from "../../credentials/join-error.ts";
import { usageError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { Io } from "../io.ts";
import { warnOfOpenSecrets } from "../open-secrets.ts";
import { systemErrorCode, systemErrorWords } from "../../apimachinery/system-error.ts";

/** The folders of `--dir`, absolute. */
export function agentFolders(args: Args, io: Io): readonly string[] {
  const dirs = args.list("dir");
  if (dirs.length > 0) return dirs.map((dir) => resolve(io.cwd, dir));
  return [io.isRoot ? "/var/lib/pratique" : join(io.home, ".pratique")];
}

/** The file operations of commands on those folders. */
export function folderView(io: Io): FolderView {
  return {
    list: io.listFolder,
    text: async (path) => {
      try {
        return Buffer.from(await io.readFile(path)).toString("utf8");
      } catch (error) {
        if (systemErrorCode(error) === "ENOENT") return undefined;
        throw error;
      }
    },
  };
}

/** The files of this machine, read through the command's environment. */
export function agentFiles(io: Io): PrivateFiles {
  return { ...privateFiles, textIfThere: folderView(io).text };
}

/** All credentials in those folders. @throws CliError notFound where there is none */
export async function foundCredentials(args: Args, io: Io): Promise<readonly [FoundCredential, ...FoundCredential[]]> {
  try {
    return await findCredentials(agentFolders(args, io), folderView(io));
  } catch (error) {
    throw await agentFailure(error, args, io);
  }
}

/** Translates an agent's error: folders that only their owner may read are not reported as empty. */
export async function agentFailure(error: unknown, args: Args, io: Io): Promise<unknown> {
  if (!(error instanceof JoinError) || error.code !== "no-access") return error;
  for (const at of agentFolders(args, io)) {
    // The error of reading a folder as a file shows whether it may be opened.
    const fault: unknown = await io.readFile(at).catch((thrown: unknown) => thrown);
    const code = systemErrorCode(fault);
    if (code !== "EACCES" && code !== "EPERM") continue;
    return usageError(systemErrorWords(fault, { operation: "read", at }).what, [
      "Credentials are readable by their owner only: use that account, or sudo.",
    ]);
  }
  return error;
}

/** The folder of a credential. */
export function folderOf(found: FoundCredential): string {
  return found.kind === "token" ? found.dir : found.certDir;
}

/** A group may read what `--owner` and `--mode` share with it. */
const sharedBits = 0o040;
const secretNames = {
  token: ["key.pem", "token", "bootstrap-token"],
  node: ["kubelet-client-current.pem", "kubelet-server-current.pem"],
} as const;

/** Warns of the secrets of these credentials that other accounts may read, besides the group of `--owner`, or change. */
export async function warnOfOpenAgentFiles(found: readonly FoundCredential[], io: Io): Promise<void> {
  const secrets = found.flatMap((one) => secretNames[one.kind].map((name) => join(folderOf(one), name)));
  await warnOfOpenSecrets(secrets, io, sharedBits);
}

/** The same for all credentials in these folders; the command that uses them reports that there is none, or none that can be read. */
export async function warnOfOpenAgentFolders(dirs: readonly string[], io: Io): Promise<void> {
  try {
    await warnOfOpenAgentFiles(await findCredentials(dirs, folderView(io)), io);
  } catch (error) {
    if (!(error instanceof JoinError) && systemErrorCode(error) === undefined) throw error;
  }
}

/** Probes whether the hub accepts a credential. */
export async function askHub(trust: Trust, timeoutMs: number, io: Io): Promise<Acceptance> {
  const { clock } = io;
  return io.probeCredential(trust, { clock, userAgent: `pratique/${release}`, signal: io.interrupted(), timeoutMs });
}
