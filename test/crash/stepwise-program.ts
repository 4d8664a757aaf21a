import { spawn } from "node:child_process";
import { once } from "node:events";
import fileSystem, { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { bundleOptions } from "../../bundle-options.mjs";

/** The command line as it ships, built so that it can be killed at each call of the file system and of the network. */
export interface StepwiseProgram {
  /** Runs it to its end, or to its fatal step, counted from 1. */
  run(args: readonly string[], options?: { readonly fatal?: number; readonly aheadMs?: number }): Promise<StepwiseEnd>;
  remove(): Promise<void>;
}

/** How such a run ended. */
export interface StepwiseEnd {
  readonly killed: boolean;
  readonly code: number | null;
  readonly printed: string;
  /** What it was about to do, in order; the last is the fatal one where it was killed. */
  readonly steps: readonly string[];
}

/** Bundles the program; nothing in what ships knows of steps. */
export async function stepwiseProgram(): Promise<StepwiseProgram> {
  const here = resolve(import.meta.dirname, "stepwise");
  const dir = await mkdtemp(join(tmpdir(), "pratique-stepwise-"));
  await build({
    ...bundleOptions("0.0.0-test"),
    entryPoints: { program: join(here, "program.ts") },
    outdir: dir,
    outExtension: { ".js": ".mjs" },
    plugins: [
      {
        name: "stepwise",
        setup: ({ onResolve, onLoad }) => {
          onResolve({ filter: /^node:(?:fs\/promises|https)$/ }, ({ path, importer }) => {
            if (!/[\\/]src[\\/](?:agent|credentials|host|client|cli)[\\/]/.test(importer))
              return { path, external: true };
            return path === "node:https" ? { path: join(here, "https.ts") } : { path, namespace: "stepwise" };
          });
          onLoad({ filter: /.*/, namespace: "stepwise" }, () => ({ contents: fileSystemModule, resolveDir: here }));
        },
      },
    ],
  });
  const path = join(dir, "program.mjs");
  return {
    run: async (args, { fatal = 0, aheadMs = 0 } = {}) => {
      const child = spawn(process.execPath, [path, ...args], {
        env: { PATH: process.env["PATH"] ?? "", HOME: dir, FATAL_STEP: String(fatal), AHEAD_MS: String(aheadMs) },
        stdio: ["ignore", "pipe", "pipe", "pipe"],
      });
      let [printed, steps] = ["", ""];
      child.stdout?.on("data", (chunk) => (printed += String(chunk)));
      child.stderr?.on("data", (chunk) => (printed += String(chunk)));
      child.stdio[3]?.on("data", (chunk) => (steps += String(chunk)));
      const [code, signal] = (await once(child, "close")) as [number | null, string | null];
      return { killed: signal === "SIGKILL", code, printed, steps: steps.split("\n").filter((line) => line !== "") };
    },
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}

/** Every name that node:fs/promises exports, so that no import of the program lacks one. */
const fileSystemModule = [
  'import { standIn } from "./fs-promises.ts";',
  ...Object.keys(fileSystem).map((name) => `export const ${name} = standIn.${name};`),
].join("\n");
