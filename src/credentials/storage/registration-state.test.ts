import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  readRegistrationState,
  registrationStateText,
  storedState,
  type RegistrationState,
  type PendingRequest,
} from "./registration-state.ts";
import { JoinError } from "../join-error.ts";
import type { KlusterletStore } from "./klusterlet-store.ts";

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

const first: RegistrationState = { clusterName: "east", agentName: "a1b2c", origin: "o" };
const pending: PendingRequest = { origin: "o", by: "agent", request: "east-x", keyPem: "k" };

/** A store whose writes end when they are let go, or fail. */
function slowStore(): {
  readonly store: KlusterletStore;
  readonly waiting: (() => void)[];
  readonly stored: () => RegistrationState | undefined;
  refuse: boolean;
} {
  let text: string | undefined;
  const here = {
    waiting: [] as (() => void)[],
    refuse: false,
    stored: () => (text === undefined ? undefined : readRegistrationState(text)),
    store: {
      place: "here",
      readState: async () => text,
      writeState: async (next: string) => {
        await new Promise<void>((resolve) => here.waiting.push(resolve));
        if (here.refuse) throw new JoinError("write-failed", "the disk is full");
        text = next;
      },
      readCredential: async () => ({}),
      writeCredential: async () => undefined,
      remove: async () => undefined,
    },
  };
  return here;
}

const turn = (): Promise<void> => new Promise((next) => setImmediate(next));

describe("the state that is kept", () => {
  it("loses nothing of two changes that are made at once", async () => {
    const slow = slowStore();
    const state = storedState(slow.store, first);
    const both = Promise.all([state.change({ pending }), state.change({ told: "https://hub:1" })]);
    for (const _ of [1, 2]) {
      await turn();
      slow.waiting.shift()?.();
    }
    await both;
    expect(slow.stored()).toEqual({ ...first, pending, told: "https://hub:1" });
    expect(state.now()).toEqual(slow.stored());
  });

  it("counts a change only once it is written, and goes on after one that could not be", async () => {
    const slow = slowStore();
    const state = storedState(slow.store, first);
    slow.refuse = true;
    const failed = state.change({ pending });
    const after = state.change({ told: "https://hub:1" });
    await turn();
    expect(state.now()).toEqual(first);
    slow.waiting.shift()?.();
    await expect(failed).rejects.toThrow("the disk is full");
    slow.refuse = false;
    await turn();
    slow.waiting.shift()?.();
    await after;
    expect(slow.stored()).toEqual({ ...first, told: "https://hub:1" });
  });
});
