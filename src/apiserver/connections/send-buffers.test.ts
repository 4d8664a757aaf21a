import { describe, expect, it } from "vitest";
import { sendBuffers, type SendBuffer, type SendBufferLimits, type SendBuffers } from "./send-buffers.ts";

const limits: SendBufferLimits = {
  windowBytes: 100,
  smallBytes: 10,
  maxFlowBytes: 300,
  maxBytes: 500,
  checkMs: 1,
  maxIdleChecks: 3,
};

interface Bench {
  readonly buffers: SendBuffers;
  readonly open: (flow: string) => SendBuffer;
  /** The flows of which an answer was abandoned. */
  readonly abandoned: string[];
  /** Lets the time of one check pass; false where none is waited for. */
  readonly check: () => boolean;
}

function bench(): Bench {
  const abandoned: string[] = [];
  let run: (() => void) | undefined;
  const every = (_ms: number, each: () => void): (() => void) => {
    run = each;
    return () => {
      run = undefined;
    };
  };
  const buffers = sendBuffers(every, limits);
  return {
    buffers,
    abandoned,
    open: (flow) => buffers.open({ flow, abandon: () => void abandoned.push(flow) }),
    check: () => {
      run?.();
      return run !== undefined;
    },
  };
}

describe("what waits for clients", () => {
  it("is a window for each answer, and a small one once the user or all users have too much", () => {
    const { open } = bench();
    const [a, b, c, d] = [open("a"), open("a"), open("b"), open("c")];
    expect(a.window()).toBe(100);
    a.add(300);
    expect([a.window(), b.window(), c.window()]).toEqual([10, 10, 100]);
    c.add(200);
    expect(d.window()).toBe(10);
    a.remove(200);
    expect([a.window(), d.window()]).toEqual([100, 100]);
  });

  it("is reserved up to the bounds of a user and of all, and small amounts always", () => {
    const { open, buffers } = bench();
    const [a, b] = [open("a"), open("b")];
    expect(a.tryReserve(300)).toBe(true);
    expect(a.tryReserve(11)).toBe(false);
    expect(a.tryReserve(10)).toBe(true);
    expect(b.tryReserve(200)).toBe(false);
    expect(b.tryReserve(190)).toBe(true);
    expect(b.tryReserve(10)).toBe(true);
    expect(buffers.bytes()).toBe(510);
  });

  it("is waited for until others have read, in order, and no longer than the answer", async () => {
    const { open, buffers } = bench();
    const [a, b, c] = [open("a"), open("a"), open("a")];
    a.add(300);
    const got: string[] = [];
    const first = b.reserve(200).then((result) => got.push(`b ${result}`));
    const second = c.reserve(200).then((result) => got.push(`c ${result}`));
    a.remove(250);
    await first;
    expect(got).toEqual(["b reserved"]);
    c.close();
    await second;
    expect(got).toEqual(["b reserved", "c closed"]);
    expect(await c.reserve(1)).toBe("closed");
    expect(buffers.bytes()).toBe(250);
  });

  it("is nothing once the answers are closed, whatever comes after", () => {
    const { open, buffers } = bench();
    const a = open("a");
    a.add(50);
    a.close();
    a.close();
    a.remove(50);
    a.add(20);
    expect(buffers.bytes()).toBe(0);
    expect(open("a").window()).toBe(100);
  });
});

describe("a client that reads nothing", () => {
  it("is given up after some looks without progress, and no others are", () => {
    const { open, check, abandoned, buffers } = bench();
    const [stuck, slow, quiet] = [open("stuck"), open("slow"), open("quiet")];
    stuck.add(100);
    slow.add(100);
    quiet.add(5);
    quiet.remove(5);
    for (let look = 0; look < 5; look += 1) {
      check();
      slow.remove(1);
    }
    expect(abandoned).toEqual(["stuck"]);
    expect(buffers.abandoned()).toBe(1);
  });

  it("is looked for only while something waits", () => {
    const { open, check } = bench();
    const a = open("a");
    expect(check()).toBe(false);
    a.add(1);
    expect(check()).toBe(true);
    a.remove(1);
    expect(check()).toBe(false);
  });
});
