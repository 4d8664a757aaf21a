import { describe, expect, it } from "vitest";
import type { Authentication } from "./authenticator.ts";
import { firstAuthenticated } from "./union.ts";

const says = (verdict: Authentication) => async (): Promise<Authentication> => verdict;
const alice = says({ kind: "authenticated", user: { username: "alice", groups: [] } });
const bob = says({ kind: "authenticated", user: { username: "bob", groups: [] } });
const absent = says({ kind: "absent" });
const expired = says({ kind: "rejected", reason: "expired" });
const forged = says({ kind: "rejected", reason: "forged" });

describe("firstAuthenticated", () => {
  it.each([
    ["the first success of two", [absent, alice, bob], { kind: "authenticated", user: { username: "alice" } }],
    ["a success after a rejection", [expired, bob], { kind: "authenticated", user: { username: "bob" } }],
    ["a success before a rejection", [alice, forged], { kind: "authenticated", user: { username: "alice" } }],
    ["the rejection between absences", [absent, expired, absent], { kind: "rejected", reason: "expired" }],
    ["every reason", [expired, absent, forged], { kind: "rejected", reason: "[expired, forged]" }],
    ["absent when all are", [absent, absent], { kind: "absent" }],
    ["absent without members", [], { kind: "absent" }],
  ])("gives %s", async (_name, members, expected) => {
    await expect(firstAuthenticated(...members)("request")).resolves.toMatchObject(expected);
  });

  it("does not ask members after the first success", async () => {
    let asked = 0;
    const counts = async (): Promise<Authentication> => {
      asked += 1;
      return { kind: "absent" };
    };
    await firstAuthenticated(counts, alice, counts)("request");
    expect(asked).toBe(1);
  });

  it("lets an outage through, although another member would accept", async () => {
    const broken = (): Promise<Authentication> => Promise.reject(new TypeError("down"));
    await expect(firstAuthenticated(broken, alice)("request")).rejects.toThrow("down");
  });
});
