import { totalmem } from "node:os";
import { getHeapStatistics } from "node:v8";

/** How much memory this process may take, in bytes. */
export interface MemoryLimits {
  /** V8's limit of the heap. */
  readonly heapBytes: number;
  /** What the cgroup allows, or the machine has. */
  readonly processBytes: number;
}

const mebibyte = 1024 * 1024;
/** Source: etcd, --quota-backend-bytes. */
const maxBytes = 2048 * mebibyte;
const minBytes = 16 * mebibyte;
/** What a hub takes that stores nothing. */
const idleBytes = 128 * mebibyte;
/** Memory for each stored byte: see docs/storage.md, "The quota". */
const memoryPerStored = 8;

/** How many bytes a store may hold, so that a hub whose store is at its quota starts again and runs within these limits. */
export function defaultQuotaBytes({ heapBytes, processBytes }: MemoryLimits): number {
  const affordable = Math.floor((Math.min(heapBytes, processBytes) - idleBytes) / memoryPerStored);
  return Math.min(maxBytes, Math.max(minBytes, affordable));
}

/** The limits of this process. */
export function memoryLimits(): MemoryLimits {
  const constrained = process.constrainedMemory();
  return {
    heapBytes: getHeapStatistics().heap_size_limit,
    // Without a limit, the cgroup says nothing, or a number beyond what any machine has.
    processBytes: Math.min(totalmem(), constrained === undefined || constrained === 0 ? Infinity : constrained),
  };
}
