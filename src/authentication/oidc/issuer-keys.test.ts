import { exportJWK, generateKeyPair, SignJWT, type JWK } from "jose";
import { compactVerify } from "jose/jws/compact/verify";
import { beforeAll, describe, expect, it } from "vitest";
import { issuerKeys, type IssuerKeys, type KeyFinder } from "./issuer-keys.ts";

const issuer = "https://id.example";
const minute = 60_000;
let pair: Awaited<ReturnType<typeof generateKeyPair>>;
let jwk: JWK;

beforeAll(async () => {
  pair = await generateKeyPair("ES256", { extractable: true });
  jwk = { ...(await exportJWK(pair.publicKey)), kid: "one", alg: "ES256" };
});

interface World {
  now: number;
  isDown: boolean;
  reads: number;
  discovery: unknown;
  keys: unknown;
}

function world(): { readonly state: World; readonly keys: IssuerKeys } {
  const state: World = {
    now: 0,
    isDown: false,
    reads: 0,
    discovery: { issuer, jwks_uri: `${issuer}/keys` },
    keys: { keys: [jwk] },
  };
  const fetchJson = async (url: string): Promise<unknown> => {
    state.reads += 1;
    if (state.isDown) throw new TypeError("down");
    return url.endsWith("/keys") ? state.keys : state.discovery;
  };
  return { state, keys: issuerKeys({ issuer, discoveryUrl: undefined, fetchJson, now: () => state.now }) };
}

async function verifies(find: Promise<KeyFinder>): Promise<boolean> {
  const token = await new SignJWT({}).setProtectedHeader({ alg: "ES256", kid: "one" }).sign(pair.privateKey);
  return compactVerify(token, await find, { algorithms: ["ES256"] }).then(
    () => true,
    () => false,
  );
}

describe("the keys of an issuer", () => {
  it("are read once, however many ask, and kept for ten minutes", async () => {
    const { state, keys } = world();
    await Promise.all([keys.current(), keys.current(), keys.current()]);
    state.now = 10 * minute - 1;
    expect(await verifies(keys.current())).toBe(true);
    expect(state.reads).toBe(2);
    state.now = 10 * minute;
    await keys.current();
    expect(state.reads).toBe(4);
  });

  it("are gone once the issuer has withdrawn them", async () => {
    const { state, keys } = world();
    await keys.current();
    state.keys = { keys: [{ ...jwk, kid: "two" }] };
    state.now = 10 * minute;
    expect(await verifies(keys.current())).toBe(false);
  });

  it("are believed for an hour while the issuer is down, and asked for every ten seconds", async () => {
    const { state, keys } = world();
    await keys.current();
    state.isDown = true;
    state.now = 59 * minute;
    expect(await verifies(keys.current())).toBe(true);
    expect(await verifies(keys.current())).toBe(true);
    expect(state.reads).toBe(3);
    state.now = 60 * minute;
    await expect(keys.current()).rejects.toThrow("cannot be read");
    await expect(keys.current()).rejects.toThrow("could not be read a moment ago");
    state.isDown = false;
    state.now += 10_001;
    expect(await verifies(keys.current())).toBe(true);
  });

  it("are read anew when the clock has gone back", async () => {
    const { state, keys } = world();
    state.now = 100 * minute;
    await keys.current();
    state.now = 0;
    await keys.current();
    expect(state.reads).toBe(4);
  });

  it("are not asked for again at once by tokens of keys that nobody knows", async () => {
    const { state, keys } = world();
    await keys.current();
    expect(await keys.renewed()).toBeUndefined();
    state.now = 10_001;
    expect(await keys.renewed()).toBeDefined();
    expect(await keys.renewed()).toBeUndefined();
    expect(state.reads).toBe(4);
  });

  it.each([
    ["another issuer", { issuer: "https://other.example", jwks_uri: `${issuer}/keys` }, undefined, "expected"],
    ["keys without TLS", { issuer, jwks_uri: "http://id.example/keys" }, undefined, "no https jwks_uri"],
    ["no keys", undefined, { keys: [] }, "0 usable keys"],
    ["shared secrets alone", undefined, { keys: [{ kty: "oct", k: "AAAA" }] }, "0 usable keys"],
    [
      "keys for encryption alone",
      undefined,
      { keys: [{ kty: "RSA", use: "enc", n: "AQ", e: "AQAB" }] },
      "0 usable keys",
    ],
    ["too many", undefined, { keys: Array.from({ length: 101 }, () => ({ kty: "RSA" })) }, "101 usable keys"],
    ["nonsense", "hello", "hello", "is of the issuer"],
  ])("are refused where the issuer offers %s", async (_what, discovery, offered, words) => {
    const { state, keys } = world();
    if (discovery !== undefined) state.discovery = discovery;
    if (offered !== undefined) state.keys = offered;
    await expect(keys.current()).rejects.toThrow(words);
  });
});
