import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isRootFor } from "../../test/kits/machine-abilities.ts";
import { privateFolder, removeFile, removeUnfinished, replaceFile, replaceLink, textIfThere } from "./private-files.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-files-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const mode = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

test("a new file is its owner's alone, and leaves nothing beside it", async () => {
  await replaceFile(join(dir, "a"), "one");
  expect(await mode(join(dir, "a"))).toBe(0o600);
  expect(await readdir(dir)).toEqual(["a"]);
});

test("a replaced file has the new content and the asked mode, whatever it had before", async () => {
  await writeFile(join(dir, "a"), "old", { mode: 0o666 });
  await replaceFile(join(dir, "a"), Buffer.from("new"));
  expect(await readFile(join(dir, "a"), "utf8")).toBe("new");
  expect(await mode(join(dir, "a"))).toBe(0o600);
  await replaceFile(join(dir, "a"), "shared", { mode: 0o644 });
  expect(await mode(join(dir, "a"))).toBe(0o644);
});

test.each([
  [0o600, 0o644, 0o600],
  [0o640, 0o644, 0o640],
  [0o664, 0o644, 0o644],
  [0o400, 0o600, 0o400],
  [0o000, 0o600, 0o400],
])("a file of mode %o that is replaced with mode %o as the default has %o", async (before, asked, after) => {
  await writeFile(join(dir, "a"), "old");
  await chmod(join(dir, "a"), before);
  await replaceFile(join(dir, "a"), "new", asked);
  expect(await mode(join(dir, "a"))).toBe(after);
});

test.runIf(isRootFor("root keeps the owner of a file that it replaces, but not where others may make files"))(
  "root keeps the owner of a file that it replaces, but not where others may make files",
  async () => {
    const path = join(dir, "a");
    const ownerAfter = async (): Promise<readonly number[]> => {
      await rm(path, { force: true });
      await writeFile(path, "old");
      await chown(path, 1234, 1235);
      await replaceFile(path, "new");
      const { uid, gid } = await stat(path);
      return [uid, gid];
    };
    expect(await ownerAfter()).toEqual([1234, 1235]);
    await chmod(dir, 0o777);
    expect((await ownerAfter())[0]).toBe(0);
  },
);

test("a file that cannot be replaced stays, and leaves nothing beside it", async () => {
  await mkdir(join(dir, "a", "full"), { recursive: true });
  await expect(replaceFile(join(dir, "a"), "x")).rejects.toMatchObject({ code: "EISDIR" });
  expect(await readdir(dir)).toEqual(["a"]);
});

test("a symbolic link in place of the file is replaced, not followed", async () => {
  await writeFile(join(dir, "other"), "mine");
  await symlink(join(dir, "other"), join(dir, "a"));
  await replaceFile(join(dir, "a"), "secret");
  expect(await readFile(join(dir, "other"), "utf8")).toBe("mine");
  expect((await lstat(join(dir, "a"))).isSymbolicLink()).toBe(false);
});

test("a link is pointed elsewhere even when an earlier try left its helper, or a file is in its place", async () => {
  const link = { path: join(dir, "current"), via: join(dir, "updated") };
  await symlink("stale", link.via);
  await writeFile(link.path, "a file");
  await replaceLink({ ...link, target: "/one" });
  await replaceLink({ ...link, target: "/two" });
  expect(await readlink(link.path)).toBe("/two");
  expect(await readdir(dir)).toEqual(["current"]);
});

test("a missing text is undefined, an unreadable one an error", async () => {
  expect(await textIfThere(join(dir, "none"))).toBeUndefined();
  await expect(textIfThere(dir)).rejects.toMatchObject({ code: "EISDIR" });
});

test("a folder is its owner's alone, with those above it; removing nothing is no failure", async () => {
  await privateFolder(join(dir, "x", "y"));
  expect([await mode(join(dir, "x")), await mode(join(dir, "x", "y"))]).toEqual([0o700, 0o700]);
  await removeFile(join(dir, "none"));
});

test("a folder that cannot be made is an error at once, where node's own recursion would never end", async () => {
  await expect(privateFolder("/proc/pratique/x")).rejects.toMatchObject({ code: "ENOENT" });
});

test("a file in the place of a folder is an error; a folder that somebody else makes meanwhile is none", async () => {
  await writeFile(join(dir, "file"), "");
  await expect(privateFolder(join(dir, "file"))).rejects.toMatchObject({ code: "EEXIST" });
  await expect(privateFolder(join(dir, "file", "x"))).rejects.toMatchObject({ code: "ENOTDIR" });
  await Promise.all([privateFolder(join(dir, "a", "b", "c")), privateFolder(join(dir, "a", "b", "c"))]);
  expect(await mode(join(dir, "a", "b", "c"))).toBe(0o700);
});

test("what a killed writer left is removed once it is old; nothing else is", async () => {
  const old = new Date("2026-11-21T00:00:00Z");
  const names = [".0123456789ab.tmp", ".ba9876543210.tmp", ".0123456789AB.tmp", ".hidden", "token", "0123456789ab.tmp"];
  for (const name of names) {
    await writeFile(join(dir, name), "secret");
    await utimes(join(dir, name), old, old);
  }
  await writeFile(join(dir, ".ba9876543210.tmp"), "being written");
  await utimes(join(dir, ".ba9876543210.tmp"), old, new Date("2026-11-21T00:02:00Z"));
  await removeUnfinished(dir, Date.parse("2026-11-21T00:01:00Z"));
  expect((await readdir(dir)).sort()).toEqual(names.slice(1).sort());
});

test("what a writer has finished while the folder was looked through is passed over", async () => {
  // A link to nothing is listed and cannot be looked at, just as a file that has got its name meanwhile.
  await symlink(join(dir, "gone"), join(dir, ".0123456789ab.tmp"));
  await writeFile(join(dir, ".ba9876543210.tmp"), "left");
  await utimes(join(dir, ".ba9876543210.tmp"), new Date(0), new Date(0));
  await removeUnfinished(dir, 60_000);
  expect(await readdir(dir)).toEqual([".0123456789ab.tmp"]);
});
