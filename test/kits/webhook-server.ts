import { randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import { issueOwn } from "../../src/ca/hub-certificates.ts";
import { createCa } from "../../src/pki/ca.ts";
import { generatePrivateKey } from "../../src/pki/keys.ts";

/** What a webhook is asked. */
export interface ReviewRequest {
  readonly uid: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly operation: string;
  readonly object: ApiObject | null;
  readonly oldObject: ApiObject | null;
  readonly dryRun: boolean;
  readonly [field: string]: unknown;
}

/** What it answers; `patch` is JSON and encoded on the way. `raw` takes the response over. */
export interface ReviewReply {
  readonly allowed?: boolean;
  readonly patch?: readonly object[];
  readonly raw?: (response: ServerResponse, request: ReviewRequest) => void;
  /** Further or other fields of `response`. */
  readonly response?: Readonly<Record<string, unknown>>;
}

/** An admission webhook on a real socket of this machine. */
export interface WebhookServer {
  readonly url: string;
  /** For `clientConfig.caBundle`. */
  readonly caBundle: string;
  /** What was asked, in order. */
  readonly asked: ReviewRequest[];
  /** The paths, with their queries. */
  readonly paths: string[];
  /** How many connections were made. */
  readonly connections: () => number;
  /** Closes its connections without a word of TLS. */
  hangUp(): void;
  /** Replaces what is answered. */
  answer(reply: (request: ReviewRequest) => ReviewReply): void;
  close(): Promise<void>;
}

/** Starts a webhook that lets everything pass until it is told otherwise. */
export async function startWebhook(): Promise<WebhookServer> {
  const random = (size: number): Uint8Array => randomBytes(size);
  const now = Date.now();
  const ca = createCa({ commonName: "webhook-ca", key: generatePrivateKey(), now, years: 1, random });
  const names = { dnsNames: ["localhost"], ipAddresses: ["127.0.0.1"] };
  const pair = issueOwn(
    ca,
    { commonName: "webhook", organizations: [], ...names, usage: "server auth" },
    { now, random },
  );
  const asked: ReviewRequest[] = [];
  const paths: string[] = [];
  let connections = 0;
  let reply = (_request: ReviewRequest): ReviewReply => ({ allowed: true });
  const server = createServer({ cert: pair.certPem, key: pair.keyPem }, (message, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk);
      const review = JSON.parse(Buffer.concat(chunks).toString()) as { apiVersion: string; request: ReviewRequest };
      asked.push(review.request);
      paths.push(message.url ?? "");
      const { allowed = true, patch, raw, response: more } = reply(review.request);
      if (raw !== undefined) return raw(response, review.request);
      const encoded = patch === undefined ? {} : { patchType: "JSONPatch", patch: base64(patch) };
      const answer = { uid: review.request.uid, allowed, ...encoded, ...more };
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ apiVersion: review.apiVersion, kind: "AdmissionReview", response: answer }));
    })();
  });
  // A connection stays however long it has nothing to do.
  server.keepAliveTimeout = 0;
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caBundle: Buffer.from(ca.pem).toString("base64"),
    asked,
    paths,
    connections: () => connections,
    hangUp: () => {
      for (const socket of sockets) socket.destroy();
    },
    answer: (next) => {
      reply = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function base64(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64");
}
