import { once } from "node:events";
import { Agent, createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { exchange, wholeBody } from "./exchange.ts";

let server: Server;
let agent: Agent;
let requests: number;
/** Which requests, counted from 1, have their connection closed instead of a reply. */
let hangsUpOn: readonly number[];

beforeEach(async () => {
  [requests, hangsUpOn] = [0, []];
  agent = new Agent({ keepAlive: true, maxSockets: 4 });
  server = createServer((request, response) => {
    requests += 1;
    if (hangsUpOn.includes(requests)) request.socket.resetAndDestroy();
    else response.end("x".repeat(100));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
});

afterEach(async () => {
  agent.destroy();
  server.close();
  await once(server, "close");
});

async function send(staleRetries: number, signal = new AbortController().signal): Promise<string> {
  const { port } = server.address() as AddressInfo;
  const options = { host: "127.0.0.1", port, method: "POST", path: "/", headers: {}, body: Buffer.from("{}") };
  const failure = (error: NodeJS.ErrnoException): Error => new TypeError(`failed: ${error.code}`);
  const message = await exchange({ ...options, agent, signal, staleRetries, failure });
  return (await wholeBody(message, 100))?.toString("utf8") ?? "too long";
}

/** Leaves `count` connections that are kept. */
async function keep(count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => send(0)));
  await vi.waitFor(() => expect(Object.values(agent.freeSockets).flat()).toHaveLength(count));
  requests = 0;
}

describe("a request whose kept connection is closed", () => {
  test.each([
    [0, [1], 1, "failed: ECONNRESET"],
    [1, [1], 2, "x".repeat(100)],
    [1, [1, 2], 2, "failed: ECONNRESET"],
    [2, [1, 2], 3, "x".repeat(100)],
  ])("is repeated %i times when it fails on the attempts %j", async (retries, failing, sent, outcome) => {
    await keep(4);
    hangsUpOn = failing;
    expect(await send(retries).catch((error: Error) => error.message)).toBe(outcome);
    expect(requests).toBe(sent);
  });
});

test("a request on a new connection that is closed is not repeated", async () => {
  hangsUpOn = [1];
  await expect(send(2)).rejects.toThrow("failed: ECONNRESET");
  expect(requests).toBe(1);
});

test("a request that is aborted before it is sent is not sent", async () => {
  await expect(send(2, AbortSignal.abort())).rejects.toMatchObject({ code: "ABORTED" });
  expect(requests).toBe(0);
});

test("a body of more bytes than allowed is none", async () => {
  const { port } = server.address() as AddressInfo;
  const signal = new AbortController().signal;
  const options = { host: "127.0.0.1", port, headers: {}, agent, signal, staleRetries: 0 };
  expect(await wholeBody(await exchange(options), 99)).toBeUndefined();
  expect((await wholeBody(await exchange(options), 100))?.length).toBe(100);
});
