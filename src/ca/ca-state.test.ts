import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { trustedCas, firstState, parseState, phaseOf, stateText, takeStep, type AuthorityState } from "./ca-state.ts";

const after = (state: AuthorityState, step: Parameters<typeof takeStep>[1], made?: string): AuthorityState => {
  const taken = takeStep(state, step, made);
  if (taken.kind === "refused") throw new TypeError(taken.why);
  return taken.state;
};

describe("a change of the CA", () => {
  it("goes from prepare over activate to revoke, and may begin again", () => {
    const prepared = after(firstState, "prepare", "ca-2");
    expect(prepared).toEqual({ signer: "ca", next: "ca-2" });
    expect(trustedCas(prepared)).toEqual(["ca", "ca-2"]);
    const activated = after(prepared, "activate");
    expect(activated).toEqual({ signer: "ca-2", previous: "ca" });
    expect(trustedCas(activated)).toEqual(["ca-2", "ca"]);
    const revoked = after(activated, "revoke");
    expect(revoked).toEqual({ signer: "ca-2" });
    expect([firstState, prepared, activated, revoked].map(phaseOf)).toEqual([
      "stable",
      "prepared",
      "activated",
      "stable",
    ]);
    expect(after(revoked, "prepare", "ca-3")).toEqual({ signer: "ca-2", next: "ca-3" });
  });

  it("can be canceled until it is activated", () => {
    const prepared = after(firstState, "prepare", "ca-2");
    expect(after(prepared, "cancel")).toEqual(firstState);
    expect(takeStep(after(prepared, "activate"), "cancel").kind).toBe("refused");
  });

  it.each([
    [firstState, "activate", "pratique ca prepare"],
    [firstState, "revoke", "pratique ca prepare"],
    [{ signer: "ca", next: "ca-2" }, "prepare", "pratique ca activate"],
    [{ signer: "ca", next: "ca-2" }, "revoke", "pratique ca activate"],
    [{ signer: "ca-2", previous: "ca" }, "prepare", "pratique ca revoke"],
    [{ signer: "ca-2", previous: "ca" }, "activate", "pratique ca revoke"],
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
          for (const stem of state === undefined ? [] : trustedCas(state)) expect(stem).toMatch(/^ca(-[0-9a-z]+)?$/);
        },
      ),
      { numRuns: 200 },
    );
  });
});
