import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { WebhookCall } from "../apimachinery/webhook-call.ts";
import { startWebhook, type WebhookServer } from "../../test/kits/webhook-server.ts";
import { webhookCaller } from "./webhook-caller.ts";

let server: WebhookServer;
let caller: ReturnType<typeof webhookCaller>;

beforeEach(async () => {
  server = await startWebhook();
  caller = webhookCaller({ maxBytes: 1000 });
});
afterEach(async () => {
  caller.close();
  await server.close();
});

function call(fields: Partial<WebhookCall> = {}): WebhookCall {
  const { url, caBundle } = server;
  return { config: { url, caBundle }, body: { request: { uid: "u" } }, timeoutMs: 30_000, ...fields };
}

describe("a call", () => {
  it("posts JSON and gives back the JSON of the answer", async () => {
    expect(await caller.call(call())).toMatchObject({ kind: "AdmissionReview", response: { uid: "u", allowed: true } });
    expect(server.paths).toEqual(["/"]);
  });

  it("announces its timeout in whole seconds where that is wanted", async () => {
    await caller.call(call({ timeoutMs: 1200, announceTimeout: true }));
    expect(server.paths).toEqual(["/?timeout=2s"]);
  });

  it("keeps its connection, and makes another when the webhook has closed it", async () => {
    await caller.call(call());
    await caller.call(call());
    expect(server.connections()).toBe(1);
    server.answer(() => ({
      raw: (response, { uid }) => {
        const { socket } = response;
        response.end(JSON.stringify({ uid }), () => socket?.end());
      },
    }));
    await caller.call(call());
    expect(await caller.call(call())).toEqual({ uid: "u" });
    expect(server.connections()).toBe(2);
  });

  it.each([10, 3_000_000])(
    "of %i bytes on a kept connection that was just closed goes over a new one",
    async (length) => {
      await caller.call(call());
      server.hangUp();
      const body = { request: { uid: "u", object: "x".repeat(length) } };
      expect(await caller.call(call({ body }))).toMatchObject({ response: { uid: "u", allowed: true } });
      expect(server.connections()).toBe(2);
    },
  );

  it("never shares a connection between different CAs", async () => {
    await caller.call(call());
    const other = await startWebhook();
    const wrong = call({ config: { url: server.url, caBundle: other.caBundle } });
    await expect(caller.call(wrong)).rejects.toMatchObject({ code: "tls" });
    await other.close();
  });

  it("of a service goes where that is resolved to, expecting the service's name in the certificate", async () => {
    const asked: unknown[] = [];
    const resolving = webhookCaller({
      resolveService: async (service) => {
        asked.push(service);
        return { host: "127.0.0.1" };
      },
    });
    const service = { namespace: "ns", name: "svc", path: "/x", port: Number(new URL(server.url).port) };
    const reported = resolving.call(call({ config: { service, caBundle: server.caBundle } }));
    await expect(reported).rejects.toMatchObject({ code: "tls" });
    expect(asked).toEqual([service]);
    resolving.close();
  });
});

describe("a call fails", () => {
  it.each<[string, Partial<WebhookCall>, string, string]>([
    ["without a target", { config: {} }, "target", "must have either service or an https URL"],
    ["over plain http", { config: { url: "http://127.0.0.1:1" } }, "target", "https"],
    ["with a URL that is none", { config: { url: "https://" } }, "target", "https"],
    ["where nobody listens", { config: { url: "https://127.0.0.1:1" } }, "unreachable", "connection refused"],
    [
      "at a name that nobody has",
      { config: { url: "https://nobody.invalid" } },
      "unreachable",
      'Post "https://nobody.invalid/": dial tcp',
    ],
    [
      "with a bundle that is no PEM",
      { config: { url: "https://h", caBundle: "AAAA" } },
      "tls",
      "unable to parse bytes as PEM block",
    ],
  ])("%s", async (_what, fields, code, message) => {
    const error: unknown = await caller.call(call(fields)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code });
    expect((error as Error).message).toContain(message);
  });

  it("where the certificate is signed by nobody we know", async () => {
    await expect(caller.call(call({ config: { url: server.url } }))).rejects.toMatchObject({
      code: "tls",
      message: expect.stringContaining("certificate signed by unknown authority") as unknown,
    });
  });

  it("when the answer is longer than allowed", async () => {
    server.answer(() => ({ raw: (response) => void response.writeHead(200).end("x".repeat(1001)) }));
    await expect(caller.call(call())).rejects.toMatchObject({
      code: "body",
      message: "the answer is longer than 1000 bytes",
    });
  });

  it.each([301, 302, 307, 401, 403, 404, 418, 429, 500, 503])(
    "with the status %i, without the words of the webhook",
    async (status) => {
      server.answer(() => ({ raw: (response) => void response.writeHead(status, { location: "/" }).end("hunter2") }));
      const error: unknown = await caller.call(call()).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "status" });
      expect((error as Error).message).not.toContain("hunter2");
    },
  );

  it("when its time is over", async () => {
    server.answer(() => ({ raw: () => undefined }));
    await expect(caller.call(call({ timeoutMs: 50 }))).rejects.toMatchObject({
      code: "timeout",
      message: `Post "${server.url}/": context deadline exceeded`,
    });
  });

  it("when its time is over while a proxy that gives no answer is waited for", async () => {
    const silent = createServer((socket) => void socket.resume()).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const proxied = webhookCaller({ proxyOf: () => `http://127.0.0.1:${port}` });
    await expect(proxied.call(call({ timeoutMs: 50 }))).rejects.toMatchObject({
      code: "timeout",
      message: `Post "${server.url}/": context deadline exceeded`,
    });
    proxied.close();
    silent.close();
    await once(silent, "close");
  }, 15_000);

  it("when its time is over before anybody knows where the service is", async () => {
    const lost = webhookCaller({ resolveService: () => new Promise(() => undefined) });
    const config = { service: { name: "policy", namespace: "team" }, caBundle: server.caBundle };
    await expect(lost.call(call({ config, timeoutMs: 20 }))).rejects.toMatchObject({
      code: "timeout",
      message: "lookup policy.team.svc: context deadline exceeded",
    });
    lost.close();
  });
});
