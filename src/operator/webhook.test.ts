import { randomBytes } from "node:crypto";
import { Agent, request as httpsRequest } from "node:https";
import { afterEach, describe, expect, it } from "vitest";
import { memoryApi } from "../../test/kits/memory-api.ts";
import { fakeClock } from "../../test/kits/fake-clock.ts";
import { type KeyPair, issueOwn } from "../ca/hub-certificates.ts";
import { createCa } from "../pki/ca.ts";
import { generatePrivateKey } from "../pki/keys.ts";
import { type JsonServer, type JsonServerOptions, serveJson } from "./serving/json-server.ts";
import { type WebhookReviews, serveWebhook, webhookAnswers } from "./webhook.ts";

const random = (size: number): Uint8Array => randomBytes(size);
const now = Date.now();
const authority = (): ReturnType<typeof createCa> =>
  createCa({ commonName: "ca", key: generatePrivateKey(), now, years: 1, random });
const ca = authority();
const pairOf = (of: typeof ca, usage: "server auth" | "client auth"): KeyPair =>
  issueOwn(
    of,
    { commonName: "kube-apiserver", organizations: [], dnsNames: [], ipAddresses: ["127.0.0.1"], usage },
    { now, random },
  );

let server: JsonServer | undefined;

afterEach(async () => {
  await server?.close(0);
  server = undefined;
});

async function start(options: Partial<JsonServerOptions & WebhookReviews> = {}): Promise<void> {
  server = await serveJson({
    ...pairOf(ca, "server auth"),
    host: "127.0.0.1",
    port: 0,
    clientCaPem: undefined,
    caPem: ca.pem,
    isReady: () => true,
    clock: { ...fakeClock(), now: () => Date.now() },
    onFault: () => undefined,
    ...webhookAnswers({ reviews: async (stage, review) => ({ stage, review }), ...options }),
    ...options,
  });
}

interface Answered {
  readonly status: number;
  readonly body: string;
}

function send(path: string, body?: string | Buffer, client?: KeyPair): Promise<Answered> {
  const agent = new Agent({
    ca: ca.pem,
    ...(client === undefined ? {} : { cert: client.certPem, key: client.keyPem }),
  });
  return new Promise((resolve, reject) => {
    const method = body === undefined ? "GET" : "POST";
    const sent = httpsRequest({ host: "127.0.0.1", port: server?.port, path, method, agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        agent.destroy();
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

describe("the webhook's server", () => {
  it("answers reviews by their path, below any other", async () => {
    await start();
    expect(await send("/mutate", '{"a":1}')).toEqual({ status: 200, body: '{"stage":"mutating","review":{"a":1}}' });
    expect((await send("/hooks/validate?timeout=10s", "{}")).body).toContain('"validating"');
    expect((await send("/other", "{}")).status).toBe(404);
    expect((await send("/mutate")).status).toBe(405);
  });

  it("is ready once it can judge, and judges nothing before", async () => {
    let ready = false;
    await start({ isReady: () => ready });
    expect([(await send("/livez")).status, (await send("/readyz")).status]).toEqual([200, 503]);
    expect((await send("/mutate", "{}")).status).toBe(503);
    ready = true;
    expect([(await send("/readyz")).status, (await send("/mutate", "{}")).status]).toEqual([200, 200]);
  });

  it("answers only those whom the client CA vouches for, where there is one", async () => {
    const clients = authority();
    await start({ clientCaPem: clients.pem });
    expect((await send("/validate", "{}")).status).toBe(401);
    expect((await send("/validate", "{}", pairOf(authority(), "client auth"))).status).toBe(401);
    expect((await send("/validate", "{}", pairOf(ca, "client auth"))).status).toBe(401);
    expect((await send("/validate", "{}", pairOf(clients, "client auth"))).status).toBe(200);
    expect((await send("/livez")).status).toBe(200);
  });

  it.each<[string, string | Buffer, number]>([
    ["no JSON", "{", 400],
    ["a key that would be a prototype", '{"__proto__":{}}', 400],
    ["nesting without end", `${"[".repeat(5000)}${"]".repeat(5000)}`, 400],
    ["more than 3 MiB", Buffer.alloc(3 * 1024 * 1024 + 1, 0x20), 413],
  ])("refuses %s", async (_what, body, status) => {
    await start();
    expect((await send("/mutate", body)).status).toBe(status);
  });

  it("says nothing of what went wrong inside", async () => {
    const faults: unknown[] = [];
    await start({
      reviews: () => Promise.reject(new TypeError("secret")),
      onFault: (error) => void faults.push(error),
    });
    expect(await send("/mutate", "{}")).toEqual({ status: 500, body: "internal error" });
    expect(faults).toHaveLength(1);
  });
});

describe("a start of the webhook", () => {
  it("logs once which CA proofs must name", async () => {
    const logged: string[] = [];
    await serveWebhook({
      options: {
        serving: {
          bindAddress: "127.0.0.1",
          port: 0,
          certDir: "",
          tlsSans: [],
          certFile: undefined,
          keyFile: undefined,
          caFile: undefined,
          clientCaFile: undefined,
        },
        place: { url: "https://127.0.0.1" },
        managedClusters: false,
        olderAddOns: false,
        register: false,
        requestsPerMinute: 60,
        maxPending: 10,
      },
      world: {
        clock: fakeClock(),
        random,
        hostname: "host",
        cwd: "/",
        readFile: () => Promise.reject(new TypeError("reads no file")),
        log: ({ reason }) => void logged.push(reason),
      },
      client: memoryApi({ clock: fakeClock() }).client,
      pair: {
        caPem: ca.pem,
        current: () => pairOf(ca, "server auth"),
        problem: () => undefined,
        look: async () => undefined,
      },
      pins: ["sha256:00"],
      signal: AbortSignal.abort(),
    });
    expect(logged.filter((reason) => reason === "TrustBundleSelected")).toHaveLength(1);
  });
});
