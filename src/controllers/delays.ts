import { keyText } from "../client/paths.ts";
import type { Clock } from "../apimachinery/clock.ts";
import type { ObjectKey } from "../apimachinery/object.ts";

/** Calls back for each key once its time has come, with one timer for all of them. */
export interface Delays {
  /** Wakes `key` after `ms` milliseconds, or earlier if it already waits for an earlier time. False when `capacity` keys wait. */
  add(key: ObjectKey, ms: number): boolean;
  /** How many keys wait. */
  size(): number;
  /** Forgets everything that waits. */
  stop(): void;
}

const maxSleepMs = 86_400_000;

interface Entry {
  readonly key: ObjectKey;
  readonly id: string;
  readonly due: number;
}

/** `wake` is called once for each key that has come due, in order of their times. */
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
    // An entry that is superseded stays in the heap and is skipped when it comes up.
    dueOf.set(id, due);
    push(heap, { key, id, due });
    arm();
    return true;
  }

  function arm(): void {
    const next = heap[0];
    if (stopped || next === undefined) return;
    // A sleep that should be over goes on where the clock was set ahead, as a timer counts time that passes.
    const isInTime = sleeping !== undefined && sleeping.until <= next.due && sleeping.until > clock.now();
    if (isInTime) return;
    sleeping?.interrupt.abort();
    const interrupt = new AbortController();
    sleeping = { until: next.due, interrupt };
    // Timers of the runtime end at 24 days; waking early only means to look again.
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
