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
