import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  openTls,
  parseReply,
  protocols,
  requestBytes,
  send,
  sendFields,
  speak,
  type Dial,
  type WireRequest,
} from "../kits/wire.ts";
import { identity, startAttackedHub, type AttackedHub } from "./attacked-hub.ts";

let hub: AttackedHub;
beforeAll(async () => {
  hub = await startAttackedHub();
});
afterAll(() => hub.close());

const nobody = (): WireRequest["headers"] => [["Authorization", `Bearer ${hub.tokens.nobody}`]];
const requestFields: readonly (readonly [string, string])[] = [
  [":method", "GET"],
  [":scheme", "https"],
  [":authority", "localhost"],
  [":path", "/api/v1/namespaces/kube-system/secrets"],
];

describe.each(protocols)("over %s", (over) => {
  const who = (dial: Dial, headers: WireRequest["headers"]): Promise<string> =>
    identity(hub, { ...dial, over }, headers);

  describe("tokens", () => {
    test.each([
      ["unknown", "Bearer 0123456789"],
      ["of the right form for a bootstrap token", "Bearer abcdef.0123456789abcdef"],
      ["that is a prefix of a good one", "Bearer nobody-token"],
      ["that is a name of Object.prototype", "Bearer __proto__"],
      ["that is another name of Object.prototype", "Bearer constructor"],
      ["with letters beyond ASCII", "Bearer t\u00f6ken"],
      ["in UTF-8", `Bearer ${Buffer.from("ключ").toString("latin1")}`],
      ["with bytes that are not UTF-8", "Bearer \u00ff\u00fe\u0080"],
      ["with a tab", "Bearer a\tb"],
      ["of 6000 letters", `Bearer ${"x".repeat(6000)}`],
    ])("one %s is 401", async (_name, value) => {
      expect(await who({}, [["Authorization", value]])).toBe("401");
    });

    test("a good one with something attached is 401", async () => {
      for (const attached of ["x", ",", "%00", "\\0", "\u0080"]) {
        expect(await who({}, [["Authorization", `Bearer ${hub.tokens.operator}${attached}`]])).toBe("401");
      }
    });

    test("of any text never make anybody of anybody", async () => {
      const letter = fc.integer({ min: 0x20, max: 0xff }).filter((code) => code !== 0x7f);
      const text = fc.array(letter, { maxLength: 60 }).map((codes) => String.fromCharCode(...codes));
      const token = fc.stringMatching(/^[a-z0-9]{6}\.[a-z0-9]{16}$/);
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom("Bearer ", "bearer ", "BEARER  ", ""),
          fc.oneof(text, token),
          async (scheme, one) => {
            expect(["401", "anonymous"]).toContain(await who({}, [["Authorization", `${scheme}${one}`.trim()]]));
          },
        ),
        { numRuns: 60, seed: 20261121 },
      );
    });

    test("other schemes and empty tokens are as no credentials", async () => {
      const good = hub.tokens.operator;
      for (const value of [
        "Basic b3BlcmF0b3I6eA==",
        "Bearer",
        "Bearer ",
        `Bearer  ${good}`,
        `Bearer\t${good}`,
        good,
        "",
        `Digest ${good}`,
      ]) {
        expect([value, await who({}, [["Authorization", value]])]).toEqual([value, "anonymous"]);
      }
    });
  });

  describe("headers of proxies", () => {
    test.each([
      "X-Remote-User",
      "X-Remote-Uid",
      "X-Forwarded-User",
      "X-Forwarded-Client-Cert",
      "X-Client-Verify",
      "X-SSL-Client-Cert",
    ])("%s makes nobody anybody", async (name) => {
      const headers = [
        [name, "kubernetes-admin"],
        ["X-Remote-Group", "system:masters"],
        ["X-Remote-Extra-Scopes", "all"],
      ] as const;
      expect(await who({}, headers)).toBe("anonymous");
      expect(await who({}, [...headers, ...(nobody() ?? [])])).toBe("nobody (system:authenticated)");
    });
  });

  describe("impersonation", () => {
    test.each(["Impersonate-User", "impersonate-user", "IMPERSONATE-USER", "iMpErSoNaTe-uSeR"])(
      "by %s needs the right to it, under every spelling",
      async (name) => {
        const headers = [
          [name, "kubernetes-admin"],
          ["Impersonate-Group", "system:masters"],
        ] as const;
        for (const credentials of [[], nobody() ?? []]) {
          const reply = await send(
            hub.target,
            { path: "/api/v1/secrets", headers: [...headers, ...credentials] },
            { over },
          );
          expect(reply.status).toBe(403);
          expect(reply.text).toContain('cannot impersonate resource \\"users\\"');
        }
      },
    );

    test("of each part needs the right to that part", async () => {
      const admin = hub.as("part", "impersonators");
      for (const [name, value] of [
        ["Impersonate-Group", "system:masters"],
        ["impersonate-group", "system:masters"],
        ["Impersonate-Uid", "1"],
        ["Impersonate-Extra-Scopes", "all"],
        ["Impersonate-Extra-__proto__", "all"],
        ["impersonate-extra-%73copes", "all"],
      ] as const) {
        const reply = await send(
          hub.target,
          {
            path: "/api/v1/secrets",
            headers: [
              ["Impersonate-User", "jane"],
              [name, value],
            ],
          },
          { ...admin, over },
        );
        expect([name, reply.status]).toEqual([name, 403]);
      }
    });

    test("without a user, of two users, of an empty user and of two uids is 400, also for those who may", async () => {
      for (const headers of [
        [["Impersonate-Group", "system:masters"]],
        [["Impersonate-Uid", "1"]],
        [["Impersonate-Extra-Scopes", "all"]],
        [
          ["Impersonate-User", "jane"],
          ["Impersonate-User", "john"],
        ],
        [
          ["Impersonate-User", "jane"],
          ["impersonate-user", "jane"],
        ],
        [["Impersonate-User", ""]],
        [
          ["Impersonate-User", "jane"],
          ["Impersonate-Uid", "1"],
          ["Impersonate-Uid", "2"],
        ],
      ] as const) {
        const reply = await send(hub.target, { path: "/version", headers }, { ...hub.admin, over });
        expect([headers, reply.status, JSON.parse(reply.text).reason]).toEqual([headers, 400, "BadRequest"]);
      }
    });

    test("takes the rights away that the real user has", async () => {
      const headers = [["Impersonate-User", "jane"]] as const;
      expect((await send(hub.target, { path: "/api/v1/secrets", headers }, { ...hub.admin, over })).status).toBe(403);
      expect(await who(hub.admin, [...headers, ["Impersonate-Group", "a,b"], ["Impersonate-Group", "c"]])).toBe(
        "jane (a,b c system:authenticated)",
      );
    });

    test("as anonymous does not become authenticated", async () => {
      const reply = await send(
        hub.target,
        { path: "/api", headers: [["Impersonate-User", "system:anonymous"]] },
        { ...hub.admin, over },
      );
      expect(reply.status).toBe(403);
      expect(reply.text).toContain('User \\"system:anonymous\\" cannot get path');
    });

    test("with an underscore or a blank in the name is no impersonation, and no other identity", async () => {
      expect(await who({}, [["Impersonate_User", "kubernetes-admin"]])).toBe("anonymous");
      expect(await who({}, [["X-Impersonate-User", "kubernetes-admin"]])).toBe("anonymous");
    });
  });
});

