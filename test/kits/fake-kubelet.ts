import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { issueOwn } from "../../src/ca/hub-certificates.ts";
import { systemRandom } from "../../src/host/system-random.ts";
import { loadCa } from "../../src/pki/ca.ts";

/** A request as the fake kubelet has received it. */
export interface KubeletSeen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  /** The subject of the hub's client certificate. */
  readonly subject: Readonly<Record<string, unknown>>;
}

export interface FakeKubelet {
  readonly port: number;
  readonly seen: readonly KubeletSeen[];
  /** Answers of another kind than the default; each test sets what it needs. */
  answer: (request: IncomingMessage, response: ServerResponse) => void;
  upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** Connections of other protocols that are open. */
  readonly upgraded: ReadonlySet<Duplex>;
  close(): Promise<void>;
}

/** Answers every request for another protocol with it, and sends back whatever it receives. */
export function echoing(request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const protocol = request.headers["x-stream-protocol-version"] ?? "";
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\nX-Stream-Protocol-Version: ${String(protocol).split(",")[0]}\r\nSet-Cookie: a=b\r\n\r\n`,
  );
  socket.write(head);
  socket.pipe(socket);
}

/** A TLS server of a kubelet with a certificate of the hub's CA, which speaks just enough of the kubelet's API. */
export async function startFakeKubelet(
  dataDir: string,
  { commonName = "system:node:n1", addresses = ["127.0.0.1"] }: { commonName?: string; addresses?: string[] } = {},
): Promise<FakeKubelet> {
  const read = (file: string): string => readFileSync(join(dataDir, "pki", file), "utf8");
  const { certPem, keyPem } = issueOwn(
    loadCa({ certificatePem: read("ca.crt"), keyPem: read("ca.key"), now: Date.now() }),
    { commonName, organizations: ["system:nodes"], dnsNames: [], ipAddresses: addresses, usage: "server auth" },
    { now: Date.now(), random: systemRandom },
  );
  const seen: KubeletSeen[] = [];
  const upgraded = new Set<Duplex>();
  const sockets = new Set<Duplex>();
  const note = (request: IncomingMessage, body: string): void => {
    const subject = { ...(request.socket as TLSSocket).getPeerCertificate().subject };
    const { method = "", url = "", headers } = request;
    seen.push({ method, url, headers, body, subject });
  };
  const kubelet = {
    answer: (_request: IncomingMessage, response: ServerResponse) => void response.end("line 1\nline 2\n"),
    upgrade: echoing,
  };
  const server = createServer({ cert: certPem, key: keyPem, requestCert: true, rejectUnauthorized: false });
  server.on("connection", (socket: Duplex) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("request", (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      note(request, Buffer.concat(chunks).toString());
      kubelet.answer(request, response);
    });
  });
  server.on("upgrade", (request, socket, head) => {
    note(request, "");
    upgraded.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => upgraded.delete(socket));
    kubelet.upgrade(request, socket, head);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return Object.assign(kubelet, {
    port: (server.address() as AddressInfo).port,
    seen,
    upgraded,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  });
}

/** A Node as its kubelet would register it. */
export function nodeAt(name: string, port: number, address = "127.0.0.1"): object {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name },
    status: {
      addresses: [{ type: "InternalIP", address }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
    },
  };
}

/** A Pod that runs on a Node. */
export function podOn(node: string, name = "p1", containers: readonly string[] = ["c"]): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: {
      ...(node === "" ? {} : { nodeName: node }),
      containers: containers.map((container) => ({ name: container, image: "i" })),
    },
  };
}
