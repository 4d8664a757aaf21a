import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RequestFacts } from "./authenticator.ts";
import { bearer, parseBearer, type TokenAuthenticator } from "./bearer.ts";
import { headerText } from "./header-text.ts";

const facts = (authorization: string | undefined): RequestFacts => ({ authorization, peerCertificates: [] });
const api = { audiences: ["api"] };
const alice = { username: "alice", groups: [] };
const knows =
  (...tokens: string[]): TokenAuthenticator =>
  async (token) =>
    tokens.includes(token) ? { kind: "authenticated", user: alice, until: 5 } : { kind: "absent" };

describe("parseBearer", () => {
  it.each([
    ["Bearer abc", "abc"],
    ["bEARER abc", "abc"],
    ["  Bearer abc\t", "abc"],
    ["Bearer abc def ghi", "abc"],
    ["Bearer abc ", "abc"],
    ["Bearer a\u0000b", "a\u0000b"],
    ["Bearer \u00c3\u00bc", "ü"],
  ])("reads %j", (header, token) => expect(parseBearer(header)).toBe(token));

  it.each([
    undefined,
    "",
    " ",
    "Bearer",
    "Bearer ",
    "Bearer  abc",
    "Bearer\tabc",
    "Basic YTpi",
    "Token abc",
    "Bearerabc",
    "Bearer\u00a0abc",
    "\u0000Bearer abc",
    "Béarer abc",
  ])("finds no token in %j", (header) => expect(parseBearer(header)).toBeUndefined());

  it("never throws and never finds an empty token", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const header = `Bearer ${text}`;
        expect(parseBearer(header)).not.toBe("");
        expect(parseBearer(text)).not.toBe("");
      }),
    );
  });

  it("reads a header of a megabyte", () => {
    expect(parseBearer(`Bearer ${"a".repeat(1_000_000)}`)).toHaveLength(1_000_000);
    expect(parseBearer(" ".repeat(1_000_000))).toBeUndefined();
    expect(parseBearer(`Bearer x${" ".repeat(1_000_000)}y`)).toBe("x");
  });
});

describe("headerText", () => {
  it("leaves alone what is not UTF-8, and what is no longer bytes", () => {
    for (const value of ["\u00fc", "a\u00c3", "\u00ff\u00fe", "\u00c3\u00bc\u0100", "plain\u0000"]) {
      expect(headerText(value)).toBe(value);
    }
  });

  it("gives back what a client in Go sent", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        expect(headerText(Buffer.from(text, "utf8").toString("latin1"))).toBe(text);
      }),
    );
  });
});

describe("bearer", () => {
  it("takes the first member that knows the token, and hands its expiry on with the credential", async () => {
    await expect(bearer(api, knows("a"), knows("b"))(facts("Bearer b"))).resolves.toEqual({
      kind: "authenticated",
      user: alice,
      audiences: ["api"],
      credential: { username: alice.username, ids: [], until: 5 },
    });
  });

  it("is absent without a token", async () => {
    await expect(bearer(api, knows("a"))(facts("Basic a"))).resolves.toEqual({ kind: "absent" });
  });

  it.each([
    ["nobody knows", bearer(api, knows("a"))],
    ["no member could know", bearer(api)],
  ])("rejects a token that %s", async (_name, judge) => {
    await expect(judge(facts("Bearer b"))).resolves.toEqual({ kind: "rejected", reason: "invalid bearer token" });
  });

  it("passes an outage on instead of judging", async () => {
    const broken: TokenAuthenticator = () => Promise.reject(new TypeError("down"));
    await expect(bearer(api, broken, knows("a"))(facts("Bearer a"))).rejects.toThrow("down");
  });
});

describe("the audiences of a token", () => {
  const judge = bearer({ audiences: ["api", "hub"] }, async (token) =>
    token === "plain"
      ? { kind: "authenticated", user: alice }
      : { kind: "authenticated", user: alice, audiences: token.split(",") },
  );
  const ask = (token: string, audiences?: readonly string[]) =>
    judge({ ...facts(`Bearer ${token}`), ...(audiences === undefined ? {} : { audiences }) });

  it.each([
    ["a token for the API", "api", undefined, ["api"]],
    ["a token for several, where one is asked for", "vault,other", ["other", "third"], ["other"]],
    ["a token that names nobody, asked for the API", "plain", ["hub"], ["hub"]],
    ["a token that names nobody", "plain", undefined, ["api", "hub"]],
  ])("let in %s", async (_name, token, asked, audiences) => {
    await expect(ask(token, asked)).resolves.toEqual({ kind: "authenticated", user: alice, audiences });
  });

  it.each([
    ["a token for another service", "vault", undefined, '["vault"] is invalid for the target audiences ["api" "hub"]'],
    ["a token for the API where another service asks", "api", ["vault"], '["api"] is invalid for the target audiences'],
    ["a prefix of an audience", "ap", undefined, '["ap"] is invalid'],
    ["an audience in other letters", "API", undefined, '["API"] is invalid'],
    ["a token that names nobody where another service asks", "plain", ["vault"], "invalid bearer token"],
    ["any token where nobody asks", "api", [], '["api"] is invalid for the target audiences []'],
  ])("keep out %s", async (_name, token, asked, reason) => {
    const verdict = await ask(token, asked);
    expect(verdict).toMatchObject({ kind: "rejected", reason: expect.stringContaining(reason) as string });
  });
});
