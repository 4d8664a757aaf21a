import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { issueOwn } from "../../src/ca/hub-certificates.ts";
import { createCa } from "../../src/pki/ca.ts";
import { generatePrivateKey } from "../../src/pki/keys.ts";

/** One request as it came; `body` is parsed, and undefined where there was none. */
export interface ServiceRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
}

export interface ServiceReply {
  /** Default 200. */
  readonly status?: number;
  readonly body: unknown;
}

/** Somebody else's service on a real socket of this machine, with TLS and a CA of its own. */
export interface JsonService {
  readonly url: string;
  readonly caPem: string;
  readonly seen: readonly ServiceRequest[];
  close(): Promise<void>;
}

/** Starts a service that answers as `answer` says; its certificate is for this machine and for `dnsNames`. */
export async function startJsonService(
  answer: (request: ServiceRequest) => ServiceReply | Promise<ServiceReply>,
  dnsNames: readonly string[] = [],
): Promise<JsonService> {
  const random = (size: number): Uint8Array => randomBytes(size);
  const now = Date.now();
  const ca = createCa({ commonName: "service-ca", key: generatePrivateKey(), now, years: 1, random });
  const pair = issueOwn(
    ca,
    {
      commonName: "service",
      organizations: [],
      dnsNames: ["localhost", ...dnsNames],
      ipAddresses: ["127.0.0.1"],
      usage: "server auth",
    },
    { now, random },
  );
  const seen: ServiceRequest[] = [];
  const server = createServer({ cert: pair.certPem, key: pair.keyPem }, (message, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString();
      const { method = "", url: path = "", headers } = message;
      const request = { method, path, headers, body: text === "" ? undefined : (JSON.parse(text) as unknown) };
      seen.push(request);
      const { status = 200, body } = await answer(request);
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    })();
  });
  // kube-apiserver takes a connection that has just been closed for a failure of the service.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caPem: ca.pem,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
