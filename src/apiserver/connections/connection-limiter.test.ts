import { describe, expect, it } from "vitest";
import { connectionLimiter, type ConnectionLimiter, type ConnectionLimits } from "./connection-limiter.ts";

interface Limited extends ConnectionLimiter {
  /** Which were closed, in order. */
  readonly closed: readonly string[];
  readonly open: (...peers: string[]) => void;
}

function limited(limits: Partial<ConnectionLimits>): Limited {
  const closed: string[] = [];
  const limiter = connectionLimiter({ maxOpen: 100, maxUnauthenticated: 100, ...limits }, () => undefined);
  return {
    ...limiter,
    closed,
    open: (...peers) => {
      for (const peer of peers) limiter.opened(peer, () => closed.push(peer));
    },
  };
}

describe("connections beyond the limit", () => {
  it("close the one that has made no request for longest", () => {
    const limiter = limited({ maxUnauthenticated: 3 });
    limiter.open("a", "b", "c");
    limiter.began("a");
    limiter.open("d", "e", "f");
    expect(limiter.closed).toEqual(["b", "c", "a"]);
    expect(limiter.counts()).toEqual({ open: 3, unauthenticated: 3, closed: 3 });
  });

  it("never close one that is authenticated; with those alone the newcomer is closed", () => {
    const limiter = limited({ maxOpen: 2 });
    limiter.open("a", "b");
    for (const peer of ["a", "b"]) {
      limiter.began(peer);
      limiter.authenticated(peer);
      limiter.began(peer);
    }
    limiter.open("c");
    expect(limiter.closed).toEqual(["c"]);
    expect(limiter.counts()).toEqual({ open: 2, unauthenticated: 0, closed: 1 });
  });

  it("are none once others have closed", () => {
    const limiter = limited({ maxOpen: 2, maxUnauthenticated: 1 });
    const close = limiter.opened("a", () => undefined);
    limiter.authenticated("a");
    limiter.opened("b", () => undefined)();
    limiter.open("c");
    close();
    limiter.authenticated("c");
    limiter.open("d");
    expect(limiter.closed).toEqual([]);
    expect(limiter.counts()).toEqual({ open: 2, unauthenticated: 1, closed: 0 });
  });
});