describe("two Authorization headers", () => {
  const twice = (first: string, second: string): readonly (readonly [string, string])[] => [
    ["authorization", `Bearer ${first}`],
    ["authorization", `Bearer ${second}`],
  ];

  test("of HTTP/1.1: the first counts, so that a second one can add nothing", async () => {
    expect(await identity(hub, {}, twice("wrong", hub.tokens.operator))).toBe("401");
    expect(await identity(hub, {}, twice(hub.tokens.nobody, hub.tokens.operator))).toBe(
      "nobody (system:authenticated)",
    );
  });

  test("of HTTP/2: the first counts, so that a second one can add nothing", async () => {
    const first = await sendFields(hub.target, [...requestFields, ...twice("wrong", hub.tokens.operator)]);
    expect(JSON.parse(first)).toMatchObject({ code: 401 });
    const second = await sendFields(hub.target, [...requestFields, ...twice(hub.tokens.nobody, hub.tokens.operator)]);
    expect(JSON.parse(second)).toMatchObject({ code: 403, message: expect.stringContaining('User "nobody"') });
  });
});

describe("headers that are none", () => {
  const good = (): string => `Bearer ${hub.tokens.operator}`;

  test.each([
    ["a NUL in a token", (token: string) => `Authorization: ${token}\0\r\n`],
    [
      "a line feed in a token",
      (token: string) => `Authorization: ${token}\nX-A: b\r\n`.replace("Bearer ", "Bearer \n"),
    ],
    ["a blank before the colon", (token: string) => `Authorization : ${token}\r\n`],
    ["a name with a NUL", (token: string) => `Authoriz\0ation: ${token}\r\n`],
    ["no colon", () => `Authorization\r\n`],
    ["a carriage return alone", (token: string) => `X-A: b\rAuthorization: ${token}\r\n`],
  ])("of HTTP/1.1, with %s, are 400", async (_name, line) => {
    const bytes = `GET /api/v1/secrets HTTP/1.1\r\nHost: localhost\r\n${line(good())}Connection: close\r\n\r\n`;
    const reply = parseReply(await speak(await openTls(hub.target, "http/1.1"), bytes));
    expect(reply.status).toBe(400);
  });

  test("of HTTP/1.1, folded over two lines, give no other identity", async () => {
    const bytes = `GET /api/v1/secrets HTTP/1.1\r\nHost: localhost\r\nX-A: b\r\n Authorization: ${good()}\r\nConnection: close\r\n\r\n`;
    const reply = parseReply(await speak(await openTls(hub.target, "http/1.1"), bytes));
    expect([400, 403]).toContain(reply.status);
  });

  test.each([
    ["upper case", "Authorization", ""],
    ["a NUL in the name", "authoriz\0ation", ""],
    ["a NUL in the value", "authorization", "\0"],
    ["a line end in the value", "authorization", "\r\nx: y"],
    ["a blank in the name", "authorization ", ""],
    ["an empty name", "", ""],
    ["a connection header", "connection", ""],
    ["an unknown pseudo header", ":authorization", ""],
  ])("of HTTP/2, with %s, are refused", async (_name, name, suffix) => {
    const body = await sendFields(hub.target, [...requestFields, [name, good() + suffix]]);
    expect(body === "" ? 400 : JSON.parse(body).code).toSatisfy(
      (code: number) => code === 400 || code === 401 || code === 403,
    );
  });

  test("of HTTP/2, as trailers, come too late", async () => {
    expect(await identity(hub, { over: "HTTP/2" }, [["te", "trailers"]])).toBe("anonymous");
  });
});

describe("headers of 100 KiB", () => {
  const giant = "x".repeat(100 * 1024);

  test.each([
    ["a token", [["Authorization", `Bearer ${giant}`]]],
    ["another header", [["X-Padding", giant]]],
    ["many headers", Array.from({ length: 3000 }, (_, index) => [`X-Padding-${index}`, "x".repeat(30)] as const)],
    ["a path", []],
  ] as readonly (readonly [string, readonly (readonly [string, string])[]])[])(
    "as %s are refused",
    async (name, headers) => {
      const path = name === "a path" ? `/${giant}` : "/version";
      const one = parseReply(await speak(await openTls(hub.target, "http/1.1"), requestBytes({ path, headers })));
      expect(one.status).toBe(431);
      const fields: readonly (readonly [string, string])[] = [
        ...requestFields.map(([name, value]) => [name, name === ":path" ? path : value] as const),
        ...headers.map(([name, value]) => [name.toLowerCase(), value] as const),
      ];
      const two = await sendFields(hub.target, fields);
      expect(two === "" ? 431 : JSON.parse(two).code).toBe(431);
      expect((await send(hub.target, { path: "/readyz" })).text).toBe("ok");
    },
  );
});
