import { createHmac, generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ApiObject } from "../apimachinery/object.ts";
import { generatePrivateKey, loadPublicKeys } from "../pki/keys.ts";
import type { Fields } from "../apis/json-fields.ts";
import { bearer } from "./bearer.ts";
import { boundClaims, legacyClaims, type TokenOrder } from "./service-account-claims.ts";
import { distinctKeys, jsonWebKeySet, tokenKey, tokenSigner } from "./service-account-keys.ts";
import { serviceAccountTokens, type TokenKind } from "./service-account-token.ts";

const issuer = "https://kubernetes.default.svc";
const start = 1_795_232_000;
const key = generatePrivateKey();
const older = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
const stranger = generatePrivateKey();
const order: TokenOrder = {
  issuer,
  namespace: "apps",
  serviceAccount: { name: "robot", uid: "sa-1" },
  audiences: [issuer],
  issuedAt: start,
  expiresAt: start + 3600,
  id: "id-1",
};

function stored(uid: string, more: Partial<ApiObject["metadata"]> = {}, fields: Fields = {}): ApiObject {
  return { apiVersion: "v1", kind: "Any", metadata: { uid, ...more }, ...fields };
}

/** A small world that a token is judged in: objects by `Kind namespace/name`, and a clock. */
function world(keys: readonly KeyObject[] = [key]) {
  const objects = new Map<string, ApiObject>([["ServiceAccount apps/robot", stored("sa-1")]]);
  const state = { now: start * 1000 };
  const judge = serviceAccountTokens({
    issuers: [issuer, "https://old.example"],
    keys: keys.map(tokenKey),
    lookup: (kind: TokenKind, namespace, name) => objects.get(`${kind} ${namespace}/${name}`),
    now: () => state.now,
  });
  return { objects, state, judge };
}

const signed = (claims: Fields, by: KeyObject = key): Promise<string> => tokenSigner(by)(claims);
const minted = (changes: Partial<TokenOrder> = {}): Promise<string> => signed(boundClaims({ ...order, ...changes }));
const json = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A compact JWS with any header, signed by hand. */
function forged(header: Fields, claims: Fields, signature: (input: Buffer) => Buffer): string {
  const input = `${json(header)}.${json(claims)}`;
  return `${input}.${signature(Buffer.from(input)).toString("base64url")}`;
}

const es256 =
  (by: KeyObject) =>
  (input: Buffer): Buffer =>
    sign("sha256", input, { key: by, dsaEncoding: "ieee-p1363" });

