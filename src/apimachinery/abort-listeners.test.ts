import { describe, expect, it } from "vitest";
import { abortListeners } from "./abort-listeners.ts";

describe("abortListeners", () => {
  it("calls all that listen, once, and none that took it back", () => {
    const onAbort = abortListeners();
    const end = new AbortController();
    const called: string[] = [];
    onAbort(end.signal, () => called.push("a"));
    const leave = onAbort(end.signal, () => called.push("b"));
    onAbort(end.signal, () => called.push("c"));
    leave();
    end.abort();
    end.abort();
    expect(called).toEqual(["a", "c"]);
  });

  it("tells signals apart", () => {
    const onAbort = abortListeners();
    const [one, other] = [new AbortController(), new AbortController()];
    const called: string[] = [];
    onAbort(one.signal, () => called.push("one"));
    onAbort(other.signal, () => called.push("other"));
    other.abort();
    expect(called).toEqual(["other"]);
  });

  it("puts one listener on a signal, however many listen", () => {
    const onAbort = abortListeners();
    const end = new AbortController();
    let added = 0;
    const add = end.signal.addEventListener.bind(end.signal);
    end.signal.addEventListener = (...args: Parameters<typeof add>): void => {
      added += 1;
      add(...args);
    };
    for (let at = 0; at < 100; at += 1) onAbort(end.signal, () => undefined)();
    expect(added).toBe(1);
  });

  it("lets a listener leave, or another come, while all are called", () => {
    const onAbort = abortListeners();
    const end = new AbortController();
    const called: string[] = [];
    onAbort(end.signal, () => {
      called.push("first");
      leave();
    });
    const leave = onAbort(end.signal, () => called.push("second"));
    end.abort();
    expect(called).toEqual(["first"]);
  });
});
