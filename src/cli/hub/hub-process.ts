import { readdirSync } from "node:fs";
import { availableParallelism, getPriority, setPriority } from "node:os";
import { setFlagsFromString } from "node:v8";

/**
 * How far the heap may grow, in percent of what was live after a collection, before the next one begins. V8 would let a small heap grow to
 * four times its live objects, so that a burst of large requests takes hundreds of megabytes that are dead already. Measured: a seventh more
 * processor time under such a burst (with 50), and for 8000 small creates 3.8 and 4.5 s instead of 3.6 and 4.0 s. Source: V8's flag --heap-growing-percent.
 */
const growingPercent = 40;

/** Has the process collect garbage earlier than V8 would; for a process that is a hub and nothing else. */
export function paceHeap(): void {
  setFlagsFromString(`--heap-growing-percent=${growingPercent}`);
}

/** node starts so many threads for V8 before any other: four that help to collect garbage and to compile, and one that keeps their time. */
const helperThreads = 5;
/** The event loop then has seven tenths of the processor while all four are busy. With more, a thread that the loop waits for may itself have to wait for other programs. */
const niceness = 10;
const lowestPriority = 19;

/**
 * Lowers the priority of V8's helper threads where there is one processor only: while they mark a large heap, the four of them have four
 * fifths of it otherwise, and with 300 MB others were answered after 250 ms instead of 50. Changes nothing where there are more
 * processors, on other systems than Linux, and where the system refuses it.
 * Source: setpriority(2), "C library/kernel differences"; node's src/node_platform.cc, WorkerThreadsTaskRunner.
 */
export function lowerHelperThreads(): void {
  if (process.platform !== "linux" || availableParallelism() > 1) return;
  try {
    const others = readdirSync("/proc/self/task")
      .map(Number)
      .filter((thread) => thread !== process.pid);
    // Threads are numbered in the order in which they begin.
    for (const thread of others.toSorted((one, other) => one - other).slice(0, helperThreads)) {
      setPriority(thread, Math.min(lowestPriority, getPriority() + niceness));
    }
  } catch {
    // A sandbox may forbid it; the hub does its work without.
  }
}
