import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { boundVars, inEither, within, type Bound } from "./bound.ts";

const names = ["a", "b", "c", "d", "e", "f"];

/** One way to another set: more variables behind one of those made so far, or a row of its own within it. */
const way = fc.record({
  from: fc.nat(20),
  isWithin: fc.boolean(),
  names: fc.array(fc.constantFrom(...names), { maxLength: 3 }),
});

describe("variables that are bound", () => {
  test("are those of a set that is copied for each step, however the steps branch", () => {
    fc.assert(
      fc.property(fc.array(way, { maxLength: 25 }), (ways) => {
        const made: { readonly bound: Bound; readonly model: ReadonlySet<string> }[] = [
          { bound: boundVars(), model: new Set() },
        ];
        for (const each of ways) {
          const { bound, model } = made[each.from % made.length] ?? { bound: boundVars(), model: new Set<string>() };
          const base = each.isWithin ? within(bound) : bound;
          made.push({ bound: base.and(each.names), model: new Set([...model, ...each.names]) });
        }
        for (const { bound, model } of made) {
          expect(names.filter((name) => bound.has(name))).toEqual(names.filter((name) => model.has(name)));
        }
      }),
      { numRuns: 200 },
    );
  });

  test("in either of two are those of both", () => {
    const either = inEither(boundVars().and(["a"]), boundVars().and(["b"])).and(["c"]);
    expect(names.filter((name) => either.has(name))).toEqual(["a", "b", "c"]);
  });
});
