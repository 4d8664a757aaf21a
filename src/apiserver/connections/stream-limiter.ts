import { StatusError } from "../../apimachinery/status.ts";

/** How many connections to kubelets the hub relays at once. */
export interface StreamLimits {
  readonly maxPerUser: number;
  readonly maxTotal: number;
}

/** Each takes two descriptors and up to some hundred kilobytes of buffers. */
export const defaultStreamLimits: StreamLimits = { maxPerUser: 128, maxTotal: 1024 };

/** Bounds the connections to kubelets; the result gives the seat back. @throws StatusError TooManyRequests */
export type StreamLimiter = (flow: string) => () => void;

/** Counts per flow, which is a user, or an address where the user is anonymous. */
export function streamLimiter({ maxPerUser, maxTotal }: StreamLimits): StreamLimiter {
  const counts = new Map<string, number>();
  let total = 0;
  return (flow) => {
    const count = counts.get(flow) ?? 0;
    if (count >= maxPerUser || total >= maxTotal) {
      throw new StatusError("TooManyRequests", "too many connections to kubelets are open; try again later", {
        details: { retryAfterSeconds: 1 },
      });
    }
    counts.set(flow, count + 1);
    total += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      total -= 1;
      const left = (counts.get(flow) ?? 1) - 1;
      if (left === 0) counts.delete(flow);
      else counts.set(flow, left);
    };
  };
}
