import { expect, test } from "vitest";
import { fakeClock, settled } from "../../test/kits/fake-clock.ts";
import { delays } from "./delays.ts";

test("what is added after the clock was set ahead does not wait for a sleep that began before", async () => {
  const timers = fakeClock();
  let ahead = 0;
  const clock = { now: () => timers.now() + ahead, sleep: timers.sleep };
  const woken: string[] = [];
  const waiting = delays(clock, 10, ({ name }) => void woken.push(name));
  waiting.add({ name: "in an hour" }, 3_600_000);
  ahead = 7_200_000;
  waiting.add({ name: "at once" }, 0);
  waiting.add({ name: "in a second" }, 1000);
  await timers.advance(0);
  await settled();
  expect(woken).toEqual(["in an hour", "at once"]);
  await timers.advance(1000);
  expect(woken).toEqual(["in an hour", "at once", "in a second"]);
  waiting.stop();
});
