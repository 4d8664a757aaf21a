import { describe, expect, it } from "vitest";
import { addAuthenticatedGroup, anonymous, authenticate, withAuthenticatedGroup } from "./authenticated.ts";
import type { Authentication } from "./authenticator.ts";

const facts = { authorization: undefined, peerCertificates: [] };
const says = (verdict: Authentication) => async (): Promise<Authentication> => verdict;

describe("authenticate", () => {
  it("makes an absent credential anonymous, only where that is allowed", async () => {
    const absent = says({ kind: "absent" });
    await expect(authenticate(absent, { allowAnonymous: () => true })(facts)).resolves.toEqual({
      kind: "authenticated",
      user: { username: "system:anonymous", groups: ["system:unauthenticated"] },
    });
    await expect(authenticate(absent, { allowAnonymous: () => false })(facts)).resolves.toMatchObject({
      kind: "rejected",
    });
  });

  it("keeps a rejection, whether anonymous is allowed or not", async () => {
    const rejected = says({ kind: "rejected", reason: "expired" });
    for (const allowAnonymous of [true, false]) {
      await expect(authenticate(rejected, { allowAnonymous: () => allowAnonymous })(facts)).resolves.toEqual({
        kind: "rejected",
        reason: "expired",
      });
    }
  });

  it("passes an outage on and does not fall back to anonymous", async () => {
    const broken = (): Promise<Authentication> => Promise.reject(new TypeError("down"));
    await expect(authenticate(broken, { allowAnonymous: () => true })(facts)).rejects.toThrow("down");
  });
});

describe("addAuthenticatedGroup", () => {
  it("puts the group last", () => {
    expect(addAuthenticatedGroup({ username: "a", groups: ["z", "b"] }).groups).toEqual([
      "z",
      "b",
      "system:authenticated",
    ]);
  });

  it.each([
    ["anonymous", anonymous],
    ["anonymous without groups", { username: "system:anonymous", groups: [] }],
    ["a member already", { username: "a", groups: ["system:authenticated", "b"] }],
    ["somebody unauthenticated", { username: "a", groups: ["system:unauthenticated"] }],
  ])("leaves %s as it is", (_name, user) => expect(addAuthenticatedGroup(user)).toEqual(user));

  it("touches successes only", async () => {
    const rejected: Authentication = { kind: "rejected", reason: "no" };
    await expect(withAuthenticatedGroup(says(rejected))(facts)).resolves.toEqual(rejected);
    await expect(withAuthenticatedGroup(says({ kind: "absent" }))(facts)).resolves.toEqual({ kind: "absent" });
  });
});
