import { createHash } from "node:crypto";

/** The limits of a cache of tokens. */
export interface TokenCacheOptions {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** How long a success is cached, in milliseconds; default 10000 (10 seconds). */
  readonly ttlMs?: number;
  /** How many successes are cached; the oldest is evicted first. Default 4096. */
  readonly capacity?: number;
}

/** A cached verdict; `until`, in milliseconds since the epoch, is the moment after which it is invalid. */
type Known = { readonly kind: "authenticated"; readonly until?: number } | { readonly kind: "absent" | "rejected" };

/**
 * Caches successes of `member` for a short time, never past their `until`, and no failures: a new token works at
 * once, and a token that is withdrawn works for at most `ttlMs` more. Tokens are kept as SHA-256 digests only.
 */
export function cachedTokens<Result extends Known>(
  member: (token: string) => Promise<Result>,
  options: TokenCacheOptions,
): (token: string) => Promise<Result> {
  const { now, ttlMs = 10_000, capacity = 4096 } = options;
  const successes = new Map<string, { readonly from: number; readonly until: number; readonly success: Result }>();
  return async function cachedToken(token) {
    const key = createHash("sha256").update(token, "utf8").digest("base64");
    const cached = successes.get(key);
    const startedAt = now();
    // With a clock that was set back to before the success, its age is unknown.
    if (cached !== undefined && startedAt >= cached.from && startedAt < cached.until) return cached.success;
    successes.delete(key);
    const result = await member(token);
    if (result.kind === "authenticated") {
      // Counted from before the call, which may take long.
      const until = Math.min(startedAt + ttlMs, result.until ?? Number.POSITIVE_INFINITY);
      successes.delete(key);
      successes.set(key, { from: startedAt, until, success: result });
      dropOldest(successes, capacity);
    }
    return result;
  };
}

function dropOldest(entries: Map<string, unknown>, capacity: number): void {
  for (const key of entries.keys()) {
    if (entries.size <= capacity) return;
    entries.delete(key);
  }
}
