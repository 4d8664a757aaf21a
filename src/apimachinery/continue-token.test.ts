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
    ["", ": unexpected end of JSON input"],
    ["!", ": illegal base64 data at input byte 0"],
    ["YQ==", ": illegal base64 data at input byte 2"],
    ["Y", ": illegal base64 data at input byte 0"],
    [" YWE", ": illegal base64 data at input byte 0"],
    ["_w", ": unexpected end of JSON input"],
    [encoded("text"), ": the token is not a JSON object"],
    [encoded(null), ": the token is not a JSON object"],
    [encoded({}), ": server does not recognize this encoded version "],
    [forged({ v: "v2" }), ": server does not recognize this encoded version v2"],
    [forged({ v: "v".repeat(100) }), `: server does not recognize this encoded version ${"v".repeat(64)}`],
    ...[0, -2, 1.5, "1", null, 1e300].map((rv) => [
      forged({ rv }),
      ": incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
    ]),
    ...["", null, 1].map((start) => [forged({ start }), ": encoded start key empty (version meta.k8s.io/v1)"]),
    ...["../secrets/a", "a/../../b", "a//b", "./a", "//a", "a/", "/", "a\u0000b"].map((start) => [
      forged({ start }),
      `: ${start}`,
    ]),
    ["a".repeat(5_000), ": the token is too long"],
  ])("%.60s", (token, why) => {
    const message = `invalid continue token: continue key is not valid${why}`;
    expect(() => decodeContinueToken(token ?? "")).toThrow(new StatusError("BadRequest", message));
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
