import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { claimMapping } from "./claim-mapping.ts";
import type { JwtIssuer } from "./configuration.ts";

const base: JwtIssuer = {
  url: "https://id.example",
  discoveryUrl: undefined,
  caPem: undefined,
  audiences: ["fleet"],
  claimRules: [],
  username: { claim: "sub", prefix: "x:" },
  groups: { claim: "groups", prefix: "g:" },
  uid: undefined,
  extra: [],
  userRules: [],
};

describe("the mapping of claims", () => {
  it.each([
    ["a list of groups", { sub: "ada", groups: ["a", "", "b"] }, ["g:a", "g:b"]],
    ["one group as a text", { sub: "ada", groups: "a" }, ["g:a"]],
    ["no groups", { sub: "ada" }, []],
  ])("takes %s", (_what, claims, groups) => {
    expect(claimMapping(base)(claims)).toEqual({ kind: "user", user: { username: "x:ada", groups } });
  });

  it.each([
    ["no name", {}],
    ["an empty name", { sub: "" }],
    ["a name that is a number", { sub: 7 }],
    ["groups that are an object", { sub: "ada", groups: { a: 1 } }],
    ["a group that is a number", { sub: "ada", groups: ["a", 1] }],
  ])("refuses %s", (_what, claims) => {
    expect(claimMapping(base)(claims)).toMatchObject({ kind: "refused" });
  });

  it("takes an address for a name only if nothing says that it is unproven", () => {
    const map = claimMapping({ ...base, username: { claim: "email", prefix: "" } });
    expect(map({ email: "a@b" })).toMatchObject({ kind: "user" });
    expect(map({ email: "a@b", email_verified: true })).toMatchObject({ kind: "user" });
    for (const email_verified of [false, "true", null, 1]) {
      expect(map({ email: "a@b", email_verified })).toEqual({ kind: "refused", reason: "email not verified" });
    }
  });

  it("tells the message of the rule that failed", () => {
    const claimRules = [{ expression: "claims.level > 2", message: "too low" }];
    const map = claimMapping({ ...base, claimRules });
    expect(map({ sub: "ada", level: 3 })).toMatchObject({ kind: "user" });
    expect(map({ sub: "ada", level: 2 })).toMatchObject({
      kind: "refused",
      reason: expect.stringContaining("too low") as string,
    });
    expect(map({ sub: "ada" })).toMatchObject({ kind: "refused" });
  });

  it("judges the user that comes out, prefixes and all", () => {
    const userRules = [{ expression: "!user.groups.exists(g, g.startsWith('system:'))", message: "" }];
    const map = claimMapping({ ...base, groups: { claim: "groups", prefix: "" }, userRules });
    expect(map({ sub: "ada", groups: ["ops"] })).toMatchObject({ kind: "user" });
    expect(map({ sub: "ada", groups: ["system:masters"] })).toMatchObject({ kind: "refused" });
  });

  it("leaves out what an expression finds empty", () => {
    const map = claimMapping({
      ...base,
      extra: [
        { key: "a.example/none", expression: "''" },
        { key: "a.example/some", expression: "['b', '']" },
      ],
    });
    expect(map({ sub: "ada" })).toEqual({
      kind: "user",
      user: { username: "x:ada", groups: [], extra: { "a.example/some": ["b"] } },
    });
  });

  it("makes a user or a refusal of any claims", () => {
    const map = claimMapping({
      ...base,
      username: { expression: "claims.sub + claims.name" },
      claimRules: [{ expression: "claims.a.b[0] == 'c'", message: "" }],
    });
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (claims) => {
        expect(["user", "refused"]).toContain(map(claims).kind);
      }),
      { numRuns: 200 },
    );
  });
});
