import { ConnectionError } from "../client/client.ts";
import type { Clock } from "../apimachinery/clock.ts";
import { TargetError } from "./kubeconfig-target.ts";

/** How a review is sent again. Source: apiserver pkg/util/webhook DefaultRetryBackoffWithInitialDelay. */
const tries = 5;
const pause = { firstMs: 500, factor: 1.5, jitter: 0.2 };
/** After this time nothing is sent again, so that a service which fails slowly does not take a time-out for each try. */
const againWithinMs = 30_000;
const passingStatus: readonly number[] = [429, 500, 504];

/**
 * Sends a review again that was broken off or refused for now, five times in all, and never one that took too long or whose service
 * is not there, nor after 30 seconds: nobody waits much longer than one time-out. A service that says when to come back is not asked
 * before. Rejects with the last failure.
 */
export function retriedReview<Review extends object>(
  post: (review: Review) => Promise<unknown>,
  clock: Clock,
): (review: Review) => Promise<unknown> {
  return async (review) => {
    const begun = clock.now();
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await post(review);
      } catch (error) {
        const passed = clock.now() - begun;
        if (attempt === tries || !isPassing(error) || passed >= againWithinMs) throw error;
        const { firstMs, factor, jitter } = pause;
        const asked = error instanceof TargetError ? (error.retryAfterMs ?? 0) : 0;
        if (passed + asked >= againWithinMs) throw error;
        await clock.sleep(Math.max(asked, firstMs * factor ** (attempt - 1) * (1 + jitter * Math.random())));
      }
    }
  };
}

function isPassing(error: unknown): boolean {
  if (error instanceof ConnectionError) return error.code === "ECONNRESET";
  if (!(error instanceof TargetError) || error.code !== "status") return false;
  return error.retryAfterMs !== undefined || passingStatus.includes(error.status);
}
