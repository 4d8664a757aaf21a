import { ConnectionError } from "../../client/client.ts";
import type { RemoteClient } from "../../client/remote.ts";

/** How the API of a spoke answered when it was last asked. */
export interface SpokeHealth {
  readonly isGood: boolean;
  readonly message: string;
  /** Whether a failure has lasted so long that it is believed. */
  readonly isSettled: boolean;
}

/** How long a failure has to last before it is believed, and how often it is looked at until then, in milliseconds. */
const settledMs = 20_000;
export const suspiciousMs = 5_000;

/** One look at the API: `/livez`, and `/healthz` where that is not served or not allowed. A text says what is wrong. */
export async function lookAtSpoke(client: RemoteClient, signal: AbortSignal): Promise<string | undefined> {
  try {
    const live = await client.raw("GET", "/livez", { signal });
    const { status } =
      live.status === 404 || live.status === 403 ? await client.raw("GET", "/healthz", { signal }) : live;
    return status === 200 ? undefined : `the API answers ${status}`;
  } catch (error) {
    if (error instanceof ConnectionError) return `the API cannot be reached: ${error.message}`;
    throw error;
  }
}

/** What looks at an API mean, one after the other; `now` in milliseconds since the epoch. */
export function healthJudge(): (problem: string | undefined, now: number) => SpokeHealth {
  let since: number | undefined;
  return (problem, now) => {
    if (problem === undefined) {
      since = undefined;
      return { isGood: true, message: "Managed cluster is available", isSettled: true };
    }
    since ??= now;
    return {
      isGood: false,
      message: `The kube-apiserver is not ok: ${problem}`,
      isSettled: now - since >= settledMs,
    };
  };
}
