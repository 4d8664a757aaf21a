import { Worker } from "node:worker_threads";
import { flowQueue, type FlowJob, type FlowQueue } from "./flow-queue.ts";
import { YamlError, type YamlJob, type YamlJobResult, type YamlLimits } from "./yaml-error.ts";
import { yamlThreadUrl } from "./yaml-thread-url.ts";

export type { YamlLimits } from "./yaml-error.ts";

/** Reads and writes YAML for one flow. */
export interface YamlWork {
  /**
   * Reads one YAML document as `readYaml` does, with JSON numbers, into JSON text; refused for the same reasons.
   * @throws YamlError
   */
  readonly parse: (text: string, limits: YamlLimits) => Promise<string>;
  /** JSON text, or the parts of one in order, as YAML. The JSON is trusted. @throws YamlError `time`, `memory`, `busy`, `closed` */
  readonly stringify: (json: string | readonly string[]) => Promise<string>;
}

/** Reads and writes YAML outside the main thread, one job after the other; flows, of which each client has one, take turns. */
export interface YamlThread {
  /** The work of a flow. */
  readonly of: (flow: string) => YamlWork;
  /** Ends the thread; waiting and later jobs fail with `closed`. */
  readonly close: () => Promise<void>;
}

export interface YamlThreadOptions {
  /** How long one job may take, in milliseconds. Default 5000. */
  readonly maxJobMs?: number;
  /** How long the thread is kept without a job, in milliseconds. Default 2000. */
  readonly maxIdleMs?: number;
  /** The old generation of the thread's heap, in megabytes. Default 128. */
  readonly maxHeapMb?: number;
  /** How many jobs may wait or be under way. Default 64. */
  readonly maxJobs?: number;
  /** How many of them may be of one flow. Default 16. */
  readonly maxJobsOfFlow?: number;
  /** How many characters the texts of those may have together, unless there is only one. Default 32 Mi. */
  readonly maxJobCharacters?: number;
  /** How many characters those of one flow may have together. Default 8 Mi. */
  readonly maxJobCharactersOfFlow?: number;
  /** Calls `run` after so many milliseconds, unless the returned function is called before. Default: the timers of the runtime. */
  readonly after?: (ms: number, run: () => void) => () => void;
}

interface Waiting extends FlowJob {
  readonly job: YamlJob;
  readonly resolve: (text: string) => void;
  readonly reject: (error: unknown) => void;
}

const mebi = 1024 * 1024;
const defaults = {
  maxJobMs: 5_000,
  maxIdleMs: 2_000,
  maxHeapMb: 128,
  maxJobs: 64,
  maxJobsOfFlow: 16,
  maxJobCharacters: 32 * mebi,
  maxJobCharactersOfFlow: 8 * mebi,
} as const;
/**
 * Of the heap's young generation, and of the stack; nesting is bounded, and needs little. With 16 MB of young generation the thread takes
 * 48 MB of memory for texts of 1 MB and is hardly faster; with 4 MB it takes 30.
 */
const [maxYoungMb, stackMb] = [4, 4];

/**
 * A thread that is started with its first job and, when it must be ended because a job takes too long or too much memory, again with
 * the next one. A thread without a job keeps no process alive, and ends after a while: only that frees its heap.
 */
