import { join, resolve } from "node:path";
import { findCredentials, type FolderView, type FoundCredential } from "../../agent/node/find-credentials.ts";
import { JoinError } from "../../credentials/join-error.ts";
import { CliError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { Io } from "../io.ts";
import { joinExit } from "./join-exit.ts";
import { systemErrorCode, systemErrorWords } from "../../apimachinery/system-error.ts";

/** The folders of `--dir`, absolute. */
export function agentFolders(args: Args, io: Io): readonly string[] {
  const dirs = args.list("dir");
  if (dirs.length > 0) return dirs.map((dir) => resolve(io.cwd, dir));
  return [io.isRoot ? "/var/lib/pratique" : join(io.home, ".pratique")];
}

/** How commands look into those folders. */
export function folderView(io: Io): FolderView {
  return {
    list: io.listFolder,
    text: async (path) => {
      try {
        return Buffer.from(await io.readFile(path)).toString("utf8");
      } catch (error) {
        if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
        throw error;
      }
    },
  };
}

/** All credentials in those folders. @throws CliError notFound where there is none */
export async function foundCredentials(args: Args, io: Io): Promise<readonly [FoundCredential, ...FoundCredential[]]> {
  try {
    return await findCredentials(agentFolders(args, io), folderView(io));
  } catch (error) {
    if (error instanceof JoinError) throw await agentFailure(error, args, io);
    throw error;
  }
}

/** What to tell of what an agent threw: folders that nobody but their owner may look into are no empty ones. */
export async function agentFailure({ code, message }: JoinError, args: Args, io: Io): Promise<CliError> {
  if (code === "no-access") {
    for (const dir of agentFolders(args, io)) {
      const why = await whyUnreadable(dir, io);
      if (why === undefined) continue;
      const hint = "Credentials are readable by their owner only: use that account, or sudo.";
      return new CliError("usage", why, [hint]);
    }
  }
  return new CliError(joinExit(code), message);
}

/** A folder that may be opened is told from one that may not be by the error of reading it as a file. */
async function whyUnreadable(dir: string, io: Io): Promise<string | undefined> {
  try {
    await io.readFile(dir);
    return undefined;
  } catch (error) {
    const code = systemErrorCode(error);
    const isClosed = code === "EACCES" || code === "EPERM";
    return isClosed ? systemErrorWords(error, { operation: "read", at: dir }).what : undefined;
  }
}
