/** How far `now` (in milliseconds since the epoch) is ahead of the time in a `Date` header, in milliseconds, negative when behind; undefined without a readable header. */
export function aheadOf(header: string | undefined, now: number): number | undefined {
  if (header === undefined || header.length > 64) return undefined;
  const theirs = Date.parse(header);
  return Number.isNaN(theirs) ? undefined : now - theirs;
}

/** A larger difference is reported; the header has whole seconds, and the transfer takes time. In milliseconds. */
export const tolerableSkewMs = 30_000;

const units: readonly (readonly [string, number])[] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000],
];

/** A duration in words, in the largest unit of which there are two or more: `41 minutes`, `90 seconds`, `1 second`. The sign is dropped. */
export function inWords(ms: number): string {
  const length = Math.abs(ms);
  const [unit, size] = units.find(([, each]) => length >= 2 * each) ?? ["second", 1000];
  const count = Math.round(length / size);
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

/** `this machine's clock is 41 minutes behind the hub's`. */
export function skewSentence(aheadMs: number): string {
  return `this machine's clock is ${inWords(aheadMs)} ${aheadMs < 0 ? "behind" : "ahead of"} the hub's`;
}
