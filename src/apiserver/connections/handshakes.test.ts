import { describe, expect, test } from "vitest";
import { handshakeLimiter, connectionBurst, type ConnectionBurst } from "./handshakes.ts";

interface Bench {
  readonly enter: (name: string, address?: string) => () => void;
  /** The next pass of the event loop. */
  readonly pass: () => void;
  /** What is read now. */
  readonly read: () => readonly string[];
  readonly waiting: () => number;
  readonly timers: () => number;
  /** Milliseconds that go by. */
  readonly wait: (ms: number) => void;
  /** The peer sends something, which is there to be read. */
  readonly send: (name: string) => void;
}

function bench(maxReading = 2): Bench {
  const reading = new Set<string>();
  const soon: (() => void)[] = [];
  const sent = new Map<string, number>();
  const received = new Map<string, number>();
  let now = 0;
  const limiter = handshakeLimiter({ now: () => now, soon: (run) => void soon.push(run), maxReading });
  return {
    enter: (name, address = "a") => {
      reading.add(name);
      const [read, pause] = [() => void reading.add(name), () => void reading.delete(name)];
      const end = limiter.enter({ address, read, pause, received: () => received.get(name) ?? 0 });
      return () => {
        end();
        // Whether it is still read afterwards is not the limiter's.
        if (!reading.delete(name)) throw new RangeError(`${name} is left unread after its handshake`);
      };
    },
    pass: () => {
      for (const name of reading) received.set(name, sent.get(name) ?? 0);
      for (const run of soon.splice(0)) run();
    },
    read: () => [...reading].sort(),
    waiting: limiter.waiting,
    timers: () => soon.length,
    wait: (ms) => void (now += ms),
    send: (name) => void sent.set(name, (sent.get(name) ?? 0) + 1),
  };
}

describe("the limit of handshakes", () => {
  test("leaves few handshakes alone, and sets no timer for them", () => {
    const { enter, read, timers, waiting } = bench();
    const end = enter("1");
    enter("2");
    end();
    enter("3");
    expect([read(), timers(), waiting()]).toEqual([["2", "3"], 0, 0]);
  });

  test("gives each its turn, however long those before it are silent", () => {
    const { enter, pass, read, waiting } = bench();
    for (const name of ["1", "2", "3", "4", "5"]) enter(name);
    const seen = [read()];
    for (let turn = 0; turn < 3; turn += 1) {
      pass();
      seen.push(read());
    }
    expect(seen).toEqual([
      ["1", "2"],
      ["3", "4"],
      ["1", "5"],
      ["2", "3"],
    ]);
    expect(waiting()).toBe(3);
  });

  test("reads none in the place of one that has ended before the next pass", () => {
    const { enter, pass, read } = bench();
    const [one, two] = [enter("1"), enter("2")];
    enter("3");
    enter("4");
    one();
    two();
    expect(read()).toEqual([]);
    pass();
    expect(read()).toEqual(["3", "4"]);
  });

  test("reads what is left without turns, once few are left", () => {
    const { enter, pass, read, timers, waiting } = bench();
    const ends = ["1", "2", "3", "4"].map((name) => enter(name));
    pass();
    ends[2]?.();
    ends[0]?.();
    pass();
    expect([read(), waiting(), timers()]).toEqual([["2", "4"], 0, 0]);
    pass();
    expect(read()).toEqual(["2", "4"]);
  });

  test("lets addresses take turns: one with many handshakes holds back none with few", () => {
    const { enter, pass, read } = bench();
    for (let index = 0; index < 100; index += 1) enter(`many-${index}`, "many");
    enter("one", "other");
    pass();
    expect(read()).toEqual(["many-2", "one"]);
  });

  test("reads a connection that ends its handshake while it waits", () => {
    const { enter, waiting } = bench(1);
    enter("1");
    const end = enter("2");
    expect(end).not.toThrow();
    expect(waiting()).toBe(0);
  });

  test("reads a new one in the next pass, and each of its flights, however many others are silent", () => {
    const { enter, pass, read, wait, send } = bench();
    for (let index = 0; index < 1000; index += 1) enter(`silent-${index}`);
    wait(250);
    for (let index = 0; index < 1000; index += 1) pass();
    enter("new");
    send("new");
    pass();
    expect(read()).toContain("new");
    pass();
    wait(200);
    send("new");
    pass();
    expect(read()).toContain("new");
  });

  test("reads fewer at once while passes of the event loop take long, but two at the least", () => {
    const { enter, pass, read, wait } = bench(4);
    for (let index = 0; index < 20; index += 1) enter(String(index));
    const readAfter = (ms: number): number => {
      wait(ms);
      pass();
      return read().length;
    };
    expect([11, 11, 11, 10, 1, 1].map(readAfter)).toEqual([3, 2, 2, 3, 4, 4]);
  });

  test("gives the silent a turn, too, however many others speak", () => {
    const { enter, pass, read, wait, send } = bench();
    for (const name of ["1", "2", "3"]) enter(name);
    wait(250);
    pass();
    pass();
    const others = Array.from({ length: 100 }, (_, index) => `speaks-${index}`);
    for (const name of others) enter(name);
    const seen = new Set<string>();
    for (let index = 0; index < 10; index += 1) {
      for (const name of others) send(name);
      pass();
      for (const name of read()) seen.add(name);
    }
    expect([...seen]).toEqual(expect.arrayContaining(["1", "2", "3"]));
  });
});

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
