import { randomBytes } from "node:crypto";
import { createServer } from "node:https";
import type { IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { issueOwn } from "../../src/ca/hub-certificates.ts";
import { createCa } from "../../src/pki/ca.ts";
import { generatePrivateKey } from "../../src/pki/keys.ts";

/** A certificate with its key, as PEM. */
export interface Pair {
  readonly certPem: string;
  readonly keyPem: string;
}

/** A server that keeps who asked it, on a real socket of this machine; its certificate is for `hub.test` and 127.0.0.1. */
export interface EchoApi {
  readonly port: number;
  readonly caPem: string;
  /** Its own certificate. */
  readonly pair: Pair;
  /** One of its CA for a client. */
  client(commonName: string): Pair;
  /** Of each request in turn: what says who asks, as sorted lines. */
  readonly seen: (readonly string[])[];
  /** What it answers, as status codes, one for each request; 200 when there is none left. */
  readonly answers: number[];
  close(): Promise<void>;
}

export async function startEchoApi(): Promise<EchoApi> {
  const random = (size: number): Uint8Array => randomBytes(size);
  const now = Date.now();
  const ca = createCa({ commonName: "echo-ca", key: generatePrivateKey(), now, years: 1, random });
  const issued = (commonName: string, usage: "server auth" | "client auth"): Pair =>
    issueOwn(
      ca,
      { commonName, organizations: [], dnsNames: ["hub.test"], ipAddresses: ["127.0.0.1"], usage },
      { now, random },
    );
  const pair = issued("echo", "server auth");
  const seen: (readonly string[])[] = [];
  const answers: number[] = [];
  const tls = { cert: pair.certPem, key: pair.keyPem, ca: ca.pem, requestCert: true, rejectUnauthorized: false };
  const server = createServer(tls, (request, response) => {
    seen.push(identityOf(request));
    response.writeHead(answers.shift() ?? 200, { "content-type": "application/json" });
    response.end(JSON.stringify({ major: "1", minor: "36", gitVersion: "v1.36.0" }));
  });
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    caPem: ca.pem,
    pair,
    client: (commonName) => issued(commonName, "client auth"),
    seen,
    answers,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function identityOf({ headers, socket }: IncomingMessage): readonly string[] {
  const said = Object.entries(headers).filter(([name]) => name === "authorization" || name.startsWith("impersonate-"));
  const certificate = (socket as TLSSocket).getPeerX509Certificate();
  return [
    ...said.map(([name, value]) => `${name}: ${String(value)}`),
    ...(certificate === undefined ? [] : [`certificate: ${certificate.subject}`]),
  ].toSorted();
}
