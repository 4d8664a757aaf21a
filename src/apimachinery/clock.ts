/** Time as a parameter, so that no test sleeps. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms` milliseconds, or at once when `signal` aborts; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Random bytes as a parameter. The composition roots pass node:crypto's. */
export type RandomBytes = (size: number) => Uint8Array;

/** `2026-11-21T02:05:49Z`: the API's Time, seconds, UTC. */
export function rfc3339(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