describe("a token of a ServiceAccount", () => {
  it("names the account, its groups, and itself", async () => {
    await expect(world().judge(await minted())).resolves.toEqual({
      kind: "authenticated",
      user: {
        username: "system:serviceaccount:apps:robot",
        uid: "sa-1",
        groups: ["system:serviceaccounts", "system:serviceaccounts:apps"],
        extra: { "authentication.kubernetes.io/credential-id": ["JTI=id-1"] },
      },
      audiences: [issuer],
      until: (start + 3600 + 60) * 1000,
    });
  });

  it("tells the pod it is bound to, and the pod's node", async () => {
    const { objects, judge } = world();
    objects.set("Pod apps/web", stored("pod-1"));
    const token = await minted({ pod: { name: "web", uid: "pod-1" }, node: { name: "n1", uid: "node-1" } });
    await expect(judge(token)).resolves.toMatchObject({
      user: {
        extra: {
          "authentication.kubernetes.io/credential-id": ["JTI=id-1"],
          "authentication.kubernetes.io/pod-name": ["web"],
          "authentication.kubernetes.io/pod-uid": ["pod-1"],
          "authentication.kubernetes.io/node-name": ["n1"],
          "authentication.kubernetes.io/node-uid": ["node-1"],
        },
      },
    });
  });

  it.each([
    ["59 seconds before it begins, since clocks differ", -59, "authenticated"],
    ["61 seconds before it begins", -61, "rejected"],
    ["59 seconds after its end, since clocks differ", 3659, "authenticated"],
    ["61 seconds after its end", 3661, "rejected"],
  ])("is judged %s", async (_name, seconds, kind) => {
    const { state, judge } = world();
    state.now += seconds * 1000;
    await expect(judge(await minted())).resolves.toMatchObject({ kind });
  });

  it("counts under every key and every issuer that is configured", async () => {
    const { judge } = world([key, older]);
    await expect(judge(await signed(boundClaims(order), older))).resolves.toMatchObject({ kind: "authenticated" });
    const old = await minted({ issuer: "https://old.example" });
    await expect(judge(old)).resolves.toMatchObject({ kind: "authenticated" });
    await expect(world([older]).judge(old)).resolves.toMatchObject({ reason: "invalid signature, no keys found" });
  });

  it("without a kid is tried against all keys", async () => {
    const token = forged({ alg: "ES256" }, boundClaims(order), es256(key));
    await expect(world([stranger, older, key]).judge(token)).resolves.toMatchObject({ kind: "authenticated" });
    await expect(world([stranger, older]).judge(token)).resolves.toMatchObject({ kind: "rejected" });
  });

  it("is none of ours when it is of another issuer, or no token at all", async () => {
    const { judge } = world();
    const other = await minted({ issuer: "https://kubernetes.default.svc.evil" });
    for (const text of [other, "abc", "a.b.c", "..", "abcdef.0123456789abcdef", `${json({})}.${json([])}.x`]) {
      await expect(judge(text)).resolves.toEqual({ kind: "absent" });
    }
  });

  it("never throws, whatever the text", async () => {
    const { judge } = world();
    const part = fc.oneof(fc.string(), fc.jsonValue().map(json), fc.constant(json({ iss: issuer })));
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 4 }), async (parts) => {
        expect((await judge(parts.join("."))).kind).not.toBe("authenticated");
      }),
    );
  });
});

describe("what a token stands on", () => {
  const deletedAt = (seconds: number) => ({ deletionTimestamp: new Date((start - seconds) * 1000).toISOString() });
  const bindings: readonly (readonly [TokenKind, string, Partial<TokenOrder>])[] = [
    ["Pod", "Pod apps/x", { pod: { name: "x", uid: "u-1" } }],
    ["Secret", "Secret apps/x", { secret: { name: "x", uid: "u-1" } }],
    ["Node", "Node /x", { node: { name: "x", uid: "u-1" } }],
  ];

  describe.each(bindings)("the %s that a token is bound to", (kind, at, binding) => {
    it.each([
      ["exists", stored("u-1"), "authenticated", undefined],
      ["is missing", undefined, "rejected", "service account token has been invalidated"],
      ["is another one of the same name", stored("u-2"), "rejected", `${kind.toLowerCase()} UID (u-2) does not match`],
      ["was marked for deletion 30 s ago", stored("u-1", deletedAt(30)), "authenticated", undefined],
      ["was marked for deletion 61 s ago", stored("u-1", deletedAt(61)), "rejected", "has been invalidated"],
      ["is marked with what is no time", stored("u-1", { deletionTimestamp: "x" }), "rejected", "has been invalidated"],
    ] as const)("decides when it %s", async (_name, object, verdict, reason) => {
      const { objects, judge } = world();
      if (object !== undefined) objects.set(at, object);
      const found = await judge(await minted(binding));
      expect([found.kind, "reason" in found ? found.reason : ""]).toEqual([
        verdict,
        expect.stringContaining(reason ?? "") as string,
      ]);
    });

    it("must be named with its uid", async () => {
      const { objects, judge } = world();
      objects.set(at, stored(""));
      const nameless = Object.fromEntries(Object.keys(binding).map((field) => [field, { name: "x", uid: "" }]));
      await expect(judge(await minted(nameless))).resolves.toMatchObject({ kind: "rejected" });
    });
  });

  it("is the account itself, marked or gone", async () => {
    const { objects, judge } = world();
    const token = await minted();
    objects.set("ServiceAccount apps/robot", stored("sa-1", deletedAt(61)));
    await expect(judge(token)).resolves.toMatchObject({ reason: "service account has been deleted" });
    objects.delete("ServiceAccount apps/robot");
    await expect(judge(token)).resolves.toMatchObject({ reason: 'serviceaccounts "robot" not found' });
  });
});

