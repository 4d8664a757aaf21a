import { expect, test } from "vitest";
import { wallClock } from "./system-clock.ts";

test("a sleep ends at once when its signal aborts, before or meanwhile", async () => {
  const controller = new AbortController();
  const sleep = wallClock.sleep(3_000_000_000, controller.signal);
  controller.abort();
  await sleep;
  await wallClock.sleep(3_000_000_000, controller.signal);
  expect(Math.abs(wallClock.now() - Date.now())).toBeLessThan(60_000);
});
