import type { Clock } from "../apimachinery/clock.ts";

/** How many at once, and how long one more takes to be allowed, in milliseconds. */
export interface BucketSize {
  readonly burst: number;
  readonly refillMs: number;
}

/** One token bucket for each name, of at most `maxNames`; the name that was used least lately is forgotten first. */
export function tokenBuckets(
  clock: Clock,
  { burst, refillMs }: BucketSize,
  maxNames: number,
): (name: string) => boolean {
  const buckets = new Map<string, { readonly tokens: number; readonly at: number }>();
  return (name) => {
    const now = clock.now();
    const { tokens, at } = buckets.get(name) ?? { tokens: burst, at: now };
    const filled = Math.min(burst, tokens + Math.max(0, now - at) / refillMs);
    const isAllowed = filled >= 1;
    buckets.delete(name);
    buckets.set(name, { tokens: isAllowed ? filled - 1 : filled, at: now });
    const [oldest] = buckets.keys();
    if (buckets.size > maxNames && oldest !== undefined) buckets.delete(oldest);
    return isAllowed;
  };
}