export function yamlThread(options: YamlThreadOptions = {}): YamlThread {
  const { maxJobMs, maxIdleMs, maxHeapMb, after = afterTimeout, ...rest } = { ...defaults, ...options };
  const jobs = jobQueue(rest);
  let [current, worker]: [Waiting?, Worker?] = [];
  let stopTimer = (): void => undefined;
  let isClosed = false;

  const answered: ThreadEvents["answered"] = (thread, result) => {
    if (thread === worker) finish((job) => settle(job, result));
  };
  const failed: ThreadEvents["failed"] = (thread, error) => {
    if (thread === worker) abandon((job) => job.reject(error));
  };
  const end = async (): Promise<void> => {
    const last = worker;
    worker = undefined;
    await last?.terminate();
  };
  const begin = (): void => {
    stopTimer();
    current = jobs.next();
    if (current === undefined) {
      worker?.unref();
      if (worker !== undefined) stopTimer = after(maxIdleMs, () => void end());
      return;
    }
    worker ??= newWorker(maxHeapMb, { answered, failed });
    worker.ref();
    stopTimer = after(maxJobMs, () => abandon(({ reject }) => reject(timeError(maxJobMs))));
    worker.postMessage(current.job, []);
  };
  const finish = (settleJob: (job: Waiting) => void): void => {
    if (current === undefined) return;
    jobs.end(current);
    settleJob(current);
    begin();
  };
  const abandon = (settleJob: (job: Waiting) => void): void => {
    void end();
    finish(settleJob);
  };
  const add = (flow: string, job: YamlJob): Promise<string> =>
    new Promise((resolve, reject) => {
      if (isClosed) return reject(closedError());
      jobs.add({ flow, characters: charactersOf(job), job, resolve, reject });
      if (current === undefined) begin();
    });

  return {
    of: (flow) => ({
      parse: (text, limits) => add(flow, { kind: "parse", text, limits }),
      stringify: (json) => add(flow, { kind: "stringify", texts: typeof json === "string" ? [json] : json }),
    }),
    close: async () => {
      isClosed = true;
      stopTimer();
      for (const { reject } of [...(current === undefined ? [] : [current]), ...jobs.clear()]) reject(closedError());
      current = undefined;
      await end();
    },
  };
}

interface ThreadEvents {
  readonly answered: (thread: Worker, result: YamlJobResult) => void;
  /** The end of the thread fails its current job. */
  readonly failed: (thread: Worker, error: unknown) => void;
}

function newWorker(maxHeapMb: number, { answered, failed }: ThreadEvents): Worker {
  const thread = new Worker(yamlThreadUrl(), {
    // Neither the flags nor the environment of the process.
    argv: [],
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: maxYoungMb, stackSizeMb: stackMb },
  });
  thread.on("message", (result: YamlJobResult) => answered(thread, result));
  thread.on("error", (error) => failed(thread, failureOf(error, maxHeapMb)));
  thread.on("exit", () => failed(thread, new YamlError("closed", "the YAML thread has ended")));
  return thread;
}

function timeError(maxJobMs: number): YamlError {
  return new YamlError("time", `takes longer than ${maxJobMs} ms`);
}

type JobLimits = Required<
  Pick<YamlThreadOptions, "maxJobs" | "maxJobsOfFlow" | "maxJobCharacters" | "maxJobCharactersOfFlow">
>;

/** The jobs of the thread; a job without room fails with `busy`. */
function jobQueue(limits: JobLimits): Omit<FlowQueue<Waiting>, "add"> & { readonly add: (job: Waiting) => void } {
  const { maxJobs, maxJobsOfFlow } = limits;
  const queue = flowQueue<Waiting>({
    maxJobs,
    maxJobsOfFlow,
    maxCharacters: limits.maxJobCharacters,
    maxCharactersOfFlow: limits.maxJobCharactersOfFlow,
  });
  const full = "too many YAML texts wait to be read or written";
  const ofFlow = "too many YAML texts of this client wait to be read or written";
  return {
    ...queue,
    add: (job) => {
      const displaced = queue.add(job);
      if (typeof displaced === "string") job.reject(new YamlError("busy", displaced === "full" ? full : ofFlow));
      else for (const { reject } of displaced) reject(new YamlError("busy", full));
    },
  };
}

function closedError(): YamlError {
  return new YamlError("closed", "the YAML thread is closed");
}

function charactersOf(job: YamlJob): number {
  return job.kind === "parse" ? job.text.length : job.texts.reduce((sum, { length }) => sum + length, 0);
}

function afterTimeout(ms: number, run: () => void): () => void {
  // While there is a job, its thread keeps the process alive.
  const timer = setTimeout(run, ms).unref();
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
