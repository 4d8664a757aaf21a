import { StatusError } from "../../apimachinery/status.ts";

/** How many of something are open, of each flow and of all. */
export interface FlowCounts {
  /** Counts one more of a flow; false where the flow, or all together, have as many as they may have. */
  readonly enter: (flow: string) => boolean;
  readonly leave: (flow: string) => void;
}

/** Counts from zero. */
export function flowCounts({ maxOfOne, maxTotal }: Readonly<Record<"maxOfOne" | "maxTotal", number>>): FlowCounts {
  const counts = new Map<string, number>();
  let total = 0;
  return {
    enter: (flow) => {
      const count = counts.get(flow) ?? 0;
      if (count >= maxOfOne || total >= maxTotal) return false;
      counts.set(flow, count + 1);
      total += 1;
      return true;
    },
    leave: (flow) => {
      const count = counts.get(flow) ?? 0;
      if (count > 1) counts.set(flow, count - 1);
      else counts.delete(flow);
      total -= 1;
    },
  };
}

/** How many connections to kubelets the hub relays at once. */
export interface StreamLimits {
  readonly maxPerUser: number;
  readonly maxTotal: number;
}

/** Each takes two descriptors and up to some hundred kilobytes of buffers. */
export const defaultStreamLimits: StreamLimits = { maxPerUser: 128, maxTotal: 1024 };

/** Bounds the connections to kubelets; the result gives the seat back, once. @throws StatusError TooManyRequests */
export type StreamLimiter = (flow: string) => () => void;

/** Counts per flow, which is a user, or an address where the user is anonymous. */
export function streamLimiter({ maxPerUser, maxTotal }: StreamLimits): StreamLimiter {
  const counts = flowCounts({ maxOfOne: maxPerUser, maxTotal });
  return (flow) => {
    if (!counts.enter(flow)) {
      throw new StatusError("TooManyRequests", "too many connections to kubelets are open; try again later", {
        details: { retryAfterSeconds: 1 },
      });
    }
    let isHeld = true;
    return () => {
      if (isHeld) counts.leave(flow);
      isHeld = false;
    };
  };
}
