import { Worker } from "node:worker_threads";
import type { Clock } from "../apimachinery/clock.ts";
import { BundleError, readBundle } from "./bundle-file.ts";
import { bundleProgram, type BundleWord, type BundleWork, bundleRuntime } from "./bundle-worker.ts";
import {
  type CompiledPolicy,
  type Judgement,
  reloadingPolicy,
  type DecidingPolicy,
  policyFile,
  queryPath,
} from "./deciding-policy.ts";
import { OptionError } from "../apimachinery/option-error.ts";
import type { PolicyOptions } from "./policy-source.ts";

interface BundleRunnerOptions {
  readonly work: BundleWork;
  readonly clock: Clock;
  /** For one evaluation, in milliseconds. */
  readonly timeMs: number;
  /** From the arrival of an input to the start of its evaluation, in milliseconds. */
  readonly waitMs: number;
  /** How many inputs may wait. */
  readonly maxWaiting: number;
}

const startMs = 10_000;
/** The heap of JavaScript in a worker, besides the memory of the module. */
const resourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };

interface Waiting {
  readonly input: string;
  readonly until: number;
  readonly answer: (judgement: Judgement) => void;
}

/** A worker that has loaded the module. */
interface Ready {
  /** Undefined when the worker has ended, or was terminated for a timeout. */
  readonly evaluate: (input: string) => Promise<BundleWord | undefined>;
  readonly end: () => void;
}

/**
 * Evaluates a bundle in a worker thread, one input after the other. A module cannot be interrupted from within: an evaluation that
 * exceeds its time or memory ends the thread, and the next input gets a new one. @throws BundleError for a module that cannot be used
 */
export async function bundleRunner(options: BundleRunnerOptions): Promise<CompiledPolicy> {
  const { clock, waitMs, maxWaiting } = options;
  const queue: Waiting[] = [];
  let worker: Ready | undefined = await startWorker(options);
  let state: "open" | "retired" | "closed" = "open";
  let isBusy = false;

  async function judged(input: string): Promise<Judgement> {
    try {
      worker ??= await startWorker(options);
      const word = await worker.evaluate(input);
      if (word?.kind === "value") return { json: word.json };
      if (word?.kind === "failed") return { error: word.why };
      worker.end();
      worker = undefined;
      return { error: "the policy takes longer, or more memory, than it may" };
    } catch (error) {
      return { error: error instanceof BundleError ? error.message : "the policy could not be started" };
    }
  }

  async function work(): Promise<void> {
    if (isBusy) return;
    isBusy = true;
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { input, until, answer } = next;
      if (state === "closed") answer({ error: "the policy was closed" });
      else if (clock.now() > until) answer({ error: "too many questions at once" });
      else answer(await judged(input));
    }
    isBusy = false;
    if (state !== "open") worker?.end();
  }

  return {
    ask: async (input) => {
      if (queue.length >= maxWaiting) return { error: "too many questions at once" };
      return new Promise((answer) => {
        queue.push({ input: JSON.stringify(input ?? null), until: clock.now() + waitMs, answer });
        void work();
      });
    },
    retire: () => {
      state = "retired";
      void work();
    },
    close: () => {
      state = "closed";
      worker?.end();
    },
  };
}

async function startWorker({ work, clock, timeMs }: BundleRunnerOptions): Promise<Ready> {
  const worker = new Worker(bundleProgram(), {
    eval: true,
    workerData: work,
    resourceLimits,
    env: {},
    execArgv: [],
    // Output that a policy prints is discarded.
    stdout: true,
    stderr: true,
  });
  for (const stream of [worker.stdout, worker.stderr]) stream.resume();
  worker.unref();
  let take: (word: BundleWord | undefined) => void = () => undefined;
  worker.on("message", (word: BundleWord) => take(word));
  worker.on("error", () => take(undefined));
  worker.on("exit", () => take(undefined));
  const word = async (ms: number): Promise<BundleWord | undefined> => {
    const done = new AbortController();
    const reply = new Promise<BundleWord | undefined>((resolve) => (take = resolve));
    void clock.sleep(ms, done.signal).then(() => {
      if (!done.signal.aborted) take(undefined);
    });
    const text = await reply;
    done.abort();
    return text;
  };
  const end = (): void => void worker.terminate();
  const first = await word(startMs);
  if (first?.kind !== "ready") {
    end();
    throw new BundleError(first?.kind === "refused" ? first.why : "the module does not start");
  }
  return {
    end,
    evaluate: async (input) => {
      worker.postMessage(input, []);
      return word(timeMs);
    },
  };
}

const maxFileBytes = 32 * 1024 * 1024;
/** 64 MiB. */
const maxPages = 1024;
const timeMs = 1_000;
const waitMs = 5_000;
const maxWaiting = 256;

/** A policy compiled with `opa build -t wasm`; `--query` is its entry point. @throws OptionError usage */
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
