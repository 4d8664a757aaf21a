import { describe, expect, it } from "vitest";
import type { TokenAuthentication, TokenAuthenticator } from "./bearer.ts";
import { cachedTokens } from "./token-cache.ts";

const alice: TokenAuthentication = { kind: "authenticated", user: { username: "alice", groups: [] } };

function counted(answer: () => TokenAuthentication): { member: TokenAuthenticator; asked: string[] } {
  const asked: string[] = [];
  const member: TokenAuthenticator = async (token) => {
    asked.push(token);
    return answer();
  };
  return { member, asked };
}

describe("cachedTokens", () => {
  it("remembers a success for ten seconds", async () => {
    let now = 1000;
    const { member, asked } = counted(() => alice);
    const judge = cachedTokens(member, { now: () => now });
    await judge("a");
    now = 10_999;
    await expect(judge("a")).resolves.toEqual(alice);
    expect(asked).toHaveLength(1);
    now = 11_000;
    await judge("a");
    expect(asked).toHaveLength(2);
  });

  it.each([{ kind: "absent" }, { kind: "rejected", reason: "no" }] as const)(
    "never remembers $kind",
    async (answer) => {
      const { member, asked } = counted(() => answer);
      const judge = cachedTokens(member, { now: () => 0 });
      await judge("a");
      await expect(judge("a")).resolves.toEqual(answer);
      expect(asked).toHaveLength(2);
    },
  );

  it("forgets a success at the moment when its token expires", async () => {
    let now = 0;
    const { member, asked } = counted(() => ({ ...alice, until: 3000 }));
    const judge = cachedTokens(member, { now: () => now });
    await judge("a");
    now = 2999;
    await judge("a");
    expect(asked).toHaveLength(1);
    now = 3000;
    await judge("a");
    expect(asked).toHaveLength(2);
    await judge("a");
    expect(asked).toHaveLength(3);
  });

  it("does not live longer because the clock went back", async () => {
    let now = 100_000;
    const { member, asked } = counted(() => alice);
    const judge = cachedTokens(member, { now: () => now });
    await judge("a");
    now = 50_000;
    await judge("a");
    expect(asked).toHaveLength(2);
  });

  it("does not take one token for another", async () => {
    const judge = cachedTokens(async (token) => (token === "a" ? alice : { kind: "absent" }), { now: () => 0 });
    await judge("a");
    for (const other of ["", "A", "a\u0000", "aa", "__proto__"]) {
      await expect(judge(other)).resolves.toEqual({ kind: "absent" });
    }
  });

  it("keeps no more than its capacity, and drops the oldest", async () => {
    const { member, asked } = counted(() => alice);
    const judge = cachedTokens(member, { now: () => 0, capacity: 2 });
    for (const token of ["a", "b", "c", "c", "b", "a"]) {
      await judge(token);
    }
    expect(asked).toEqual(["a", "b", "c", "a"]);
  });
});
