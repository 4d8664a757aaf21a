import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Term } from "./ast.ts";
import { boundVars, within, type Bound } from "./bound.ts";
import type { Goal } from "./goals.ts";
import { order } from "./safety.ts";

const at = { file: "p.rego", line: 1, column: 1 };
const outside = ["a", "b", "c", "d", "e", "f", "g", "h"] as const;
const inside = ["x", "y"] as const;

const variable = (name: string): Term => ({ kind: "var", name, at });
const leaf = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...outside).map(variable) },
  { weight: 1, arbitrary: fc.constantFrom(...inside).map(variable) },
  { weight: 1, arbitrary: fc.constant<Term>({ kind: "scalar", value: 1, at }) },
);
const array = fc.array(leaf, { maxLength: 3 }).map((items): Term => ({ kind: "array", items, at }));
const object = fc.array(leaf, { maxLength: 2 }).map((values): Term => ({
  kind: "object",
  pairs: values.map((value, index) => [{ kind: "scalar", value: `k${index}`, at }, value]),
  at,
}));
const term = fc.oneof({ weight: 3, arbitrary: leaf }, array, object);
const ref = fc.tuple(leaf, fc.array(leaf, { minLength: 1, maxLength: 2 })).map(([head, path]) => ({
  kind: "ref" as const,
  head,
  path,
  at,
}));

const simpleGoal: fc.Arbitrary<Goal> = fc.oneof(
  fc.record({ kind: fc.constant("unify"), left: term, right: term, at: fc.constant(at) }),
  fc.record({ kind: fc.constant("truth"), term: leaf, at: fc.constant(at) }),
  fc.record({ kind: fc.constant("scan"), ref, out: term, at: fc.constant(at) }),
  fc.record({
    kind: fc.constant("call"),
    name: fc.constant(["f"]),
    args: fc.array(leaf, { maxLength: 2 }),
    out: fc.option(term, { nil: undefined }),
    at: fc.constant(at),
  }),
  fc.record({
    kind: fc.constant("someIn"),
    key: fc.option(leaf, { nil: undefined }),
    value: term,
    domain: leaf,
    at: fc.constant(at),
  }),
);

const body = fc.array(simpleGoal, { maxLength: 3 });
const goal: fc.Arbitrary<Goal> = fc.oneof(
  { weight: 5, arbitrary: simpleGoal },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("closure"),
      makes: fc.constant("array"),
      key: fc.constant(undefined),
      item: leaf,
      body,
      out: term,
      isTemplate: fc.boolean(),
      at: fc.constant(at),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("every"),
      key: fc.constant(undefined),
      value: fc.constant(variable("x")),
      domain: leaf,
      body,
      at: fc.constant(at),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("not"), body, isExplicit: fc.boolean(), at: fc.constant(at) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("with"),
      replaced: leaf.map((value) => [{ target: variable("input"), value }]),
      body,
      at: fc.constant(at),
    }),
  },
);

/** All goals that are left are gone through until none takes its place any more; what is around is `outer` and no more. */
function byRounds(goals: readonly Goal[], bound: Bound, outer: Bound): readonly Goal[] {
  const ordered: Goal[] = [];
  let known = within(bound);
  for (let pending = goals; ;) {
    const stuck = pending.filter((one) => {
      const alone = order([one], known, outer);
      if (alone.stuck.length > 0) return true;
      known = known.and(alone.gained);
      ordered.push(one);
      return false;
    });
    if (stuck.length === pending.length) return ordered;
    pending = stuck;
  }
}

describe("the order of goals", () => {
  test("is that of going through all that are left, time and again", () => {
    fc.assert(
      fc.property(fc.array(goal, { maxLength: 12 }), fc.subarray([...outside]), (goals, known) => {
        const bound = boundVars().and(known);
        const outer = boundVars().and([...outside, ...inside]);
        const found = order(goals, bound, outer);
        const expected = byRounds(goals, bound, outer);
        expect(found.goals).toEqual(expected);
        for (const [index, one] of expected.entries()) expect(found.goals[index]).toBe(one);
        expect(found.stuck).toEqual(goals.filter((one) => !expected.includes(one)));
        expect(found.gained.filter((name) => bound.has(name))).toEqual([]);
        for (const name of found.gained) expect(found.bound.has(name)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  const count = 3000;
  const chain = Array.from({ length: count }, (_, index) => [`v${index}`, `v${index + 1}`] as const);
  test.each([
    ["each needs the one behind it", chain, `v${count}`],
    ["each needs the one before it", chain, "v0"],
    ["all need the last", [...chain.map(([name]) => ["last", name] as const), ["last", "given"] as const], "given"],
  ])("is found with few looks where %s", (_title, pairs, given) => {
    let looks = 0;
    const goals = pairs.map(([left, right]): Goal => ({
      kind: "unify",
      get left() {
        looks += 1;
        return variable(left);
      },
      right: variable(right),
      at,
    }));
    const { stuck, goals: ordered } = order(goals, boundVars().and([given]), boundVars());
    expect([stuck.length, ordered.length]).toEqual([0, pairs.length]);
    expect(looks).toBeLessThan(count * 20);
  });
});
