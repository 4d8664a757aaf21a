import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import { fakeClock, type FakeClock } from "../../test/kits/fake-clock.ts";
import { startJsonService } from "../../test/kits/json-service.ts";
import { opaServer, type OpaServer } from "./opa-server.ts";

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

let opa: OpaServer;
let server: Server;
const sockets = new Set<Socket>();

async function start(answer: Answer, clock: FakeClock = fakeClock(), token?: string): Promise<void> {
  server = createServer((request, response) => {
    request.resume();
    answer(response, request);
  });
  server.on("connection", (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/opa/`);
  opa = opaServer({ url, path: ["k8s", "allow"], timeoutMs: 3000, clock, caPem: undefined, token });
}

const json =
  (body: unknown, status = 200): Answer =>
  (response) =>
    void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));

afterEach(async () => {
  opa.close();
  sockets.clear();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

describe("an OPA server", () => {
  test("is sent the input, at the place of the rule, with the token", async () => {
    const seen: IncomingMessage[] = [];
    await start(
      (response, request) => {
        seen.push(request);
        json({ result: true, decision_id: "4ca6-1" })(response, request);
      },
      fakeClock(),
      "s3cret",
    );
    expect(await opa.ask({ spec: {} })).toEqual({ json: "true", decisionId: "4ca6-1" });
    const [{ method, url, headers } = {} as IncomingMessage] = seen;
    expect([method, url, headers.authorization, headers["content-length"]]).toEqual([
      "POST",
      "/opa/v1/data/k8s/allow",
      "Bearer s3cret",
      String('{"input":{"spec":{}}}'.length),
    ]);
  });

  test.each<[string, unknown, object]>([
    ["no result has no value", {}, { json: undefined }],
    ["an object has that value", { result: { allow: true } }, { json: '{"allow":true}' }],
    ["null has that value", { result: null }, { json: "null" }],
    ["an inherited result has none", JSON.parse('{"__proto__":{"result":true}}'), { json: undefined }],
    ["an id that is no id passes none on", { result: true, decision_id: "a\nb" }, { json: "true" }],
    ["an id of any length passes none on", { result: true, decision_id: "a".repeat(200) }, { json: "true" }],
  ])("that answers with %s", async (_what, body, judgement) => {
    await start(json(body));
    expect(await opa.ask({})).toEqual(judgement);
  });

  test.each<[string, Answer, string]>([
    ["500", json({ result: true }, 500), "OPA answered with status 500"],
    ["201", json({ result: true }, 201), "OPA answered with status 201"],
    ["401", json({ code: "unauthorized" }, 401), "OPA answered with status 401"],
    ["a redirect", (response) => void response.writeHead(307, { location: "/elsewhere" }).end(), "with status 307"],
    ["no JSON", (response) => void response.end("true"), "is no object"],
    ["half of it", (response) => void response.end('{"result":tr'), "is not JSON"],
    ["a list", json([true]), "is no object"],
    ["a hang-up", (response) => void response.destroy(), "OPA cannot be asked: ECONNRESET"],
    [
      "less than it announced",
      (response) => {
        response.writeHead(200, { "content-length": "100" });
        response.write('{"result":true}', () => response.destroy());
      },
      "ended early",
    ],
    ["megabytes", (response) => void response.end(`"${"x".repeat(2 << 20)}"`), "longer than 1048576 bytes"],
    ["what is no HTTP", (response) => void response.socket?.end("hello\r\n\r\n"), "OPA cannot be asked: HPE_"],
  ])("that answers with %s has said nothing", async (_what, answer, said) => {
    await start(answer);
    expect(await opa.ask({})).toMatchObject({ error: expect.stringContaining(said) as string });
  });

  test.each<[string, Answer]>([
    ["nothing", () => undefined],
    ["a head alone", (response) => void response.writeHead(200).write("{")],
  ])("that answers with %s is waited for until its time is over", async (_what, answer) => {
    const clock = fakeClock();
    let asked = 0;
    await start((response, request) => {
      asked += 1;
      answer(response, request);
    }, clock);
    const judgement = opa.ask({});
    await vi.waitFor(() => expect(asked).toBe(1), 45_000);
    await clock.advance(3000);
    expect(await judgement).toEqual({ error: "OPA did not answer in time", away: "timedOut" });
    expect(clock.sleeping()).toBe(0);
  });

  test("is asked on connections that are kept, and anew where one has gone", async () => {
    await start(json({ result: true }));
    for (let turn = 0; turn < 5; turn += 1) await opa.ask({});
    expect(sockets.size).toBe(1);
    const [first] = sockets;
    server.closeIdleConnections();
    expect(first?.destroyed).toBe(true);
    expect(await opa.ask({})).toEqual({ json: "true" });
  });

  test("that hangs is asked a bounded number of questions, on a bounded number of connections", async () => {
    const clock = fakeClock();
    await start(() => undefined, clock);
    const asked = Array.from({ length: 300 }, (_, index) => opa.ask({ index }));
    await vi.waitFor(() => expect(sockets.size).toBe(64), 45_000);
    await clock.advance(3000);
    const errors = (await Promise.all(asked)).map((judgement) => ("error" in judgement ? judgement.error : ""));
    const count = (text: string): number => errors.filter((error) => error === text).length;
    expect([count("OPA did not answer in time"), count("too many questions to OPA at once")]).toEqual([256, 44]);
    server.removeAllListeners("request").on("request", (_request, response: ServerResponse) => {
      response.end('{"result":true}');
    });
    expect(await opa.ask({})).toEqual({ json: "true" });
  });

  test("is not away when it cannot be asked at all", async () => {
    await start(json({}));
    const options = { path: ["k8s"], timeoutMs: 3000, clock: fakeClock(), token: "a\nb", caPem: undefined };
    const wrong = opaServer({ ...options, url: new URL("http://127.0.0.1:1") });
    expect(await wrong.ask({})).toEqual({ error: 'Invalid character in header content ["authorization"]' });
    wrong.close();
  });

  test("with a certificate of somebody else is not asked", async () => {
    await start(json({}));
    const [theirs, ours] = [
      await startJsonService(() => ({ body: { result: true } })),
      await startJsonService(() => ({ body: {} })),
    ];
    const options = { path: ["k8s"], timeoutMs: 3000, clock: fakeClock(), token: "s3cret" };
    const wrong = opaServer({ ...options, url: new URL(theirs.url), caPem: ours.caPem });
    const right = opaServer({ ...options, url: new URL(theirs.url), caPem: theirs.caPem });
    expect(await wrong.ask({})).toEqual({
      away: "unreachable",
      error: expect.stringContaining("OPA cannot be asked: ") as string,
    });
    expect(theirs.seen).toEqual([]);
    expect(await right.ask({})).toEqual({ json: "true" });
    for (const one of [wrong, right]) one.close();
    await Promise.all([theirs.close(), ours.close()]);
  });

  test("with a certificate of somebody else is not asked, whatever the environment says", async () => {
    await start(json({}));
    const [theirs, ours] = [
      await startJsonService(() => ({ body: { result: true } })),
      await startJsonService(() => ({ body: {} })),
    ];
    const clock = fakeClock();
    const options = { path: ["k8s"], timeoutMs: 3000, clock, token: undefined, caPem: ours.caPem };
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    const wrong = opaServer({ ...options, url: new URL(theirs.url) });
    expect(await wrong.ask({})).toHaveProperty("error");
    expect(theirs.seen).toEqual([]);
    vi.unstubAllEnvs();
    wrong.close();
    await Promise.all([theirs.close(), ours.close()]);
  });

  test("that is replaced still answers what it was asked", async () => {
    let answer: () => void = () => undefined;
    await start((response, request) => {
      answer = () => json({ result: true })(response, request);
    });
    const asked = opa.ask({});
    await vi.waitFor(() => expect(sockets.size).toBe(1), 45_000);
    opa.retire();
    await new Promise((resolve) => setImmediate(resolve));
    await vi.waitFor(() => answer(), 45_000);
    expect(await asked).toEqual({ json: "true" });
    await vi.waitFor(() => expect([...sockets].every((socket) => socket.destroyed)).toBe(true), 45_000);
  });
});
