import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeContinueToken, encodeContinueToken } from "./continue-token.ts";
import { StatusError } from "./status.ts";

test("is base64url without padding of Kubernetes' JSON", () => {
  const token = encodeContinueToken({ revision: 42, after: "default/web" });
  expect(token).toBe(
    Buffer.from(String.raw`{"v":"meta.k8s.io/v1","rv":42,"start":"default/web\u0000"}`).toString("base64url"),
  );
});

test("decoding gives back what was encoded", () => {
  const segment = fc.string({ unit: "grapheme", minLength: 1 }).filter((one) => !/[/\0]|^\.{1,2}$/.test(one));
  fc.assert(
    fc.property(
      fc.oneof(fc.constant(-1), fc.integer({ min: 1 })),
      fc.array(segment, { minLength: 1, maxLength: 5 }),
      fc.constantFrom("", "/"),
      (revision, segments, slash) => {
        const token = { revision, after: slash + segments.join("/") };
        expect(decodeContinueToken(encodeContinueToken(token))).toEqual(token);
      },
    ),
  );
});

function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function forged(part: object): string {
  return encoded({ v: "meta.k8s.io/v1", rv: 1, start: "a/b\u0000", ...part });
}

describe("tokens that are refused", () => {
  test.each([
    ["", "continue key is not valid"],
    ["!", "continue key is not valid"],
    ["YQ==", "continue key is not valid"],
    ["Y", "continue key is not valid"],
    [" YWE", "continue key is not valid"],
    ["_w", "continue key is not valid"],
    [encoded("text"), "continue key is not valid"],
    [encoded(null), "continue key is not valid"],
    [encoded({}), "continue key is not valid: server does not recognize this encoded version"],
    [forged({ v: "v2" }), "continue key is not valid: server does not recognize this encoded version"],
    ...[0, -2, 1.5, "1", null, 1e300].map((rv) => [
      forged({ rv }),
      "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
    ]),
    ...["", null, 1].map((start) => [
      forged({ start }),
      "continue key is not valid: encoded start key empty (version meta.k8s.io/v1)",
    ]),
    ...["../secrets/a", "a/../../b", "a//b", "./a", "//a", "a/", "/", "a\u0000b"].map((start) => [
      forged({ start }),
      "continue key is not valid",
    ]),
    ["a".repeat(5_000), "continue key is not valid"],
  ])("%.60s", (token, message) => {
    expect(() => decodeContinueToken(token ?? "")).toThrow(new StatusError("BadRequest", message ?? ""));
  });

  test("any text decodes or is a bad request", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String(), fc.jsonValue().map(encoded)), (text) => {
        const outcome = ((): unknown => {
          try {
            return decodeContinueToken(text).revision;
          } catch (error) {
            return error instanceof StatusError ? error.reason : error;
          }
        })();
        expect(typeof outcome === "number" || outcome === "BadRequest").toBe(true);
      }),
    );
  });
});
