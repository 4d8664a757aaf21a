import * as fc from "fast-check";
import type { ClientHttp2Session } from "node:http2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { encodeContinueToken } from "../../src/apimachinery/continue-token.ts";
import { openHttp2, sendHttp2, type WireReply } from "../kits/wire.ts";
import { answer, refusal } from "./verdict.ts";
import { call, startAttackedHub, type AttackedHub } from "./attacked-hub.ts";
import { checkHubAfterEach } from "./check-hub-after-each.ts";

let hub: AttackedHub;
let session: ClientHttp2Session;
let lister: ClientHttp2Session;
const configMaps = "/api/v1/namespaces/default/configmaps";
const target = `${configMaps}/target`;
const runs = { numRuns: 200, seed: 20261121 } as const;

beforeAll(async () => {
  hub = await startAttackedHub();
  session = await openHttp2(hub.target, hub.admin);
  lister = await openHttp2(hub.target, hub.as("lister"));
  for (const name of ["target", "second", "third"]) {
    await call(hub, hub.admin, {
      path: configMaps,
      body: { metadata: { name, labels: { a: "b" } }, data: { a: "1", b: "2" } },
    });
  }
  const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
  const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list", "watch"] }];
  await call(hub, hub.admin, { path: `${rbac}/roles`, body: { metadata: { name: "lister" }, rules } });
  const subjects = [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "lister" }];
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "lister" };
  await call(hub, hub.admin, {
    path: `${rbac}/rolebindings`,
    body: { metadata: { name: "lister" }, subjects, roleRef },
  });
});
afterAll(async () => {
  session.destroy();
  lister.destroy();
  await hub.close();
});
checkHubAfterEach(() => hub);

const get = (path: string, headers: readonly (readonly [string, string])[] = []): Promise<WireReply> =>
  sendHttp2(session, { path, headers });

describe("selectors", () => {
  test.each([
    "=",
    "a=b=c",
    "a==b==c",
    "a in",
    "a in (",
    "a in ()b",
    "a in (b",
    "a notin b",
    "!",
    "!!a",
    "!a=b",
    "a b",
    "a,,b=",
    "(a)",
    "a in (b))",
    "-=b",
    "a=-",
    "a/b/c=d",
    "/a=b",
    "a=b c",
    "a>b",
    "a>1<2",
    "ключ=значение",
    `a=${"x".repeat(64)}`,
    `${"x".repeat(64)}=a`,
    "a=b\0",
    "in in (in",
    ")",
    "x in (a,(b))",
  ])("of labels like %j are refused", async (selector) => {
    for (const suffix of ["", "&watch=true", "&limit=1"]) {
      expect(refusal(await get(`${configMaps}?labelSelector=${encodeURIComponent(selector)}${suffix}`))).toBe(
        "refused",
      );
    }
  });

  test.each([
    "metadata.name",
    "=x",
    "metadata.name=a=b",
    "metadata.name=a\\",
    "metadata.name=\\x",
    "metadata.name>a",
    "status.phase=x",
    "constructor=x",
    "__proto__=x",
    "data.a=1",
    "metadata.labels.a=b",
    "metadata.name=a,b",
    "METADATA.NAME=a",
  ])("of fields like %j are refused", async (selector) => {
    for (const suffix of ["", "&watch=true"]) {
      expect(refusal(await get(`${configMaps}?fieldSelector=${encodeURIComponent(selector)}${suffix}`))).toBe(
        "refused",
      );
    }
  });

  test("of any text are answered", async () => {
    const piece = fc.constantFrom(
      "a",
      "b",
      "=",
      "==",
      "!=",
      "!",
      ",",
      " in ",
      " notin ",
      "(",
      ")",
      " ",
      "/",
      ".",
      "\\",
      ">",
      "<",
      "metadata.name",
      "x-y_z",
      "\u00e9",
      "\0",
      "%",
    );
    const text = fc.oneof(
      fc.string({ unit: "binary", maxLength: 40 }),
      fc.array(piece, { maxLength: 12 }).map((parts) => parts.join("")),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom("labelSelector", "fieldSelector"), text, async (name, selector) => {
        expect(answer(await get(`${configMaps}?${name}=${encodeURIComponent(selector)}`))).toBe("answered");
      }),
      runs,
    );
  });

  test("with ten thousand terms are answered", async () => {
    const terms = Array.from({ length: 4000 }, (_, index) => `a!=${index}`).join(",");
    expect(answer(await get(`${configMaps}?labelSelector=${terms}`))).toBe("answered");
    expect(
      answer(
        await get(
          `${configMaps}?labelSelector=a in (${Array.from({ length: 8000 }, (_, index) => index).join(",")})`.replaceAll(
            " ",
            "%20",
          ),
        ),
      ),
    ).toBe("answered");
    expect(answer(await get(`${configMaps}?labelSelector=${"(".repeat(30_000)}`))).toBe("answered");
    expect(answer(await get(`${configMaps}?fieldSelector=${"%5C".repeat(10_000)}`))).toBe("answered");
  });
});

