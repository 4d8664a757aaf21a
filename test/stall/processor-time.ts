import { readdirSync, readFileSync } from "node:fs";

/** How the threads of a process have had their processor so far, in milliseconds. */
export interface ProcessorTime {
  /** How long the main thread could have run and waited for a processor. */
  readonly delayMs: number;
  /** How long all other threads have run. */
  readonly helpersMs: number;
}

/**
 * Reads the processor time of a process each time it is called, by the clock of the scheduler.
 * Source: Linux's Documentation/scheduler/sched-stats, /proc/<pid>/schedstat.
 */
export function processorTimes(pid: number): () => ProcessorTime {
  const ran = new Map<string, number>();
  let helpersMs = 0;
  return () => {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      if (thread === String(pid)) continue;
      const [ms] = schedstat(`/proc/${pid}/task/${thread}/schedstat`);
      helpersMs += Math.max(0, ms - (ran.get(thread) ?? 0));
      ran.set(thread, ms);
    }
    const [, delayMs] = schedstat(`/proc/${pid}/task/${pid}/schedstat`);
    return { delayMs, helpersMs };
  };
}

/**
 * Milliseconds, of those between two readings, in which the main thread could have run and other programs had the processor, if all
 * threads of the process share one: what it waited for its own threads is not counted. Too little where it slept while those ran.
 */
export function takenByOthersMs(from: ProcessorTime, to: ProcessorTime): number {
  return Math.max(0, to.delayMs - from.delayMs - (to.helpersMs - from.helpersMs));
}

function schedstat(file: string): readonly [ranMs: number, delayMs: number] {
  try {
    const [ran = 0, delay = 0] = readFileSync(file, "utf8").split(" ").map(Number);
    return [ran / 1e6, delay / 1e6];
  } catch {
    // A thread that has ended meanwhile.
    return [0, 0];
  }
}
