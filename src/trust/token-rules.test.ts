import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ApiObject } from "../apimachinery/object.ts";
import { tokenSecret } from "./token-secret.ts";
import { authenticateToken, isExpired, tokenLifetime, validForSigning, parseRfc3339 } from "./token-rules.ts";
import { rfc3339 } from "../apimachinery/clock.ts";

const text = "abcdef.0123456789abcdef";
const token = { id: "abcdef", secret: "0123456789abcdef" };
const now = Date.UTC(2026, 10, 21);
const good = tokenSecret({
  token,
  now,
  groups: ["system:bootstrappers:z", "system:bootstrappers:a", "system:bootstrappers:z"],
});

function withData(changes: Record<string, string | undefined>, base: ApiObject = good): ApiObject {
  const data = Object.entries({ ...(base["data"] as object), ...encoded(changes) }).filter(
    ([, value]) => value !== undefined,
  );
  return { ...base, data: Object.fromEntries(data) };
}

function encoded(changes: Record<string, string | undefined>): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(changes).map(([key, value]) => [
      key,
      value === undefined ? undefined : Buffer.from(value).toString("base64"),
    ]),
  );
}

describe("authenticateToken", () => {
  it("gives the user, its sorted groups without duplicates, and the moment of expiry", () => {
    expect(authenticateToken(text, good, now)).toEqual({
      kind: "authenticated",
      user: {
        username: "system:bootstrap:abcdef",
        groups: ["system:bootstrappers", "system:bootstrappers:a", "system:bootstrappers:z"],
      },
      until: now + 86_400_000,
    });
  });

  it("gives the base group alone and no end where the Secret names neither groups nor expiration", () => {
    const secret = withData({ "auth-extra-groups": undefined, expiration: undefined });
    expect(authenticateToken(text, secret, now)).toEqual({
      kind: "authenticated",
      user: { username: "system:bootstrap:abcdef", groups: ["system:bootstrappers"] },
    });
  });

  const deleting = { ...good, metadata: { ...good.metadata, deletionTimestamp: "2026-11-21T00:00:00Z" } };
  it.each([
    ["text that is no token", "abcdef.", good, "not-a-token"],
    ["a token with a trailing newline", `${text}\n`, good, "not-a-token"],
    ["a token without a Secret", text, undefined, "unknown"],
    ["a Secret under deletion", text, deleting, "deleting"],
    ["another type", text, { ...good, type: "Opaque" }, "wrong-type"],
    ["no type", text, { ...good, type: undefined }, "wrong-type"],
    ["no data", text, { ...good, data: null }, "wrong-type"],
    ["another secret", "abcdef.0123456789abcdee", good, "wrong-secret"],
    ["a Secret without a secret", text, withData({ "token-secret": undefined }), "wrong-secret"],
    ["another id inside", text, withData({ "token-id": "abcdeg" }), "wrong-id"],
    ["an expiration of just now", text, withData({ expiration: "2026-11-21T00:00:00Z" }), "expired"],
    ["an expiration that cannot be read", text, withData({ expiration: "never" }), "expired"],
    ["no usage", text, withData({ "usage-bootstrap-authentication": undefined }), "wrong-usage"],
    ["a usage of True", text, withData({ "usage-bootstrap-authentication": "True" }), "wrong-usage"],
    [
      "one invalid group among good ones",
      text,
      withData({ "auth-extra-groups": "system:bootstrappers:a,system:masters" }),
      "invalid-group",
    ],
    [
      "a blank after the comma",
      text,
      withData({ "auth-extra-groups": "system:bootstrappers:a, system:bootstrappers:b" }),
      "invalid-group",
    ],
    ["a trailing comma", text, withData({ "auth-extra-groups": "system:bootstrappers:a," }), "invalid-group"],
    ["the bare group", text, withData({ "auth-extra-groups": "system:bootstrappers" }), "invalid-group"],
  ] as const)("refuses %s", (_name, presented, secret, why) => {
    expect(authenticateToken(presented, secret, now)).toEqual({ kind: "refused", why });
  });

  it("checks in the documented order", () => {
    const wrongs: [string, Partial<Record<string, string | undefined>>][] = [
      ["wrong-secret", { "token-secret": "x" }],
      ["wrong-id", { "token-id": "x" }],
      ["expired", { expiration: "x" }],
      ["wrong-usage", { "usage-bootstrap-authentication": "x" }],
      ["invalid-group", { "auth-extra-groups": "x" }],
    ];
    for (const [at, [why]] of wrongs.entries()) {
      const secret = withData(Object.assign({}, ...wrongs.slice(at).map(([, change]) => change)));
      expect(authenticateToken(text, secret, now)).toEqual({ kind: "refused", why });
    }
    expect(wrongs).toHaveLength(5);
  });
});

