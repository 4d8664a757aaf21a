import { describe, expect, test } from "vitest";
import { connectionBurst, type ConnectionBurst } from "./connection-burst.ts";

interface Loop {
  readonly burst: ConnectionBurst;
  readonly served: string[];
  /** Time goes by in steps of a millisecond. */
  readonly pass: (ms: number, each?: () => void) => void;
  /** Of a connection on which a request was authenticated before. */
  readonly request: (name: string) => void;
  /** Of one on which none was; whether it runs. */
  readonly first: (name: string, ms?: number) => boolean;
  /** Serves a request for so many milliseconds. */
  readonly take: (name: string, ms: number) => void;
}

function loop(): Loop {
  let now = 0;
  let next: (() => void)[] = [];
  const served: string[] = [];
  const burst = connectionBurst({ now: () => now, soon: (run) => void next.push(run) });
  const pass: Loop["pass"] = (ms, each) => {
    for (let left = ms; left > 0; left -= 1) {
      now += 1;
      const due = next;
      next = [];
      for (const run of due) run();
      each?.();
    }
  };
  const take = (name: string, ms: number): void => {
    served.push(name);
    now += ms;
  };
  return {
    burst,
    served,
    pass,
    take,
    request: (name) => void burst.pass(() => take(name, 0), true),
    first: (name, ms = 0) => burst.pass(() => take(name, ms), false),
  };
}

describe("a bunch of connections", () => {
  test("does not hold a request that comes alone", () => {
    const { served, request } = loop();
    request("a");
    expect(served).toEqual(["a"]);
  });

  test("shakes hands before requests are served, which keep their order", () => {
    const { burst, served, pass, request } = loop();
    const one = burst.accepted();
    request("a");
    pass(2);
    const two = burst.accepted();
    one();
    one();
    request("b");
    pass(2);
    expect(served).toEqual([]);
    two();
    pass(1);
    expect(served).toEqual(["a", "b"]);
    request("c");
    expect(served).toEqual(["a", "b", "c"]);
  });

  test("that never speaks holds requests for 4 ms", () => {
    const { burst, served, pass, request } = loop();
    burst.accepted();
    request("a");
    pass(3);
    expect(served).toEqual([]);
    pass(1);
    expect(served).toEqual(["a"]);
    request("b");
    expect(served).toEqual(["a", "b"]);
  });

  test("without end holds requests for 10 ms at the most, and then not again for 40 ms", () => {
    const { burst, served, pass, request } = loop();
    const dial = (): void => void burst.accepted();
    dial();
    request("a");
    pass(9, dial);
    expect(served).toEqual([]);
    pass(1);
    expect(served).toEqual(["a"]);
    dial();
    request("b");
    pass(39, dial);
    expect(served).toEqual(["a", "b"]);
    pass(1);
    dial();
    request("c");
    expect(served).toEqual(["a", "b"]);
  });

  test("is followed by its requests in their order, 5 ms of them in each pass of the event loop", () => {
    const { burst, served, pass, request, take } = loop();
    const end = burst.accepted();
    for (const name of ["a", "b", "c", "d"]) burst.pass(() => take(name, 3), true);
    end();
    pass(1);
    expect(served).toEqual(["a", "b"]);
    request("e");
    expect(served).toEqual(["a", "b"]);
    pass(1);
    expect(served).toEqual(["a", "b", "c", "d"]);
    pass(1);
    expect(served).toEqual(["a", "b", "c", "d", "e"]);
    request("f");
    expect(served).toEqual(["a", "b", "c", "d", "e", "f"]);
  });
});

const numbered = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => String(at));

describe("first requests of many connections", () => {
  test("are begun four in each pass of the event loop, in their order", () => {
    const { served, pass, first } = loop();
    for (const name of numbered(10)) first(name);
    expect(served).toEqual(numbered(4));
    pass(1);
    expect(served).toEqual(numbered(8));
    first("late");
    expect(served).toEqual(numbered(8));
    pass(1);
    expect(served).toEqual([...numbered(10), "late"]);
    for (const name of numbered(4)) first(name);
    expect(served).toHaveLength(12);
    pass(2);
    for (const name of numbered(8)) first(name);
    expect(served).toHaveLength(19);
  });

  test("that take long are begun for 5 ms in each pass", () => {
    const { served, pass, first } = loop();
    for (const name of numbered(14)) first(name, 3);
    expect(served).toEqual(numbered(4));
    pass(1);
    expect(served).toEqual(numbered(6));
    pass(1);
    expect(served).toEqual(numbered(8));
  });

  test("do not delay those of known connections", () => {
    const { served, first, request } = loop();
    for (const name of numbered(20)) first(name);
    request("known");
    expect(served).toEqual([...numbered(4), "known"]);
  });

  test("wait behind those of known connections where all have waited", () => {
    const { burst, served, pass, first, request } = loop();
    const end = burst.accepted();
    first("a");
    request("b");
    expect(served).toEqual([]);
    end();
    pass(1);
    expect(served).toEqual(["b", "a"]);
  });

  test("are refused where ten thousand wait, and taken again once there is room", () => {
    const { served, pass, first } = loop();
    expect(numbered(10_004).map((name) => first(name))).not.toContain(false);
    expect(first("too many")).toBe(false);
    pass(1);
    expect(first("another")).toBe(true);
    pass(2600);
    expect(served).toEqual([...numbered(10_004), "another"]);
  });
});
