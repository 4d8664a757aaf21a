import { expect, test } from "vitest";
import { turns, type Turns } from "./turns.ts";

/** A loop whose passes and time are moved by hand. */
function steppedLoop(): {
  readonly turns: Turns;
  readonly pass: () => Promise<void>;
  readonly rest: (ms: number) => void;
  readonly spend: (ms: number) => void;
} {
  let now = 0;
  let soon: (() => void)[] = [];
  let later: { readonly at: number; readonly run: () => void }[] = [];
  return {
    turns: turns({
      now: () => now,
      soon: (run) => void soon.push(run),
      after: (ms, run) => void later.push({ at: now + ms, run }),
    }),
    pass: async () => {
      const due = soon;
      soon = [];
      for (const run of due) {
        run();
        // Promise callbacks run between two callbacks of the loop.
        await Promise.resolve().then(() => undefined);
      }
    },
    rest: (ms) => {
      now += ms;
      const due = later.filter(({ at }) => at <= now);
      later = later.filter(({ at }) => at > now);
      for (const { run } of due) run();
    },
    spend: (ms) => {
      now += ms;
    },
  };
}

test("one part runs per pass of the loop", async () => {
  const loop = steppedLoop();
  const ran: string[] = [];
  for (const part of ["one", "two", "three"]) void loop.turns.next("flow").then(() => ran.push(part));
  expect(loop.turns.waiting()).toBe(3);
  await loop.pass();
  expect(ran).toEqual(["one"]);
  await loop.pass();
  expect(ran).toEqual(["one", "two"]);
  await loop.pass();
  expect(ran).toEqual(["one", "two", "three"]);
  expect(loop.turns.waiting()).toBe(0);
});

test("flows take turns, however many parts one of them has", async () => {
  const loop = steppedLoop();
  const ran: string[] = [];
  for (const part of ["a1", "a2", "a3"]) void loop.turns.next("a").then(() => ran.push(part));
  for (const part of ["b1", "b2"]) void loop.turns.next("b").then(() => ran.push(part));
  for (let pass = 0; pass < 5; pass += 1) await loop.pass();
  expect(ran).toEqual(["a1", "b1", "a2", "b2", "a3"]);
});

test("after a part the loop is left alone for as long as the part took", async () => {
  const loop = steppedLoop();
  const ran: string[] = [];
  void loop.turns.next("a").then(() => {
    ran.push("first");
    loop.spend(40);
  });
  void loop.turns.next("a").then(() => ran.push("second"));
  await loop.pass();
  await loop.pass();
  await loop.pass();
  expect(ran).toEqual(["first"]);
  loop.rest(39);
  expect(ran).toEqual(["first"]);
  loop.rest(1);
  await Promise.resolve();
  expect(ran).toEqual(["first", "second"]);
});

test("begins again after it had nothing to do", async () => {
  const loop = steppedLoop();
  const ran: string[] = [];
  void loop.turns.next("a").then(() => ran.push("first"));
  for (let pass = 0; pass < 4; pass += 1) await loop.pass();
  void loop.turns.next("a").then(() => ran.push("second"));
  for (let pass = 0; pass < 2; pass += 1) await loop.pass();
  expect(ran).toEqual(["first", "second"]);
});