describe("attack: signatures and algorithms", () => {
  const claims = boundClaims(order);
  const { kid } = tokenKey(key);
  const publicPem = tokenKey(key).key.export({ type: "spki", format: "pem" });

  it.each([
    ["alg none, without a signature", `${json({ alg: "none", kid })}.${json(claims)}.`],
    ["alg none, with something for a signature", forged({ alg: "none", kid }, claims, () => Buffer.from("x"))],
    [
      "alg HS256, with the public key for a secret",
      forged({ alg: "HS256", kid }, claims, (input) => createHmac("sha256", publicPem).update(input).digest()),
    ],
    [
      "alg RS256 with the kid of an EC key",
      forged({ alg: "RS256", kid }, claims, (input) => sign("sha256", input, older)),
    ],
    ["the kid of another key", forged({ alg: "ES256", kid }, claims, es256(stranger))],
    [
      "a key of its own in the header",
      forged({ alg: "ES256", jwk: stranger.export({ format: "jwk" }) }, claims, es256(stranger)),
    ],
    ["a kid that is no text", forged({ alg: "ES256", kid: [kid] }, claims, es256(key))],
    ["a critical header that nobody knows", forged({ alg: "ES256", kid, crit: ["x"], x: 1 }, claims, es256(key))],
    ["a signature in DER", forged({ alg: "ES256", kid }, claims, (input) => sign("sha256", input, key))],
    ["a signature of zeros", forged({ alg: "ES256", kid }, claims, () => Buffer.alloc(64))],
    ["no bytes of signature but one", forged({ alg: "ES256", kid }, claims, () => Buffer.alloc(1))],
    ["ES384 over a P-256 key", forged({ alg: "ES384", kid }, claims, es256(key))],
  ])("%s", async (_name, token) => {
    const { judge } = world([key, older]);
    expect((await judge(token)).kind).not.toBe("authenticated");
  });

  it("claims that were changed after signing", async () => {
    const [header, , signature] = (await minted()).split(".");
    const other = json(boundClaims({ ...order, namespace: "kube-system" }));
    await expect(world().judge(`${header}.${other}.${signature}`)).resolves.toMatchObject({ kind: "rejected" });
  });

  it("signature malleability: another spelling of the same bytes is another token, and is refused", async () => {
    const token = await minted();
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    // 64 bytes leave four bits of the last letter unused.
    const twin = `${token.slice(0, -1)}${alphabet[alphabet.indexOf(token.at(-1) ?? "") ^ 1]}`;
    expect(Buffer.from(twin.split(".")[2] ?? "", "base64url")).toEqual(
      Buffer.from(token.split(".")[2] ?? "", "base64url"),
    );
    const { judge } = world();
    await expect(judge(twin)).resolves.toMatchObject({ kind: "rejected" });
    for (const text of [`${token}=`, ` ${token}`, `${token}\n`, token.replaceAll(".", ". ")]) {
      await expect(judge(text)).resolves.toEqual({ kind: "absent" });
    }
  });

  it("signature malleability: the mirrored signature speaks for nobody else, and dies with the same account", async () => {
    const [header = "", claimsPart = "", signature = ""] = (await minted()).split(".");
    const bytes = Buffer.from(signature, "base64url");
    const n = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
    const s = n - BigInt(`0x${bytes.subarray(32).toString("hex")}`);
    const mirrored = Buffer.concat([bytes.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, "0"), "hex")]);
    const twin = `${header}.${claimsPart}.${mirrored.toString("base64url")}`;
    const { objects, judge } = world();
    await expect(judge(twin)).resolves.toMatchObject({ user: { username: "system:serviceaccount:apps:robot" } });
    objects.clear();
    await expect(judge(twin)).resolves.toMatchObject({ kind: "rejected" });
  });

  it("oversize: a token longer than any header is not looked at", async () => {
    const token = await signed({ ...claims, filler: "x".repeat(13_000) });
    expect(token.length).toBeGreaterThan(16_384);
    await expect(world().judge(token)).resolves.toEqual({ kind: "absent" });
  });
});