describe("continue tokens", () => {
  const list = (token: string, by = session): Promise<WireReply> =>
    sendHttp2(by, { path: `${configMaps}?limit=1&continue=${encodeURIComponent(token)}` });
  const base64 = (text: string): string => Buffer.from(text).toString("base64url");
  const form = (value: object): string =>
    base64(
      JSON.stringify({ v: "meta.k8s.io/v1", rv: 5, start: "/registry/core/configmaps/default/a\u0000", ...value }),
    );

  async function good(): Promise<string> {
    const { metadata } = JSON.parse((await get(`${configMaps}?limit=1`)).text) as {
      readonly metadata: { readonly continue?: string };
    };
    return metadata.continue ?? "";
  }

  test.each([
    ["no base64", "%%%%"],
    ["base64 of no JSON", base64("hello")],
    ["a number", base64("5")],
    ["null", base64("null")],
    ["a list", base64("[]")],
    ["another version", form({ v: "v2" })],
    ["no revision", form({ rv: null })],
    ["a revision of 0", form({ rv: 0 })],
    ["a negative revision", form({ rv: -2 })],
    ["half a revision", form({ rv: 1.5 })],
    ["a revision that is a text", form({ rv: "5" })],
    ["a revision beyond exact numbers", form({ rv: 2 ** 60 })],
    ["a revision that is still to come", form({ rv: 2 ** 40 })],
    ["no start", form({ start: "" })],
    ["a start that is a number", form({ start: 5 })],
    ["a start in another namespace", form({ start: "/registry/core/configmaps/kube-system/a\u0000" })],
    ["a start in another kind", form({ start: "/registry/core/secrets/kube-system/a\u0000" })],
    ["a start above", form({ start: "/registry/\u0000" })],
    ["a start beside", form({ start: "/registry/core/configmaps/default" })],
    ["a start with dots", form({ start: "/registry/core/configmaps/default/../../secrets/kube-system\u0000" })],
    ["a relative start", form({ start: "../../secrets" })],
    ["a NUL inside", form({ start: "/registry/core/configmaps/default/a\u0000b\u0000" })],
    ["eight thousand letters", "A".repeat(8000)],
    ["deep nesting", base64("[".repeat(2900))],
    ["__proto__", base64('{"__proto__":{"v":"meta.k8s.io/v1","rv":5,"start":"x"}}')],
  ])("with %s are refused", async (_name, token) => {
    expect(refusal(await list(token))).toBe("refused");
  });

  test("lead nobody beyond the list that is allowed", async () => {
    const secrets = await get("/api/v1/secrets");
    expect(secrets.status).toBe(200);
    for (const start of [
      "/registry/core/secrets/kube-system/",
      "/registry/core/secrets/",
      "/registry/core/configmaps/kube-system/a",
      "/registry/core/configmaps/default/",
      "/registry/core/configmaps/",
      "/registry/core/configmaps/default/target",
      "/",
    ]) {
      for (const revision of [-1, 1, 5, 50]) {
        const reply = await list(encodeContinueToken({ revision, after: start }), lister);
        expect(reply.text).not.toMatch(/"kind":"Secret|kube-root-ca|cluster-info/);
        expect(answer(reply)).toBe("answered");
      }
    }
  });

  test("with any change are answered", async () => {
    const token = await good();
    expect(token).not.toBe("");
    expect((await list(token)).status).toBe(200);
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: token.length - 1 }),
        fc.base64String({ minLength: 1, maxLength: 8 }),
        fc.boolean(),
        async (at, inserted, cut) => {
          expect(answer(await list(token.slice(0, at) + inserted + token.slice(cut ? at + inserted.length : at)))).toBe(
            "answered",
          );
        },
      ),
      runs,
    );
  });
});

