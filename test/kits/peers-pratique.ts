import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { bundleOptions } from "../../bundle-options.mjs";
import { goFlags, ofThisTest, spawnProcess, type PeerProcess } from "./peers-process.ts";

/** The command line as a program of its own, made of the sources as they are. */
export interface PratiqueProgram {
  /** An executable that takes the arguments of `pratique`. */
  readonly executable: string;
  /** Starts it for the test that runs. */
  start(args: readonly string[], flags: Parameters<typeof goFlags>[0]): PeerProcess;
  remove(): Promise<void>;
}

/** Bundles the command line into a folder of its own; what only a hub needs is found where this package has it. */
export async function pratiqueProgram(): Promise<PratiqueProgram> {
  const root = resolve(import.meta.dirname, "../..");
  const dir = await mkdtemp(join(tmpdir(), "pratique-program-"));
  await build({
    absWorkingDir: root,
    outdir: dir,
    outExtension: { ".js": ".mjs" },
    ...bundleOptions("0.0.0-test"),
  });
  await symlink(join(root, "node_modules"), join(dir, "node_modules"));
  const path = join(dir, "pratique.mjs");
  const executable = join(dir, "pratique");
  await writeFile(executable, `#!/bin/sh\nexec "${process.execPath}" "${path}" "$@"\n`, { mode: 0o755 });
  return {
    executable,
    start: (args, flags) =>
      ofThisTest(spawnProcess(process.execPath, [path, ...args, ...goFlags(flags)], { home: dir })),
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}
