import { expect, test } from "vitest";
import { fakeClock, settled } from "../../../test/kits/fake-clock.ts";
import { largeBodies, type LargeBody } from "./large-bodies.ts";

const stays: LargeBody["whenGone"] = () => undefined;

/** Asks for a flow, and tells later whether it was admitted, refused, or waits. */
function stage(): {
  readonly ask: (
    flow: string,
    whenGone?: LargeBody["whenGone"],
  ) => { readonly state: () => string; readonly end: () => void };
} {
  const bodies = largeBodies(fakeClock());
  return {
    ask: (flow, whenGone = stays) => {
      let [state, end] = ["waits", (): void => undefined];
      void bodies.admit({ flow, whenGone }).then((result) => {
        state = result === "refused" ? "refused" : "admitted";
        if (result !== "refused") end = result;
      });
      return { state: () => state, end: () => end() };
    },
  };
}

test("a user has two large bodies at once, and all users together four", async () => {
  const { ask } = stage();
  const asked = ["a", "a", "a", "b", "b", "c"].map((flow) => ask(flow));
  await settled();
  const states = asked.map(({ state }) => state());
  expect(states).toEqual(["admitted", "admitted", "waits", "admitted", "admitted", "waits"]);
});

test("the next one is admitted when a request has ended, and one whose client is gone is refused", async () => {
  const { ask } = stage();
  let leave = (): void => undefined;
  const asked = [
    ask("a"),
    ask("a"),
    ask("a", (gone) => {
      leave = gone;
    }),
    ask("a"),
  ];
  await settled();
  leave();
  asked[0]?.end();
  await settled();
  expect(asked.map(({ state }) => state())).toEqual(["admitted", "admitted", "refused", "admitted"]);
});
