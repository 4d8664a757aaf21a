import { type Backoff, backoffMs } from "../client/backoff.ts";
import { keyText } from "../client/paths.ts";
import type { Clock } from "../apimachinery/clock.ts";
import type { ObjectKey } from "../apimachinery/object.ts";

/** The default backoff of a controller: 5 ms, doubling up to 1000 s. Source: client-go util/workqueue. */
export const defaultBackoff: Backoff = { initialMs: 5, maxMs: 1_000_000 };

/** What happens to a key after it was processed. */
export type Verdict =
  | { readonly kind: "forget" }
  /** Again after `ms` milliseconds; resets the count of failures. */
  | { readonly kind: "after"; readonly ms: number }
  /** Again after the backoff of the key. */
  | { readonly kind: "retry" };

/** Called for each step of a key in the queue; `id` is the text of the key. */
export interface WorkQueueObserver {
  readonly added: (id: string) => void;
  readonly started: (id: string) => void;
  readonly finished: (id: string, isRetried: boolean) => void;
}

export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly concurrency: number;
  readonly backoff: Backoff;
  /** Handles one key; `attempt` counts from 1 and grows with each retry in a row. Must not reject. */
  readonly process: (key: ObjectKey, attempt: number) => Promise<Verdict>;
  /** How many keys may wait, and how many may be delayed; default 100000. */
  readonly capacity?: number;
  /** Called once the queue has room after it refused a key: the caller must add all keys again. */
  readonly onRoom?: () => void;
  /** Called for each key that begins to wait. */
  readonly onAdded?: ((id: string) => void) | undefined;
}

/** Keys to process: each waits at most once and is processed once at a time. */
export interface WorkQueue {
  /** Processes the key in a microtask if a worker is free. A key that is being processed is processed again afterwards. */
  add(key: ObjectKey): void;
  addAfter(key: ObjectKey, ms: number): void;
  /** Starts processing; keys added before wait. */
  start(): void;
  /** Stops processing; resolves when no key is being processed. */
  stop(): Promise<void>;
  /** Whether no key waits or is being processed; delayed keys do not count. */
  idle(): boolean;
}

/** A queue that calls `process` with its keys. */
export function workQueue(options: WorkQueueOptions): WorkQueue {
  const { concurrency, capacity = 100_000 } = options;
  const waiting = new Map<string, ObjectKey>();
  const [running, again] = [new Set<string>(), new Set<string>()];
  const pauses = growingPauses(options.backoff);
  const later = boundedDelays(options.clock, capacity, (key, hasRoom) => {
    add(key);
    if (hasRoom) refused = true;
  });
  const schedule = inMicrotask(pump);
  let state: "held" | "open" | "stopped" = "held";
  let refused = false;
  let drained: (() => void) | undefined;

  function add(key: ObjectKey): void {
    const id = keyText(key);
    if (state === "stopped" || waiting.has(id)) return;
    if (running.has(id)) again.add(id);
    else if (waiting.size >= capacity) refused = true;
    else {
      waiting.set(id, key);
      options.onAdded?.(id);
      schedule();
    }
  }

  function pump(): void {
    for (const [id, key] of waiting) {
      if (state !== "open" || running.size >= concurrency) return;
      waiting.delete(id);
      running.add(id);
      void options.process(key, pauses.failures(id) + 1).then((verdict) => finish(id, key, verdict));
    }
    if (refused && state === "open" && waiting.size === 0) {
      refused = false;
      options.onRoom?.();
    }
  }

  function finish(id: string, key: ObjectKey, verdict: Verdict): void {
    running.delete(id);
    if (verdict.kind !== "retry") pauses.forget(id);
    if (verdict.kind !== "forget") later.add(key, verdict.kind === "retry" ? pauses.next(id) : verdict.ms);
    if (again.delete(id)) add(key);
    if (running.size === 0) drained?.();
    schedule();
  }

  async function stop(): Promise<void> {
    state = "stopped";
    waiting.clear();
    again.clear();
    later.stop();
    if (running.size === 0) return;
    await new Promise<void>((resolve) => {
      drained = resolve;
    });
  }

  function start(): void {
    if (state === "held") state = "open";
    schedule();
  }

  return { add, addAfter: later.add, start, stop, idle: () => waiting.size === 0 && running.size === 0 };
}

