import type { FileAccess } from "../../host/private-files.ts";
import { usageError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { Io } from "../io.ts";

/** What `--owner` and `--mode` say of who may read credentials; undefined where neither is given. @throws CliError usage */
export async function fileAccess(args: Args, io: Io): Promise<FileAccess | undefined> {
  const [owner, mode] = [args.text("owner"), args.text("mode")];
  if (owner === undefined && mode === undefined) return undefined;
  return {
    mode: modeOf(mode ?? "0600"),
    ...(owner === undefined ? {} : { owner: await ownerOf(owner, io) }),
  };
}

function modeOf(text: string): number {
  const mode = /^0?[0-7]{3}$/.test(text) ? Number.parseInt(text, 8) : -1;
  // The owner reads; nobody executes; nobody else writes; the rest of the world gets nothing.
  if (mode < 0 || (mode & 0o400) === 0 || (mode & 0o137) !== 0) {
    throw usageError(`--mode ${text} is none of 0600, 0400, 0640 and 0440: a credential is never for everybody`);
  }
  return mode;
}

async function ownerOf(text: string, io: Io): Promise<{ readonly uid: number; readonly gid: number }> {
  const [user = "", group, ...more] = text.split(":");
  if (more.length > 0) throw usageError(`--owner ${text} is no USER or USER:GROUP`);
  const account = await entryOf({ file: "/etc/passwd", name: user, what: "user" }, io);
  const uid = account.id;
  if (group !== undefined) {
    return { uid, gid: (await entryOf({ file: "/etc/group", name: group, what: "group" }, io)).id };
  }
  if (account.primary === undefined) {
    throw usageError(`--owner ${text} needs a group, too: ${text}:GROUP`);
  }
  return { uid, gid: account.primary };
}

interface Entry {
  readonly id: number;
  /** The group of a user. */
  readonly primary?: number;
}

async function entryOf(
  { file, name, what }: { readonly file: string; readonly name: string; readonly what: string },
  io: Io,
): Promise<Entry> {
  const text = await io.readFile(file).then(
    (bytes) => Buffer.from(bytes).toString("utf8"),
    () => "",
  );
  const fields = text
    .split("\n")
    .map((line) => line.split(":"))
    .find(([first, , id]) => first === name || id === name);
  const [, , id = name, primary] = fields ?? [];
  if (!/^\d{1,10}$/.test(id)) {
    throw usageError(
      `--owner: there is no ${what} ${JSON.stringify(name)} in ${file}; give a number for one that is kept elsewhere`,
    );
  }
  return {
    id: Number(id),
    ...(what === "user" && /^\d{1,10}$/.test(primary ?? "") ? { primary: Number(primary) } : {}),
  };
}
