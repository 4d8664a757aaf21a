import { StatusError } from "../apimachinery/status.ts";
import { StorageError } from "../storage/store.ts";
import type { Backend } from "./backend.ts";

/** How long a read may wait for a version that this hub has not seen yet, in milliseconds. Source: cacher's blockTimeout. */
const aheadTimeoutMs = 3000;

/** Waits until the cache holds `revision`. @throws StatusError Timeout with cause ResourceVersionTooLarge. */
export async function waitForVersion({ cache }: Backend, revision: number): Promise<void> {
  try {
    await cache.waitFor(revision, aheadTimeoutMs);
  } catch (error) {
    if (!(error instanceof StorageError) || error.code !== "timeout") throw error;
    throw new StatusError("Timeout", `Timeout: Too large resource version: ${revision}, current: ${cache.revision()}`, {
      details: {
        causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
        retryAfterSeconds: 1,
      },
    });
  }
}

/** The history from `revision` on is gone. */
export function tooOld(revision: number, oldest: number): StatusError {
  return new StatusError("Expired", `too old resource version: ${revision} (${oldest})`);
}
