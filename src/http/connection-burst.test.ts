import { describe, expect, test } from "vitest";
import { connectionBurst, type ConnectionBurst } from "./connection-burst.ts";

interface Loop {
  readonly burst: ConnectionBurst;
  readonly served: string[];
  /** One turn of the event loop, `ms` milliseconds long. */
  readonly turn: (ms?: number) => void;
  readonly request: (name: string) => void;
}

function loop(): Loop {
  let now = 0;
  let next: (() => void)[] = [];
  const served: string[] = [];
  const burst = connectionBurst({ now: () => now, nextTurn: (run) => void next.push(run) });
  const turn = (ms = 0): void => {
    now += ms;
    const due = next;
    next = [];
    for (const run of due) run();
  };
  return { burst, served, turn, request: (name) => burst.pass(() => served.push(name)) };
}

describe("a bunch of connections", () => {
  test("does not hold a request that comes alone", () => {
    const { served, request } = loop();
    request("a");
    expect(served).toEqual(["a"]);
  });

  test("is accepted before the requests that came meanwhile, which keep their order", () => {
    const { burst, served, turn, request } = loop();
    burst.accepted();
    request("a");
    burst.accepted();
    turn();
    request("b");
    burst.accepted();
    turn();
    expect(served).toEqual([]);
    turn();
    expect(served).toEqual(["a", "b"]);
    request("c");
    expect(served).toEqual(["a", "b", "c"]);
  });

  test("holds requests for 50 ms at the most, and then not again for 250 ms", () => {
    const { burst, served, turn, request } = loop();
    burst.accepted();
    request("a");
    for (let ms = 0; ms < 50; ms += 10) {
      expect(served).toEqual([]);
      burst.accepted();
      turn(10);
    }
    expect(served).toEqual(["a"]);
    burst.accepted();
    request("b");
    expect(served).toEqual(["a", "b"]);
    turn(250);
    burst.accepted();
    request("c");
    expect(served).toEqual(["a", "b"]);
    turn();
    expect(served).toEqual(["a", "b", "c"]);
  });

  test("holds requests for 128 turns at the most, however short those are", () => {
    const { burst, served, turn, request } = loop();
    burst.accepted();
    request("a");
    for (let turns = 0; turns < 127; turns += 1) {
      burst.accepted();
      turn();
    }
    expect(served).toEqual([]);
    burst.accepted();
    turn();
    expect(served).toEqual(["a"]);
  });
});