describe("parameters", () => {
  test.each([
    "limit=-x",
    "limit=x",
    "limit=1.5",
    "limit=1e3",
    "limit=99999999999999999999",
    "limit=0x10",
    "limit=%00",
    "resourceVersion=x",
    "resourceVersion=-1",
    "resourceVersion=1.5",
    "resourceVersion=01",
    "resourceVersion=1e3",
    "resourceVersion=%20",
    "resourceVersionMatch=Exact",
    "resourceVersionMatch=x&resourceVersion=1",
    "resourceVersionMatch=Exact&resourceVersion=0",
    "sendInitialEvents=true",
    "watch=true&sendInitialEvents=true",
    "watch=true&timeoutSeconds=x",
    "watch=true&timeoutSeconds=1.5",
    "watch=true&resourceVersion=x",
    "watch=true&resourceVersionMatch=Exact&resourceVersion=1",
  ])("like %s are refused", async (query) => {
    expect(refusal(await get(`${configMaps}?${query}`))).toBe("refused");
  });

  test.each([
    "dryRun=x",
    "dryRun=All&dryRun=x",
    "fieldValidation=x",
    "fieldValidation=strict",
    `fieldManager=${"x".repeat(129)}`,
    "fieldManager=%00",
    "fieldManager=a%0ab",
  ])("of writes like %s are refused", async (query) => {
    const headers = [["content-type", "application/json"]] as const;
    const body = JSON.stringify({ metadata: { name: "new" } });
    expect(refusal(await sendHttp2(session, { method: "POST", path: `${configMaps}?${query}`, headers, body }))).toBe(
      "refused",
    );
    expect(
      refusal(
        await sendHttp2(session, {
          method: "PUT",
          path: `${target}?${query}`,
          headers,
          body: JSON.stringify({ metadata: { name: "target" } }),
        }),
      ),
    ).toBe("refused");
  });

  test("that nobody knows, in any number and encoding, are passed over", async () => {
    const many = Array.from({ length: 5000 }, (_, index) => `a${index}=b`).join("&");
    for (const query of [
      "__proto__=1",
      "constructor=x",
      "timeout=32s",
      "%zz=%zz",
      "%ff=%fe",
      "&&&&",
      "=",
      "a[]=1&a[b]=c",
      "?",
      many,
    ]) {
      expect([query.slice(0, 20), (await get(`${configMaps}?${query}`)).status]).toEqual([query.slice(0, 20), 200]);
    }
  });

  test("of any kind and value are answered", async () => {
    const name = fc.constantFrom(
      "limit",
      "continue",
      "resourceVersion",
      "resourceVersionMatch",
      "labelSelector",
      "fieldSelector",
      "pretty",
      "includeObject",
      "allowWatchBookmarks",
      "sendInitialEvents",
      "timeoutSeconds",
    );
    const value = fc.oneof(
      fc.constantFrom("", "0", "1", "true", "false", "x", "Exact", "NotOlderThan", "Object", "%", "a=b"),
      fc.string({ unit: "binary", maxLength: 10 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(name, value), { maxLength: 5 }), async (parameters) => {
        const query = new URLSearchParams(parameters).toString();
        expect(answer(await get(`${configMaps}?${query}`))).toBe("answered");
      }),
      runs,
    );
  });
});

