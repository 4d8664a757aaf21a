import { afterEach, describe, expect, test } from "vitest";
import { type JsonService, type ServiceReply, startJsonService } from "../../../test/kits/json-service.ts";
import { unsignedToken } from "../../../test/kits/service-account-token.ts";
import { renewToken, type Renewal } from "./renew-token.ts";
import { tokenClaims, type TokenClaims } from "../proof/token-claims.ts";
import { wallClock } from "../../host/system-clock.ts";

const token = unsignedToken({ id: "old" });
const claims = tokenClaims(token) as TokenClaims;
let service: JsonService;

afterEach(() => service.close());

async function renewed(answer: (audiences: unknown) => ServiceReply): Promise<Renewal> {
  service = await startJsonService(({ body }) => answer((body as { spec: { audiences?: unknown } }).spec.audiences));
  const { url: server, caPem } = service;
  return renewToken({ server, caPem, token, claims, clock: wallClock, userAgent: "test" });
}

const given = (next: string): ServiceReply => ({ status: 201, body: { status: { token: next } } });

describe("asking for the next token", () => {
  test("is done with the token itself, for the same account and life", async () => {
    const next = unsignedToken({ id: "new" });
    expect(await renewed(() => given(next))).toEqual({ kind: "renewed", token: next, claims: tokenClaims(next) });
    expect(service.seen).toMatchObject([
      {
        method: "POST",
        path: "/api/v1/namespaces/vms/serviceaccounts/vm-1/token",
        headers: { authorization: `Bearer ${token}` },
        body: { kind: "TokenRequest", spec: { expirationSeconds: 3600 } },
      },
    ]);
  });

  test("names the audiences where the hub would give others unasked", async () => {
    const same = unsignedToken({ id: "new" });
    const other = unsignedToken({ aud: ["https://elsewhere.example"] });
    expect(await renewed((audiences) => given(audiences === undefined ? other : same))).toMatchObject({ token: same });
    expect(service.seen.map(({ body }) => (body as { spec: object }).spec)).toEqual([
      { expirationSeconds: 3600 },
      { expirationSeconds: 3600, audiences: ["https://hub.example"] },
    ]);
  });

  test.each([
    ["401", { status: 401, body: {} }, { code: "unauthorized" }],
    [
      "403",
      { status: 403, body: { kind: "Status", message: "no\u001b[2J" } },
      { code: "refused", message: "the hub gives no token (403): no [2J" },
    ],
    ["500 without a Status", { status: 500, body: "x" }, { code: "refused" }],
    ["no token", { status: 201, body: { status: {} } }, { message: "the hub's answer holds no token" }],
    ["nothing", { status: 201, body: null }, { message: "the hub's answer holds no token" }],
    ["what is no token", given("abc\ndef"), { message: "the hub's answer holds no token" }],
    [
      "a token of another account",
      given(unsignedToken({ sub: "system:serviceaccount:vms:vm-2" })),
      { message: "the hub's answer holds a token of another account" },
    ],
  ])("fails when the hub gives %s", async (_title, answer, expected) => {
    expect(await renewed(() => answer)).toMatchObject({ kind: "failed", ...expected });
  });

  test("says nothing to a server that is not of the CA", async () => {
    service = await startJsonService(() => given(token));
    const { url: server } = service;
    const other = await startJsonService(() => given(token));
    const renewal = await renewToken({
      server,
      caPem: other.caPem,
      token,
      claims,
      clock: wallClock,
      userAgent: "test",
    });
    await other.close();
    expect(renewal).toMatchObject({ kind: "failed", code: "unreachable" });
    expect(service.seen).toEqual([]);
  });
});
