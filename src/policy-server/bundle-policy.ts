import { BundleError, readBundle } from "./bundle-file.ts";
import { bundleRunner } from "./bundle-runner.ts";
import { bundleRuntime } from "./bundle-worker.ts";
import { OptionError } from "../apimachinery/option-error.ts";
import { reloadingPolicy, type CompiledPolicy, type DecidingPolicy } from "./deciding-policy.ts";
import { policyFile } from "./policy-file.ts";
import type { PolicyOptions } from "./policy-source.ts";
import { queryPath } from "./query-path.ts";

const maxFileBytes = 32 * 1024 * 1024;
/** 64 MiB. */
const maxPages = 1024;
const timeMs = 1_000;
const waitMs = 5_000;
const maxWaiting = 256;

/** A policy that `opa build -t wasm` has compiled; `--query` is its entry point. @throws OptionError usage */
export async function openBundlePolicy(path: string, { query, world }: PolicyOptions): Promise<DecidingPolicy> {
  const entrypoint = queryPath(query).join("/");
  const { clock } = world;
  const compile = async (bytes: Buffer): Promise<CompiledPolicy> => {
    try {
      const { wasm, data } = await readBundle(bytes, entrypoint);
      const work = { ...bundleRuntime(), wasm, data: JSON.stringify(data), entrypoint, maxPages };
      return await bundleRunner({ work, clock, timeMs, waitMs, maxWaiting });
    } catch (error) {
      if (error instanceof BundleError) throw new OptionError("usage", `${path}: ${error.message}`);
      throw error;
    }
  };
  return reloadingPolicy({
    read: async () => {
      const { key, bytes } = await policyFile(path, world, maxFileBytes);
      return { key, compile: async () => compile(await bytes()) };
    },
    ...world,
  });
}
