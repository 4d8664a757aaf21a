import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  believed,
  firstState,
  parseState,
  phaseOf,
  stateText,
  takeStep,
  type AuthorityState,
} from "./authority-state.ts";

const after = (state: AuthorityState, step: Parameters<typeof takeStep>[1], made?: string): AuthorityState => {
  const taken = takeStep(state, step, made);
  if (taken.kind === "refused") throw new TypeError(taken.why);
  return taken.state;
};

describe("a change of the CA", () => {
  it("goes from prepare over switch to retire, and may begin again", () => {
    const prepared = after(firstState, "prepare", "ca-2");
    expect(prepared).toEqual({ signer: "ca", next: "ca-2" });
    expect(believed(prepared)).toEqual(["ca", "ca-2"]);
    const switched = after(prepared, "switch");
    expect(switched).toEqual({ signer: "ca-2", previous: "ca" });
    expect(believed(switched)).toEqual(["ca-2", "ca"]);
    const retired = after(switched, "retire");
    expect(retired).toEqual({ signer: "ca-2" });
    expect([firstState, prepared, switched, retired].map(phaseOf)).toEqual([
      "stable",
      "prepared",
      "switched",
      "stable",
    ]);
    expect(after(retired, "prepare", "ca-3")).toEqual({ signer: "ca-2", next: "ca-3" });
  });

  it("can be abandoned until it is switched", () => {
    const prepared = after(firstState, "prepare", "ca-2");
    expect(after(prepared, "abandon")).toEqual(firstState);
    expect(takeStep(after(prepared, "switch"), "abandon").kind).toBe("refused");
  });

  it.each([
    [firstState, "switch", "pratique ca prepare"],
    [firstState, "retire", "pratique ca prepare"],
    [{ signer: "ca", next: "ca-2" }, "prepare", "pratique ca switch"],
    [{ signer: "ca", next: "ca-2" }, "retire", "pratique ca switch"],
    [{ signer: "ca-2", previous: "ca" }, "prepare", "pratique ca retire"],
    [{ signer: "ca-2", previous: "ca" }, "switch", "pratique ca retire"],
  ] as const)("from %j refuses to %s, and says what comes next", (state, step, next) => {
    const refused = takeStep(state, step, "ca-9");
    expect(refused.kind === "refused" && refused.why).toContain(next);
  });
});

describe("a state file", () => {
  it.each([firstState, { signer: "ca", next: "ca-2" }, { signer: "ca-2", previous: "ca" }])("keeps %j", (state) => {
    expect(parseState(stateText(state))).toEqual(state);
  });

  it.each([
    "",
    "[]",
    "null",
    "{}",
    '{"signer":"../etc/ca"}',
    '{"signer":"ca/../x"}',
    '{"signer":"ca","next":"ca"}',
    '{"signer":"ca","next":"ca-2","previous":"ca-1"}',
    '{"signer":"ca","other":1}',
    '{"signer":1}',
  ])("is not taken from %s", (text) => {
    expect(parseState(text)).toBeUndefined();
  });

  it("never throws, and never names a file outside of its folder", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.record({ signer: fc.string() }).map((one) => JSON.stringify(one)),
        ),
        (text) => {
          const state = parseState(text);
          for (const stem of state === undefined ? [] : believed(state)) expect(stem).toMatch(/^ca(-[0-9a-z]+)?$/);
        },
      ),
      { numRuns: 200 },
    );
  });
});
