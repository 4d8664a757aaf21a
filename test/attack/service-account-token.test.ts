import { createHmac, generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { generatePrivateKey, loadPrivateKey } from "../../src/pki/keys.ts";
import { call, identity, startAttackedHub, type ApiReply, type AttackedHub } from "./attacked-hub.ts";

type Claims = Readonly<Record<string, unknown>>;

let hub: AttackedHub;
/** The hub's own key, as if it had been stolen: what is signed with it must still be true. */
let hubKey: KeyObject;
let publicPem: string;
/** The parts of a good token. */
let header: Claims;
let claims: Claims;
let good: string;

const core = "/api/v1/namespaces/default";
const robot =
  "system:serviceaccount:default:robot (system:serviceaccounts system:serviceaccounts:default system:authenticated)";
const bearing = (token: string): Promise<string> => identity(hub, {}, [["Authorization", `Bearer ${token}`]]);
const asAdmin = (method: string, path: string, body?: object): Promise<ApiReply> =>
  call(hub, hub.admin, { method, path, body });
const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const decoded = (part: string | undefined): Claims =>
  JSON.parse(Buffer.from(part ?? "", "base64url").toString()) as Claims;

async function tokenOf(account: string, spec: object = {}): Promise<string> {
  const reply = await asAdmin("POST", `${core}/serviceaccounts/${account}/token`, { spec });
  return (reply.json["status"] as { readonly token: string }).token;
}

function forged(head: object, body: object, signer: (input: Buffer) => Buffer): string {
  const input = `${encoded(head)}.${encoded(body)}`;
  return `${input}.${signer(Buffer.from(input)).toString("base64url")}`;
}

const es256 =
  (key: KeyObject) =>
  (input: Buffer): Buffer =>
    sign("sha256", input, { key, dsaEncoding: "ieee-p1363" });

beforeAll(async () => {
  hub = await startAttackedHub();
  const pki = join(hub.dataDir, "pki");
  hubKey = loadPrivateKey(await readFile(join(pki, "sa.key"), "utf8"));
  publicPem = await readFile(join(pki, "sa.pub"), "utf8");
});
afterAll(() => hub.close());

beforeEach(async () => {
  await asAdmin("DELETE", `${core}/serviceaccounts/robot`);
  await asAdmin("POST", `${core}/serviceaccounts`, { metadata: { name: "robot" } });
  good = await tokenOf("robot");
  [header, claims] = [decoded(good.split(".")[0]), decoded(good.split(".")[1])] as [Claims, Claims];
});

test("the token that every attack starts from is good", async () => {
  expect(await bearing(good)).toBe(robot);
});

describe("algorithm confusion", () => {
  test("none is no algorithm, in any spelling, with or without a signature", async () => {
    for (const alg of ["none", "None", "NONE", "nOnE", "", null, undefined, ["ES256"], 0]) {
      const head = { ...header, alg };
      expect(await bearing(`${encoded(head)}.${encoded(claims)}.`)).toBe("401");
      expect(await bearing(forged(head, claims, es256(hubKey)))).toBe("401");
    }
  });

  test("the public key is no secret to make a MAC with, in whatever encoding", async () => {
    const der = Buffer.from(publicPem.replaceAll(/-----[^-]+-----|\s/g, ""), "base64");
    for (const secret of [publicPem, publicPem.trim(), der, der.toString("base64")]) {
      for (const alg of ["HS256", "HS384", "HS512"]) {
        const mac = (input: Buffer): Buffer =>
          createHmac(`sha${alg.slice(2)}`, secret)
            .update(input)
            .digest();
        expect(await bearing(forged({ ...header, alg }, claims, mac))).toBe("401");
      }
    }
  });

  test("another algorithm than the key's own is refused, though the key signed it", async () => {
    for (const [alg, hash] of [
      ["ES384", "sha384"],
      ["ES512", "sha512"],
      ["RS256", "sha256"],
      ["PS256", "sha256"],
    ] as const) {
      const signer = (input: Buffer): Buffer => sign(hash, input, { key: hubKey, dsaEncoding: "ieee-p1363" });
      expect(await bearing(forged({ ...header, alg }, claims, signer))).toBe("401");
    }
  });
});

describe("keys of others", () => {
  test("the kid of the hub does not make a stranger's signature good", async () => {
    expect(await bearing(forged(header, claims, es256(generatePrivateKey())))).toBe("401");
  });

  test("a key or certificate that a token brings along is not looked at", async () => {
    const stranger = generatePrivateKey();
    const jwk = stranger.export({ format: "jwk" });
    const { kid: _none, ...bare } = header;
    for (const more of [
      { jwk },
      { jwk, kid: "stranger" },
      { jku: "https://127.0.0.1:1/jwks" },
      { x5u: "https://127.0.0.1:1/x" },
      { x5c: [hub.authority.pem] },
      { kid: "../../../../dev/null" },
      { kid: "__proto__" },
    ]) {
      expect(await bearing(forged({ ...bare, ...more }, claims, es256(stranger)))).toBe("401");
    }
  });

  test("an RSA key of nobody is refused, with and without the hub's kid", async () => {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const signer = (input: Buffer): Buffer => sign("sha256", input, privateKey);
    expect(await bearing(forged({ alg: "RS256" }, claims, signer))).toBe("401");
    expect(await bearing(forged({ ...header, alg: "RS256" }, claims, signer))).toBe("401");
  });
});

describe("claims", () => {
  test("signed by the hub's own key still have to be true", async () => {
    const own = claims["kubernetes.io"] as Claims;
    const signed = (changes: object): string => forged(header, { ...claims, ...changes }, es256(hubKey));
    expect(await bearing(signed({}))).toBe(robot);
    for (const changes of [
      { sub: "system:serviceaccount:kube-system:namespace-controller" },
      { sub: "system:masters" },
      { iss: "https://elsewhere.example" },
      { iss: "kubernetes/serviceaccount" },
      { aud: ["vault"] },
      { aud: "https://kubernetes.default.svc" },
      { exp: undefined },
      { exp: 1 },
      { nbf: 99_999_999_999 },
      { iat: 99_999_999_999 },
      { "kubernetes.io": { ...own, namespace: "kube-system" } },
      { "kubernetes.io": { ...own, serviceaccount: { name: "robot", uid: "other" } } },
      { "kubernetes.io": { ...own, serviceaccount: { name: "robot" } } },
      { "kubernetes.io": { ...own, pod: { name: "missing", uid: "x" } } },
      { "kubernetes.io": { ...own, node: { name: "../default/robot", uid: "x" } } },
      { "kubernetes.io": [own] },
    ]) {
      expect([changes, await bearing(signed(changes))]).toEqual([changes, "401"]);
    }
  });

  test("add no groups, extras or other names to whom the token is of", async () => {
    const more = { groups: ["system:masters"], username: "admin", "system:masters": true, ["__proto__"]: { a: 1 } };
    expect(await bearing(forged(header, { ...claims, ...more }, es256(hubKey)))).toBe(robot);
  });
});

describe("time and life", () => {
  test("expired: refused after its hour and a minute for clocks, though it was just used", async () => {
    hub.shiftClock(3_655_000);
    const late = await bearing(good);
    hub.shiftClock(10_000);
    const over = await bearing(good);
    hub.shiftClock(-3_665_000);
    expect([late, over, await bearing(good)]).toEqual([robot, "401", robot]);
  });

  test("the token of an account that was deleted and made again is worth nothing to the new one", async () => {
    await asAdmin("DELETE", `${core}/serviceaccounts/robot`);
    expect(await bearing(good)).toBe("401");
    await asAdmin("POST", `${core}/serviceaccounts`, { metadata: { name: "robot" } });
    expect(await bearing(good)).toBe("401");
    expect(await bearing(await tokenOf("robot"))).toBe(robot);
  });

  test("the token of a pod is refused from the moment that the pod is gone", async () => {
    const pod = {
      metadata: { name: "web" },
      spec: { serviceAccountName: "robot", containers: [{ name: "c", image: "i" }] },
    };
    await asAdmin("POST", `${core}/pods`, pod);
    const bound = await tokenOf("robot", { boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "web" } });
    expect(await bearing(bound)).toBe(robot);
    await asAdmin("DELETE", `${core}/pods/web`, { gracePeriodSeconds: 0 });
    expect(await bearing(bound)).toBe("401");
    await asAdmin("POST", `${core}/pods`, pod);
    expect(await bearing(bound)).toBe("401");
    await asAdmin("DELETE", `${core}/pods/web`, { gracePeriodSeconds: 0 });
  });
});

