import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { fakeClock, settled, type FakeClock } from "../../test/kits/fake-clock.ts";
import { abortListeners } from "../apimachinery/abort-listeners.ts";
import { connectionLife, type ConnectionLife } from "./connect-verb.ts";
import type { Call } from "./resource-call.ts";

type Ending = "shutdown" | "account" | "secret" | "revocation";

interface Stage {
  readonly life: ConnectionLife;
  readonly clock: FakeClock;
  readonly end: (what: Ending) => void;
  readonly disconnect: () => void;
  readonly released: () => number;
}

/** The connection of a credential that expires at a time, in milliseconds from now on, and whose account may be gone. */
function stage({ expiresIn, isGone = false }: { readonly expiresIn?: number; readonly isGone?: boolean } = {}): Stage {
  const clock = fakeClock();
  const endings: Readonly<Record<Ending, AbortController>> = {
    shutdown: new AbortController(),
    account: new AbortController(),
    secret: new AbortController(),
    revocation: new AbortController(),
  };
  const response = Object.assign(new EventEmitter(), {
    destroyed: false,
    req: Object.assign(new EventEmitter(), { socket: { destroyed: false } }),
  });
  let released = 0;
  const until = expiresIn === undefined ? {} : { until: clock.now() + expiresIn };
  const call = {
    requester: { user: { username: "u", groups: [] }, credential: { username: "u", ids: [], ...until } },
    response,
    options: {
      shutdown: endings.shutdown.signal,
      lifeOf: () => (isGone ? AbortSignal.abort() : endings.account.signal),
      secretLifeOf: () => endings.secret.signal,
      follow: () => ({
        signal: endings.revocation.signal,
        release: () => {
          released += 1;
        },
      }),
      onAbort: abortListeners(),
      clock,
    },
  };
  return {
    life: connectionLife(call as unknown as Call),
    clock,
    end: (what) => endings[what].abort(),
    disconnect: () => void response.emit("close"),
    released: () => released,
  };
}

it.each(["shutdown", "account", "secret", "revocation"] as const)("ends at once with: %s", async (what) => {
  const { life, end } = stage();
  await settled();
  expect(life.signal.aborted).toBe(false);
  end(what);
  expect(life.signal.aborted).toBe(true);
});

it("ends with its client", () => {
  const { life, disconnect } = stage();
  disconnect();
  expect(life.signal.aborted).toBe(true);
});

it("ends when its credential expires, and not before, also after more days than a timer can hold", async () => {
  const day = 24 * 3600 * 1000;
  const { life, clock } = stage({ expiresIn: 60 * day });
  await clock.advance(60 * day - 1);
  expect(life.signal.aborted).toBe(false);
  await clock.advance(1);
  expect(life.signal.aborted).toBe(true);
});

it("does not begin with a credential that has expired, or an account that is gone", () => {
  for (const { life } of [stage({ expiresIn: 0 }), stage({ isGone: true })]) expect(life.signal.aborted).toBe(true);
});

it("leaves nothing behind at its end", async () => {
  const { life, clock, released, end } = stage({ expiresIn: 1000 });
  await settled();
  life.end();
  await settled();
  expect([life.signal.aborted, clock.sleeping(), released()]).toEqual([true, 0, 1]);
  end("shutdown");
  expect(released()).toBe(1);
});
