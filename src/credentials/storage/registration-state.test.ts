import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readRegistrationState, registrationStateText, type RegistrationState } from "./registration-state.ts";

describe("the state of a registration", () => {
  it("is read as it was written", () => {
    const states: readonly RegistrationState[] = [
      { clusterName: "east", agentName: "a1b2c" },
      {
        clusterName: "east",
        agentName: "a1b2c",
        origin: "o",
        told: "https://hub:1",
        learned: { origin: "o", server: "https://hub:1", caPem: "c" },
        shutOut: { since: "2026-11-21T00:00:00Z", message: "m" },
        pending: { origin: "o", by: "agent", request: "east-x", keyPem: "k", certificatePem: "c" },
      },
    ];
    for (const state of states) expect(readRegistrationState(registrationStateText(state))).toEqual(state);
  });

  it("has no request where that is not whole", () => {
    const text = JSON.stringify({ clusterName: "east", agentName: "a", pending: { by: "somebody" } });
    expect(readRegistrationState(text)).toEqual({ clusterName: "east", agentName: "a" });
  });

  it("is not in any other text", () => {
    for (const text of ["", "null", "[]", "{}", '"x"', '{"clusterName":1}']) {
      expect(readRegistrationState(text)).toBeUndefined();
    }
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(() => readRegistrationState(text)).not.toThrow();
      }),
      { numRuns: 100 },
    );
  });
});
