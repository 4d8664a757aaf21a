import { describe, expect, it } from "vitest";
import { StatusError } from "../apimachinery/status.ts";
import { webhookTokens } from "./webhook-tokens.ts";

const apiVersion = "authentication.k8s.io/v1";

function asked(answer: unknown): ReturnType<ReturnType<typeof webhookTokens>> {
  const post = async (): Promise<unknown> => {
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return webhookTokens({ version: "v1", post, audiences: ["api"], cacheMs: 1000, now: () => 0 })("t");
}

const review = (status: object): object => ({ kind: "TokenReview", apiVersion, status });

describe("a token webhook", () => {
  it("names the user, for the audiences it was asked about or says", async () => {
    const user = { username: "bob", groups: ["ops", 7], extra: { k: ["v"], bad: "x" } };
    expect(await asked(review({ authenticated: true, user }))).toEqual({
      kind: "authenticated",
      user: { username: "bob", groups: ["ops"], extra: { k: ["v"] } },
      audiences: ["api"],
    });
    expect(await asked(review({ authenticated: true, user, audiences: ["other"] }))).toMatchObject({
      audiences: ["other"],
    });
  });

  it("that says no without a word leaves the token to others", async () => {
    expect(await asked(review({ authenticated: false, user: { username: "bob" } }))).toEqual({ kind: "absent" });
    expect(await asked(review({}))).toEqual({ kind: "absent" });
  });

  it.each([
    ["says why not", review({ error: "expired" })],
    ["fails", new TypeError("down")],
    ["answers nothing", undefined],
    ["answers another kind", { kind: "Status", apiVersion: "v1", status: { authenticated: true } }],
    ["answers another version", { kind: "TokenReview", apiVersion: "authentication.k8s.io/v1beta1", status: {} }],
    ["names nobody", review({ authenticated: true })],
    ["names an empty user", review({ authenticated: true, user: { username: "" } })],
  ])("that %s rejects the token", async (_what, answer) => {
    expect(await asked(answer)).toMatchObject({ kind: "rejected" });
  });

  it("is asked about so many tokens at once and no more", async () => {
    let asked = 0;
    let answer = (): void => undefined;
    const gate = new Promise<void>((resolve) => (answer = resolve));
    const post = async (): Promise<unknown> => {
      asked += 1;
      await gate;
      return review({});
    };
    const tokens = webhookTokens({ version: "v1", post, audiences: ["api"], cacheMs: 1000, now: () => 0 });
    const flood = Array.from({ length: 300 }, (_, index) =>
      tokens(`t${index}`).catch((error: unknown) => (error instanceof StatusError ? error.reason : "thrown")),
    );
    answer();
    const verdicts = await Promise.all(flood);
    expect(asked).toBe(256);
    expect(verdicts.filter((verdict) => verdict === "TooManyRequests")).toHaveLength(44);
    expect(await tokens("later")).toEqual({ kind: "absent" });
  });

  it("takes nothing but true for yes", async () => {
    for (const authenticated of ["true", 1, {}, [true]]) {
      expect(await asked(review({ authenticated, user: { username: "bob" } }))).toEqual({ kind: "absent" });
    }
  });
});
