import { join, resolve } from "node:path";
import { findCredentials, type FolderView, type FoundCredential } from "../../agent/find-credentials.ts";
import { JoinError } from "../../agent/join-error.ts";
import { CliError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { Io } from "../io.ts";
import { joinExit } from "./join-exit.ts";

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
    if (error instanceof JoinError) throw new CliError(joinExit(error.code), error.message);
    throw error;
  }
}