describe("validForSigning", () => {
  it("gives id and secret, of any shape that is not empty", () => {
    expect(validForSigning(good, now)).toEqual(token);
    expect(validForSigning(withData({ "token-secret": "short" }), now)).toEqual({ id: "abcdef", secret: "short" });
  });

  it.each([
    ["another name", { ...good, metadata: { name: "bootstrap-token-abcdeg" } }],
    ["a name with more behind it", { ...good, metadata: { name: "bootstrap-token-abcdef-1" } }],
    ["another type", { ...good, type: "Opaque" }],
    ["no id", withData({ "token-id": undefined })],
    ["no secret", withData({ "token-secret": "" })],
    ["an expired token", withData({ expiration: "2026-11-20T23:59:59Z" })],
    ["no signing usage", withData({ "usage-bootstrap-signing": "TRUE" })],
  ])("refuses %s", (_name, secret) => expect(validForSigning(secret, now)).toBeUndefined());
});

describe("expiry", () => {
  it("takes empty for never and unreadable for already", () => {
    expect(isExpired("", now)).toBe(false);
    expect(isExpired("soon", now)).toBe(true);
    expect(isExpired("2026-11-21T00:00:01Z", now)).toBe(false);
    expect(isExpired("2026-11-21T00:00:00Z", now)).toBe(true);
    expect(isExpired("2026-11-21T00:00:01Z", Number.NaN)).toBe(true);
  });

  it("tells the cleaner what is left, whatever the usages", () => {
    const unused = { "usage-bootstrap-signing": undefined, "usage-bootstrap-authentication": undefined };
    expect(tokenLifetime(withData(unused), now)).toEqual({ kind: "expires", afterMs: 86_400_000 });
    expect(tokenLifetime(withData({ expiration: undefined }), now)).toEqual({ kind: "forever" });
    expect(tokenLifetime(withData({ expiration: "x" }), now)).toEqual({ kind: "expired" });
  });
});

describe("parseRfc3339", () => {
  it.each([
    ["2026-11-21T02:05:49Z", Date.UTC(2026, 10, 21, 2, 5, 49)],
    ["2026-11-21T02:05:49+01:30", Date.UTC(2026, 10, 21, 0, 35, 49)],
    ["2026-11-21T02:05:49-01:30", Date.UTC(2026, 10, 21, 3, 35, 49)],
    ["2026-11-21T02:05:49.1239999999999Z", Date.UTC(2026, 10, 21, 2, 5, 49, 123)],
    ["2026-11-21T02:05:49,5Z", Date.UTC(2026, 10, 21, 2, 5, 49, 500)],
    ["2026-11-21T2:05:49Z", Date.UTC(2026, 10, 21, 2, 5, 49)],
    ["2024-02-29T00:00:00Z", Date.UTC(2024, 1, 29)],
    ["0001-01-01T00:00:00Z", -62_135_596_800_000],
  ])("reads %s", (text, expected) => expect(parseRfc3339(text)).toBe(expected));

  it.each([
    "",
    "tomorrow",
    "2026-11-21",
    "2026-11-21T02:05:49",
    "2026-11-21 02:05:49Z",
    "2026-11-21t02:05:49z",
    " 2026-11-21T02:05:49Z",
    "2026-11-21T02:05:49Z\n",
    "2026-11-21T02:05:49.Z",
    "2026-11-21T02:05:60Z",
    "2026-11-21T24:00:00Z",
    "2026-02-29T00:00:00Z",
    "2026-00-10T00:00:00Z",
    "2026-13-10T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-11-21T02:05:49+0130",
    "2026-11-21T02:05:49+25:00",
    "+002026-11-21T02:05:49Z",
    "1795226749",
    `2026-11-21T02:05:49.${"1".repeat(1000)}Z`,
  ])("refuses %j", (text) => expect(parseRfc3339(text)).toBeUndefined());

  it("reads back every time that the API writes", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 253_402_300_799 }), (seconds) => {
        expect(parseRfc3339(rfc3339(seconds * 1000))).toBe(seconds * 1000);
      }),
    );
  });
});