describe("paths and headers", () => {
  test.each(["/api/v1/%zz", "/api/v1/%", "/api/v1/namespaces/%ff/configmaps", "/api/v1/%c0%af", "/%E0%80%80"])(
    "the path %s is refused",
    async (path) => {
      expect(refusal(await get(path))).toBe("refused");
    },
  );

  test.each([
    "/api/constructor",
    "/apis/__proto__",
    "/apis/__proto__/v1",
    "/apis/a/b",
    "/openapi",
    "/openapi/v4",
    "/openapi/v3/constructor",
    "/openapi/v3/apis/__proto__/v1",
    "/healthz/__proto__",
    "/readyz/constructor",
    "/version/x",
    "/metrics/x",
    "/__proto__",
    "/constructor",
    "/toString/x",
    "/api/v1/constructor",
    "/api/v1/__proto__",
    "/apis/__proto__/__proto__/__proto__",
    "/favicon.ico",
    "/.git/config",
    "/..",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/api/v1/namespaces/default/configmaps/target/log",
  ])("there is nothing behind %s", async (path) => {
    expect([(await get(path)).status, refusal(await get(path))]).toEqual([404, "refused"]);
  });

  test("paths of sixty thousand slashes are answered", async () => {
    for (const path of [
      `/openapi/${"/".repeat(60_000)}x`,
      `${"/".repeat(60_000)}x`,
      `/api/v1/${"a/".repeat(30_000)}`,
      `/healthz${"/".repeat(60_000)}`,
      `/api/v1/${"%2f".repeat(20_000)}`,
    ]) {
      expect(answer(await get(path))).toBe("answered");
    }
  });

  test.each([
    "text/html",
    "application/x",
    "constructor",
    "__proto__",
    "application/json;as=Table;g=meta.k8s.io;v=v9",
    "application/json;as=__proto__;g=meta.k8s.io;v=v1",
    "application/json;q=0",
    "application/json;q=-1",
    ";",
    "application/json;as=Table",
  ])("the Accept header %s is refused with 406", async (accept) => {
    expect((await get(target, [["accept", accept]])).status).toBe(406);
  });

  test("Accept headers of any text are answered", async () => {
    const piece = fc.constantFrom(
      "application/json",
      "application/yaml",
      "application/vnd.kubernetes.protobuf",
      "*/*",
      "*",
      ";",
      ",",
      "as=Table",
      "as=PartialObjectMetadata",
      "g=meta.k8s.io",
      "v=v1",
      "q=",
      "0.5",
      "1e9",
      "NaN",
      "pretty=1",
      " ",
      "=",
      '"',
      "application/json;as=Table;g=meta.k8s.io;v=v1",
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { maxLength: 10 }),
        fc.constantFrom(target, configMaps, "/apis", "/openapi/v2", "/version", "/readyz"),
        async (parts, path) => {
          expect(answer(await get(path, [["accept", parts.join("")]]))).toBe("answered");
        },
      ),
      runs,
    );
    expect(answer(await get(target, [["accept", "a,".repeat(30_000)]]))).toBe("answered");
    expect(answer(await get(target, [["accept", ";a=b".repeat(15_000)]]))).toBe("answered");
  });

  test("nobody makes the metrics grow by asking for what is not there", async () => {
    const anybody = await openHttp2(hub.target);
    const invent = async (from: number, to: number): Promise<number> => {
      for (let index = from; index < to; index += 1) {
        await sendHttp2(anybody, { path: `/api/v1/thing${index}` });
        await sendHttp2(anybody, { method: `VERB${index}`, path: `/apis/group${index}/v1/thing` });
        await sendHttp2(anybody, { method: `VERB${index}`, path: `/path${index}` });
      }
      const lines = (await get("/metrics")).body.toString().split("\n");
      // What requests are counted in; the series of collections and queues come when they come.
      return lines.filter((line) => /^(?:apiserver|authenticat|authoriz)/.test(line)).length;
    };
    // The first ones make the series of refusals; all that follow are counted in those.
    await invent(0, 10);
    // A scrape is counted once it has been answered.
    const before = await invent(10, 11);
    const after = await invent(11, 500);
    anybody.destroy();
    expect(after - before).toBeLessThan(5);
  });
});

test("the object at the end is what it was before", async () => {
  const { json } = await call(hub, hub.admin, { path: target });
  expect(json).toMatchObject({ metadata: { name: "target", labels: { a: "b" } }, data: { a: "1", b: "2" } });
});
