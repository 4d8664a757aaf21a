import { describe, expect, test } from "vitest";
import { handshakeLimiter } from "./handshake-limiter.ts";

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