/** Delays keys for `wake`; `hasRoom` is true once after a key was refused, when at most half of `capacity` is in use. */
function boundedDelays(
  clock: Clock,
  capacity: number,
  wake: (key: ObjectKey, hasRoom: boolean) => void,
): { readonly add: (key: ObjectKey, ms: number) => void; readonly stop: () => void } {
  let isFull = false;
  const later = delays(clock, capacity, (key) => {
    // Not before half: else each key that becomes due would cause another relist.
    const hasRoom = isFull && later.size() <= capacity / 2;
    if (hasRoom) isFull = false;
    wake(key, hasRoom);
  });
  return {
    add: (key, ms) => {
      if (!later.add(key, ms)) isFull = true;
    },
    stop: later.stop,
  };
}

/** Runs `run` in a microtask, once for all calls until then. */
function inMicrotask(run: () => void): () => void {
  let isQueued = false;
  return () => {
    if (isQueued) return;
    isQueued = true;
    queueMicrotask(() => {
      isQueued = false;
      run();
    });
  };
}

interface GrowingPauses {
  readonly failures: (id: string) => number;
  readonly next: (id: string) => number;
  readonly forget: (id: string) => void;
}

function growingPauses(backoff: Backoff): GrowingPauses {
  const counts = new Map<string, number>();
  const failures = (id: string): number => counts.get(id) ?? 0;
  function next(id: string): number {
    counts.set(id, failures(id) + 1);
    return backoffMs(backoff, failures(id));
  }
  return { failures, next, forget: (id) => counts.delete(id) };
}

/** Keys that become due later, with one timer for all of them. */
export interface Delays {
  /** Wakes `key` after `ms` milliseconds, or earlier if it already waits for an earlier time. False when it is full. */
  add(key: ObjectKey, ms: number): boolean;
  /** How many keys wait. */
  size(): number;
  /** Drops all waiting keys. */
  stop(): void;
}

const maxSleepMs = 86_400_000;

interface Entry {
  readonly key: ObjectKey;
  readonly id: string;
  readonly due: number;
}

/** Calls `wake` once for each key that becomes due, in order of their times. */
export function delays(clock: Clock, capacity: number, wake: (key: ObjectKey) => void): Delays {
  const heap: Entry[] = [];
  const dueOf = new Map<string, number>();
  let sleeping: { readonly until: number; readonly interrupt: AbortController } | undefined;
  let stopped = false;

  function add(key: ObjectKey, ms: number): boolean {
    const id = keyText(key);
    const due = clock.now() + Math.max(ms, 0);
    const known = dueOf.get(id);
    if (stopped || (known !== undefined && known <= due)) return true;
    if (known === undefined && dueOf.size >= capacity) return false;
    // A superseded entry stays in the heap and is skipped when it becomes due.
    dueOf.set(id, due);
    push(heap, { key, id, due });
    arm();
    return true;
  }

  function arm(): void {
    const next = heap[0];
    if (stopped || next === undefined) return;
    // After the clock is set ahead, a sleep outlasts its due time, as a timer counts elapsed time.
    const isInTime = sleeping !== undefined && sleeping.until <= next.due && sleeping.until > clock.now();
    if (isInTime) return;
    sleeping?.interrupt.abort();
    const interrupt = new AbortController();
    sleeping = { until: next.due, interrupt };
    // Timers of the runtime are limited to 24 days; waking early only checks again.
    void clock.sleep(Math.min(Math.max(next.due - clock.now(), 0), maxSleepMs), interrupt.signal).then(() => {
      if (interrupt.signal.aborted) return;
      sleeping = undefined;
      ring();
    });
  }

  function ring(): void {
    const now = clock.now();
    for (let next = heap[0]; next !== undefined && next.due <= now; next = heap[0]) {
      pop(heap);
      if (dueOf.get(next.id) !== next.due) continue;
      dueOf.delete(next.id);
      wake(next.key);
    }
    arm();
  }

  function stop(): void {
    stopped = true;
    sleeping?.interrupt.abort();
    heap.length = 0;
    dueOf.clear();
  }

  return { add, size: () => dueOf.size, stop };
}

function push(heap: Entry[], entry: Entry): void {
  let at = heap.length;
  heap.push(entry);
  while (at > 0) {
    const above = (at - 1) >> 1;
    const parent = heap[above];
    if (parent === undefined || parent.due <= entry.due) break;
    heap[at] = parent;
    at = above;
  }
  heap[at] = entry;
}

function pop(heap: Entry[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let at = 0;
  for (;;) {
    const left = heap[2 * at + 1];
    const right = heap[2 * at + 2];
    const child = right !== undefined && left !== undefined && right.due < left.due ? right : left;
    if (child === undefined || child.due >= last.due) break;
    const below = child === right ? 2 * at + 2 : 2 * at + 1;
    heap[at] = child;
    at = below;
  }
  heap[at] = last;
}