describe("attack: claims that are signed and still wrong", () => {
  const own = (boundClaims(order)["kubernetes.io"] ?? {}) as Fields;

  it.each([
    ["the subject of another account", { sub: "system:serviceaccount:apps:admin" }],
    ["a subject of another namespace", { sub: "system:serviceaccount:kube-system:robot" }],
    ["no audience", { aud: [] }],
    ["an audience that is no list", { aud: issuer }],
    ["an audience that is no text", { aud: [issuer, 1] }],
    ["no end", { exp: undefined }],
    ["an end that is text", { exp: "9999999999" }],
    ["no beginning", { nbf: undefined }],
    ["no time of issue", { iat: undefined }],
    ["a pod without a name", { "kubernetes.io": { ...own, pod: { uid: "pod-1" } } }],
    ["a secret that is null", { "kubernetes.io": { ...own, secret: null } }],
    ["an account without a uid", { "kubernetes.io": { ...own, serviceaccount: { name: "robot" } } }],
    ["nothing of Kubernetes", { "kubernetes.io": undefined }],
    ["the issuer of tokens in Secrets", { iss: "kubernetes/serviceaccount" }],
  ])("%s", async (_name, changes) => {
    const token = await signed({ ...boundClaims(order), ...changes });
    await expect(world().judge(token)).resolves.toMatchObject({ kind: "rejected" });
  });

  it("expired: seen once while it held, it is refused the moment its time is over", async () => {
    const { state, judge } = world();
    const token = await minted({ expiresAt: start + 5 });
    state.now += 64_000;
    await expect(judge(token)).resolves.toMatchObject({ kind: "authenticated" });
    state.now += 2_000;
    await expect(judge(token)).resolves.toEqual({ kind: "rejected", reason: "service account token has expired" });
  });

  it("wrong audience: a token for another service is refused by the API", async () => {
    const { judge } = world();
    const api = bearer({ audiences: [issuer] }, judge);
    const token = await minted({ audiences: ["vault"] });
    await expect(api({ authorization: `Bearer ${token}`, peerCertificates: [] })).resolves.toEqual({
      kind: "rejected",
      reason: `token audiences ["vault"] is invalid for the target audiences ["${issuer}"]`,
    });
  });

  it("deleted and made again: the token of the first account is worth nothing to the second, cached or not", async () => {
    const { objects, judge } = world();
    const token = await minted();
    await expect(judge(token)).resolves.toMatchObject({ kind: "authenticated" });
    objects.set("ServiceAccount apps/robot", stored("sa-2"));
    const refusal = { kind: "rejected", reason: "service account UID (sa-2) does not match claim (sa-1)" };
    await expect(judge(token)).resolves.toEqual(refusal);
    await expect(world([key]).judge(token)).resolves.toMatchObject({ kind: "authenticated" });
  });

  it("bound pod deleted: the token ends at once, though its signature is remembered", async () => {
    const { objects, judge } = world();
    objects.set("Pod apps/web", stored("pod-1"));
    const token = await minted({ pod: { name: "web", uid: "pod-1" } });
    await expect(judge(token)).resolves.toMatchObject({ kind: "authenticated" });
    objects.delete("Pod apps/web");
    await expect(judge(token)).resolves.toMatchObject({ kind: "rejected" });
  });
});

