import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { unsignedToken } from "../../../test/kits/service-account-token.ts";
import { tokenClaims } from "./token-claims.ts";

describe("the claims of a token", () => {
  test("are read without its signature", () => {
    expect(tokenClaims(unsignedToken())).toEqual({
      namespace: "vms",
      serviceAccount: "vm-1",
      audiences: ["https://hub.example"],
      issuedAt: Date.UTC(2026, 10, 21),
      expiresAt: Date.UTC(2026, 10, 21, 1),
    });
    expect(tokenClaims(unsignedToken({ aud: "one" }))?.audiences).toEqual(["one"]);
    expect(tokenClaims(unsignedToken({ aud: undefined }))?.audiences).toEqual(["https://hub.example"]);
  });

  const payload = (text: string): string => `e30.${Buffer.from(text).toString("base64url")}.c2ln`;
  test.each([
    ["of nobody", unsignedToken({ sub: 7 })],
    ["of a person", unsignedToken({ sub: "ada" })],
    ["of an account in no namespace", unsignedToken({ sub: "system:serviceaccount::vm-1" })],
    ["of no account", unsignedToken({ sub: "system:serviceaccount:vms:" })],
    ["whose account is a path", unsignedToken({ sub: "system:serviceaccount:vms:../../x" })],
    ["whose account is ..", unsignedToken({ sub: "system:serviceaccount:vms:.." })],
    ["whose account holds a query", unsignedToken({ sub: "system:serviceaccount:vms:a?b" })],
    ["whose namespace is a path", unsignedToken({ sub: "system:serviceaccount:a/b:vm-1" })],
    ["with a part too many", unsignedToken({ sub: "system:serviceaccount:vms:vm-1:x" })],
    ["that ends before it begins", unsignedToken({ issuedAt: 2000, expiresAt: 2000 })],
    ["without times", payload('{"sub":"system:serviceaccount:vms:vm-1"}')],
    ["with a time that is none", payload('{"sub":"system:serviceaccount:vms:vm-1","iat":1,"exp":1e400}')],
    ["that is no object", payload("null")],
    ["that is no JSON", payload("{")],
    ["in two parts", "e30.e30"],
    ["with a line break", `${unsignedToken()}\n`],
    ["that is far too long", `${unsignedToken()}${"a".repeat(70_000)}`],
    ["that is nothing", ""],
  ])("are none in one %s", (_title, token) => {
    expect(tokenClaims(token)).toBeUndefined();
  });

  test("never throw", () => {
    const part = fc.oneof(fc.json(), fc.string()).map((text) => Buffer.from(text).toString("base64url"));
    fc.assert(
      fc.property(part, part, (head, body) => {
        expect(() => [tokenClaims(`${head}.${body}.x`), tokenClaims(body)]).not.toThrow();
      }),
      { numRuns: 200 },
    );
  });
});
