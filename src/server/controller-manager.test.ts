import { expect, it } from "vitest";
import type { RunningControllers } from "../controllers/runner.ts";
import { restartableControl } from "./controller-manager.ts";

/** Controllers that work until they are told to end. */
function running(signal: AbortSignal): RunningControllers {
  const stopped = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
  return { ready: Promise.resolve(), refresh: () => undefined, stopped };
}

it("has one set of controllers at work at any time, however often they are started anew", async () => {
  const stop = new AbortController();
  const signals: AbortSignal[] = [];
  const control = restartableControl((signal) => {
    expect(signals.every(({ aborted }) => aborted)).toBe(true);
    signals.push(signal);
    return running(signal);
  }, stop.signal);
  await Promise.all([control.restart(), control.restart(), control.restart()]);
  expect(signals).toHaveLength(4);
  expect(signals.at(-1)?.aborted).toBe(false);
  stop.abort();
  await control.stopped;
  expect(signals.every(({ aborted }) => aborted)).toBe(true);
  await control.restart();
  expect(signals).toHaveLength(4);
});

it("tells of a start that failed, and starts at the next call", async () => {
  const stop = new AbortController();
  let starts = 0;
  const control = restartableControl((signal) => {
    starts += 1;
    if (starts === 2) throw new RangeError("no");
    return running(signal);
  }, stop.signal);
  await expect(control.restart()).rejects.toThrow("no");
  await control.restart();
  expect(starts).toBe(3);
  stop.abort();
  await control.stopped;
});

it("stops in the middle of a restart", async () => {
  const stop = new AbortController();
  const signals: AbortSignal[] = [];
  const control = restartableControl((signal) => {
    signals.push(signal);
    return running(signal);
  }, stop.signal);
  const restarted = control.restart();
  stop.abort();
  await Promise.all([restarted, control.stopped]);
  expect(signals.every(({ aborted }) => aborted)).toBe(true);
});