describe("a token from a Secret", () => {
  const claims = legacyClaims({ namespace: "apps", secret: "robot-token", serviceAccount: order.serviceAccount });
  const holding = (token: string, more: Partial<ApiObject["metadata"]> = {}): ApiObject =>
    stored("s-1", more, { data: { token: Buffer.from(token).toString("base64") } });

  it("speaks for its account while the Secret holds exactly it, for the audiences of the API", async () => {
    const { objects, judge } = world();
    const token = await signed(claims);
    objects.set("Secret apps/robot-token", holding(token));
    const verdict = await judge(token);
    expect(verdict).toEqual({
      kind: "authenticated",
      user: {
        username: "system:serviceaccount:apps:robot",
        uid: "sa-1",
        groups: ["system:serviceaccounts", "system:serviceaccounts:apps"],
      },
      // By the Secret it can be revoked: it has no id.
      credential: { username: "system:serviceaccount:apps:robot", ids: [], secret: "apps/robot-token" },
    });
  });

  it.each([
    ["the Secret is gone", undefined, stored("sa-1"), "has been invalidated"],
    [
      "the Secret is being deleted",
      { deletionTimestamp: "2026-11-21T00:00:00Z" },
      stored("sa-1"),
      "has been invalidated",
    ],
    [
      "the token was taken out of use",
      { labels: { "kubernetes.io/legacy-token-invalid-since": "2026-01-01" } },
      stored("sa-1"),
      "has been invalidated",
    ],
    ["the account is gone", {}, undefined, "not found"],
    [
      "the account is being deleted",
      {},
      stored("sa-1", { deletionTimestamp: "2026-11-21T00:00:00Z" }),
      "has been deleted",
    ],
    ["the account is another one", {}, stored("sa-2"), "does not match claim"],
  ] as const)("is refused when %s", async (_name, secret, account, reason) => {
    const { objects, judge } = world();
    const token = await signed(claims);
    if (secret !== undefined) objects.set("Secret apps/robot-token", holding(token, secret));
    if (account === undefined) objects.delete("ServiceAccount apps/robot");
    else objects.set("ServiceAccount apps/robot", account);
    const verdict = await judge(token);
    expect(verdict).toMatchObject({ kind: "rejected", reason: expect.stringContaining(reason) as string });
  });

  it("is refused when the Secret holds another token of the same account", async () => {
    const { objects, judge } = world();
    objects.set("Secret apps/robot-token", holding(await signed(claims)));
    await expect(judge(await signed(claims))).resolves.toMatchObject({
      reason: "token does not match the server's copy",
    });
  });

  it.each(["sub", "kubernetes.io/serviceaccount/secret.name", "kubernetes.io/serviceaccount/service-account.uid"])(
    "is refused without its claim %s",
    async (claim) => {
      const { objects, judge } = world();
      const token = await signed({ ...claims, [claim]: undefined });
      objects.set("Secret apps/robot-token", holding(token));
      await expect(judge(token)).resolves.toMatchObject({ kind: "rejected" });
    },
  );
});

describe("the keys of tokens", () => {
  it("are named as a kube-apiserver names them", () => {
    const pem = [
      "-----BEGIN PUBLIC KEY-----",
      "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAu5Ad6uRwFT3twVzQRorP",
      "QdQYmF+ab+VNx+XloroVv2c2tj8yfi8QWOLF+V/89qH2SQ9wAx9UWOPVUR1NkR/s",
      "YTf0ojn+YayMGYLjMwFBq5qF71Huoc54NKfBQsB1RvcQk5RLHjeE+33owz9XBH1Q",
      "LE7UFOwcRsj0D2ekflUCprHkpF+QX0FtwZeWSfsZ3/QxQNQoxOnIMVu02+MCxeXC",
      "EyOrBTneXOzaTrlvN7Rw4P5UJFtnc87uANmqD0C+eNZ2OxM1LYDxPZNJPW+UMjnT",
      "FFT0I+az9rOJvHa18cICxjOc0RSFZQ1Pe2AuXRJl1S6hgokbsV9u7u00yxT4XvnZ",
      "SwIDAQAB",
      "-----END PUBLIC KEY-----",
    ].join("\n");
    expect(loadPublicKeys(pem).map(tokenKey)).toMatchObject([
      { kid: "loDyRkoszNpS6QzJ7SlJfhIrrI5FUW7l7lx27APl8y8", alg: "RS256" },
    ]);
  });

  it("are published without anything private", () => {
    const set = jsonWebKeySet(distinctKeys([key, older, key].map(tokenKey)));
    expect(set.keys.map((one) => [one["kty"], one["alg"], one["use"]])).toEqual([
      ["EC", "ES256", "sig"],
      ["RSA", "RS256", "sig"],
    ]);
    expect(
      set.keys.flatMap((one) => Object.keys(one)).filter((name) => ["d", "p", "q", "dp", "dq", "qi"].includes(name)),
    ).toEqual([]);
  });

  it("are no Ed25519 keys", () => {
    expect(() => tokenKey(generateKeyPairSync("ed25519").privateKey)).toThrow("Ed25519");
  });
});