describe("spelling and size", () => {
  test("signature malleability: no other spelling of a good token is good", async () => {
    const [head = "", body = "", signature = ""] = good.split(".");
    const standard = Buffer.from(signature, "base64url").toString("base64");
    for (const token of [
      `${good}=`,
      `${good}.`,
      `${good}.x`,
      `.${good}`,
      `${head}.${body}`,
      `${head}=.${body}.${signature}`,
      `${head}.${body}.${standard}`,
      `${head}.${body}.${signature}A`,
      `${head}.${body}.${signature.slice(0, -1)}`,
      `${encoded({ ...header, x: 1 })}.${body}.${signature}`,
      `${head}.${Buffer.from(` ${JSON.stringify(claims)}`).toString("base64url")}.${signature}`,
    ]) {
      expect([token, await bearing(token)]).toEqual([token, "401"]);
    }
  });

  test("oversize: a review as large as reviews may be is answered like any unknown token, a larger one with 413", async () => {
    const path = "/apis/authentication.k8s.io/v1/tokenreviews";
    const [head, body, signature] = good.split(".");
    for (const token of [
      "a".repeat(100_000),
      `${head}.${"A".repeat(100_000)}.${signature}`,
      `${head}.${body}.${"A".repeat(100_000)}`,
    ]) {
      const reply = await asAdmin("POST", path, { spec: { token } });
      expect([reply.status, reply.json["status"]]).toEqual([201, { user: {}, error: "invalid bearer token" }]);
    }
    expect((await asAdmin("POST", path, { spec: { token: "a".repeat(1 << 20) } })).status).toBe(413);
  });
});

describe("asking for more than one may", () => {
  test("a token gives no token of another account, and the right to write accounts none at all", async () => {
    const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    await asAdmin("POST", `${rbac}/roles`, {
      metadata: { name: "accounts" },
      rules: [{ apiGroups: [""], resources: ["serviceaccounts"], verbs: ["*"] }],
    });
    await asAdmin("POST", `${rbac}/rolebindings`, {
      metadata: { name: "accounts" },
      subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "keeper" }],
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "accounts" },
    });
    const path = `${core}/serviceaccounts/robot/token`;
    const wished = { audiences: ["https://kubernetes.default.svc"] };
    for (const [dial, headers] of [
      [hub.as("keeper"), []],
      [hub.as("system:node:n1", "system:nodes"), []],
      [{}, [["Authorization", `Bearer ${good}`]]],
      [{}, []],
    ] as const) {
      expect((await call(hub, dial, { path, body: { spec: wished }, headers })).status).toBe(403);
    }
  });

  test("the log holds no token and no key", () => {
    const log = JSON.stringify(hub.log);
    for (const secret of [good.split(".")[2] ?? "", "PRIVATE KEY", "eyJ"]) expect(log).not.toContain(secret);
  });
});
