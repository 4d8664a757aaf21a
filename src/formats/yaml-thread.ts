import { Worker } from "node:worker_threads";
import { YamlError } from "./yaml-error.ts";
import type { YamlJob, YamlJobResult, YamlLimits } from "./yaml-job.ts";
import { yamlThreadUrl } from "./yaml-thread-url.ts";

export type { YamlLimits } from "./yaml-job.ts";

/** Reads and writes YAML outside the main thread, one job after the other. */
export interface YamlThread {
  /**
   * One YAML document as JSON text; the same that `loadYaml` takes with numbers as JSON has them, refused for the same reasons.
   * @throws YamlError
   */
  readonly parse: (text: string, limits: YamlLimits) => Promise<string>;
  /** JSON text as YAML. The JSON is trusted. @throws YamlError `time`, `memory`, `busy`, `closed` */
  readonly stringify: (json: string) => Promise<string>;
  /** Ends the thread; what waits fails with `closed`, and so does every later job. */
  readonly close: () => Promise<void>;
}

export interface YamlThreadOptions {
  /** How long one job may take, in milliseconds. Default 5000. */
  readonly maxJobMs?: number;
  /** The old generation of the thread's heap, in megabytes. Default 128. */
  readonly maxHeapMb?: number;
  /** How many jobs may wait or be under way. Default 64. */
  readonly maxJobs?: number;
  /** How many characters the texts of those may have together. Default 32 Mi. */
  readonly maxJobCharacters?: number;
  /** Calls `run` after so many milliseconds, unless the returned function is called before. Default: the timers of the runtime. */
  readonly after?: (ms: number, run: () => void) => () => void;
}

interface Waiting {
  readonly job: YamlJob;
  readonly resolve: (text: string) => void;
  readonly reject: (error: unknown) => void;
}

const defaults = { maxJobMs: 5_000, maxHeapMb: 128, maxJobs: 64, maxJobCharacters: 32 * 1024 * 1024 } as const;
/** Of the heap's young generation, and of the stack; nesting is bounded, and needs little. */
const [maxYoungMb, stackMb] = [16, 4];

/**
 * A thread that is started with its first job and, when it must be ended because a job takes too long or too much memory, again with
 * the next one. A thread without a job keeps no process alive.
 */
export function yamlThread(options: YamlThreadOptions = {}): YamlThread {
  const { maxJobMs, maxHeapMb, maxJobs, maxJobCharacters, after = afterTimeout } = { ...defaults, ...options };
  const jobs: Waiting[] = [];
  let characters = 0;
  let worker: Worker | undefined;
  let stopTimer = (): void => undefined;
  let isClosed = false;

  const started = (): Worker => {
    const made = new Worker(yamlThreadUrl(), {
      // Nothing of the process: neither its flags, nor its environment.
      argv: [],
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: maxYoungMb, stackSizeMb: stackMb },
    });
    made.on("message", (result: YamlJobResult) => {
      if (made === worker) finish((job) => settle(job, result));
    });
    // Whatever ends the thread ends the job that it had.
    made.on("error", (error) => {
      if (made === worker) abandon((job) => job.reject(failureOf(error, maxHeapMb)));
    });
    made.on("exit", () => {
      if (made === worker) abandon((job) => job.reject(new YamlError("closed", "the YAML thread has ended")));
    });
    return made;
  };
  const begin = (): void => {
    const [first] = jobs;
    if (first === undefined) return worker?.unref();
    worker ??= started();
    worker.ref();
    stopTimer = after(maxJobMs, () =>
      abandon(({ reject }) => reject(new YamlError("time", `takes longer than ${maxJobMs} ms`))),
    );
    worker.postMessage(first.job, []);
  };
  const finish = (end: (job: Waiting) => void): void => {
    stopTimer();
    const job = jobs.shift();
    if (job === undefined) return;
    characters -= job.job.text.length;
    end(job);
    begin();
  };
  const abandon = (end: (job: Waiting) => void): void => {
    void worker?.terminate();
    worker = undefined;
    finish(end);
  };
  const add = (job: YamlJob): Promise<string> =>
    new Promise((resolve, reject) => {
      if (isClosed) return reject(new YamlError("closed", "the YAML thread is closed"));
      if (jobs.length >= maxJobs || (jobs.length > 0 && characters + job.text.length > maxJobCharacters)) {
        return reject(new YamlError("busy", `${jobs.length} YAML texts wait already`));
      }
      characters += job.text.length;
      jobs.push({ job, resolve, reject });
      if (jobs.length === 1) begin();
    });

  return {
    parse: (text, limits) => add({ kind: "parse", text, limits }),
    stringify: (text) => add({ kind: "stringify", text }),
    close: async () => {
      isClosed = true;
      stopTimer();
      for (const { reject } of jobs.splice(0)) reject(new YamlError("closed", "the YAML thread is closed"));
      const last = worker;
      worker = undefined;
      await last?.terminate();
    },
  };
}

function afterTimeout(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}

function settle({ resolve, reject }: Waiting, result: YamlJobResult): void {
  if ("text" in result) resolve(result.text);
  else reject(new YamlError(result.code, result.message));
}

function failureOf(error: unknown, maxHeapMb: number): unknown {
  const isMemory = error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
  return isMemory ? new YamlError("memory", `needs more than ${maxHeapMb} MiB`, { cause: error }) : error;
}
