import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** The input of a worker at its start. */
export interface BundleWork {
  /** Module paths of the runtime and of its built-in functions. */
  readonly runtime: string;
  readonly builtins: string;
  readonly wasm: Uint8Array;
  /** JSON text of the documents under `data`. */
  readonly data: string;
  readonly entrypoint: string;
  /** The memory limit of a module, in pages of 64 KiB. */
  readonly maxPages: number;
}

/** The messages of a worker: first that it is ready, or why it never will be; then one result for each input. */
export type BundleWord =
  | { readonly kind: "ready" }
  | { readonly kind: "refused"; readonly why: string }
  | { readonly kind: "value"; readonly json: string | undefined }
  | { readonly kind: "failed"; readonly why: string };

interface Port {
  readonly postMessage: (word: BundleWord) => void;
  readonly on: (event: "message", take: (input: string) => void) => void;
}

interface Loaded {
  readonly mem: { readonly buffer: ArrayBuffer };
  readonly wasmInstance: {
    readonly exports: { readonly builtins: () => number; readonly opa_json_dump: (address: number) => number };
  };
  readonly entrypoints: object;
  readonly setData: (data: unknown) => void;
  readonly evaluate: (input: unknown, entrypoint: string) => unknown;
}

interface Runtime {
  readonly loadPolicySync: (wasm: Uint8Array, memory: { initial: number; maximum: number }) => Loaded;
}

/** The source text of a worker: it must refer to nothing outside of itself. */
export function bundleProgram(): string {
  return `(${serve.toString()})(require)`;
}

/** The module path of the runtime. Only workers load it. */
export function bundleRuntime(): Pick<BundleWork, "runtime" | "builtins"> {
  const require = createRequire(import.meta.url);
  const runtime = require.resolve("@open-policy-agent/opa-wasm");
  return { runtime, builtins: join(dirname(runtime), "builtins", "index.js") };
}

function serve(load: (path: string) => unknown): void {
  const { parentPort: port, workerData: work } = load("node:worker_threads") as {
    parentPort: Port;
    workerData: BundleWork;
  };
  const describe = (error: unknown): string => {
    if (typeof error === "string") return error.slice(0, 500);
    const { message } = (typeof error === "object" && error !== null ? error : {}) as { readonly message?: unknown };
    return typeof message === "string" ? message.slice(0, 500) : "it failed";
  };
  const begin = (): Loaded => {
    const { loadPolicySync } = load(work.runtime) as Runtime;
    const policy = loadPolicySync(work.wasm, { initial: 5, maximum: work.maxPages });
    const { exports } = policy.wasmInstance;
    const bytes = new Uint8Array(policy.mem.buffer);
    const from = exports.opa_json_dump(exports.builtins());
    const needed = JSON.parse(Buffer.from(bytes.slice(from, bytes.indexOf(0, from))).toString("utf8")) as object;
    const known = load(work.builtins) as object;
    const missing = Object.keys(needed).filter((name) => !Object.hasOwn(known, name));
    if (missing.length > 0) throw new TypeError(`it calls functions that are not there: ${missing.sort().join(", ")}`);
    if (!Object.hasOwn(policy.entrypoints, work.entrypoint)) {
      const there = Object.keys(policy.entrypoints).sort().join(", ");
      throw new TypeError(`it has no entry point ${work.entrypoint}; there are: ${there}`);
    }
    policy.setData(JSON.parse(work.data));
    return policy;
  };
  try {
    let policy: Loaded | undefined = begin();
    port.on("message", (input) => {
      try {
        policy ??= begin();
        const results = policy.evaluate(JSON.parse(input), work.entrypoint) as readonly { readonly result?: unknown }[];
        const [first] = results;
        port.postMessage({ kind: "value", json: first === undefined ? undefined : JSON.stringify(first.result) });
      } catch (error) {
        // An evaluation that was aborted left its memory unclean.
        policy = undefined;
        port.postMessage({ kind: "failed", why: describe(error) });
      }
    });
    port.postMessage({ kind: "ready" });
  } catch (error) {
    port.postMessage({ kind: "refused", why: describe(error) });
  }
}
