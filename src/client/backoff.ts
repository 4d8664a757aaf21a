/** Growing pauses between tries: the first lasts `initialMs`, each next one twice as long, none longer than `maxMs`. In milliseconds. */
export interface Backoff {
  readonly initialMs: number;
  readonly maxMs: number;
}

/** The pause in milliseconds after `failures` failures in a row (counted from 1). */
export function backoffMs(backoff: Backoff, failures: number): number {
  const doublings = Math.min(Math.max(failures - 1, 0), 60);
  return Math.min(backoff.initialMs * 2 ** doublings, backoff.maxMs);
}

/** The same pause spread over its upper half, so that many clients of a failed server do not return together; `random` returns [0, 1). */
export function jitteredBackoffMs(backoff: Backoff, failures: number, random: () => number): number {
  const full = backoffMs(backoff, failures);
  return full / 2 + (full / 2) * random();
}
