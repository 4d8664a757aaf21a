import { randomBytes } from "node:crypto";
import { createServer } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { Condition } from "../../src/apimachinery/object.ts";
import { createCa, type CertificateAuthority } from "../../src/pki/ca.ts";
import { issueCertificate } from "../../src/pki/certificate.ts";
import { parseCsr, type ParsedCsr } from "../../src/pki/csr.ts";
import { exportSec1Pem, generatePrivateKey, spkiOf } from "../../src/pki/keys.ts";
import { buildName } from "../../src/pki/names.ts";
import { buildSubjectAltNames } from "../../src/pki/subject-alt-name.ts";
import { clusterInfoKubeconfig, signClusterInfo } from "../../src/trust/cluster-info.ts";
import { formatToken, type BootstrapToken } from "../../src/trust/token.ts";

/** One request as it arrived, before anything was decided. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly clientCertificate: boolean;
  /** That of the client certificate, in lower case; empty without one. */
  readonly serial: string;
}

/** A certificate request on the fake hub. */
export interface StoredRequest {
  readonly name: string;
  uid: string;
  /** Who requested it; default the user of a bootstrap token. */
  username?: string;
  readonly request: string;
  readonly signerName: string;
  readonly usages: readonly string[];
  readonly conditions: Condition[];
  certificate: string;
  resourceVersion: number;
}

export interface FakeHubOptions {
  readonly ca?: CertificateAuthority;
  readonly tokens?: readonly BootstrapToken[];
  /** Names and addresses in the server certificate, default 127.0.0.1. */
  readonly ips?: readonly string[];
  readonly dns?: readonly string[];
  /** Validity of the server certificate, in milliseconds from now, default an hour back and an hour on. */
  readonly validFromMs?: number;
  readonly validToMs?: number;
  /** How far the clock of the hub (its Date header) is ahead, in milliseconds. */
  readonly aheadMs?: number;
  /** Approve and sign at once. */
  readonly auto?: boolean;
}

/** A hub that does as it is told, on a real socket, and remembers each request. */
export interface FakeHub {
  readonly url: string;
  /** `127.0.0.1:port`. */
  readonly endpoint: string;
  readonly ca: CertificateAuthority;
  readonly seen: SeenRequest[];
  readonly requests: Map<string, StoredRequest>;
  /** The data of cluster-info; replaced at will. */
  data: Readonly<Record<string, string>> | undefined;
  tokens: readonly BootstrapToken[];
  /** The minor version of Kubernetes that it says it is. */
  minor: string;
  /** Approve and sign each request when it comes. */
  auto: boolean;
  /** Looks at each request first; true when it has answered. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  /** Makes the certificate that a request gets. */
  sign: (csr: ParsedCsr) => string;
  /** Writes cluster-info for this server and CA, signed with the tokens. */
  publish(info?: { readonly server?: string; readonly caPem?: string }): void;
  condition(name: string, condition: Pick<Condition, "type"> & Partial<Condition>): void;
  approve(name: string): void;
  issue(name: string, pem?: string): void;
  remove(name: string): void;
  /** Resolves when no connection is open any more. */
  idle(): Promise<void>;
  /** Ends all watches. */
  cut(): void;
  close(): Promise<void>;
}

/** A new CA for tests. */
export function testCa(commonName = "test-ca"): CertificateAuthority {
  return createCa({ commonName, key: generatePrivateKey(), now: Date.now(), years: 1, random: randomBytes });
}

/** A certificate for a server and its key, as PEM. */
export function serverCertificate(
  ca: CertificateAuthority,
  options: Pick<FakeHubOptions, "ips" | "dns" | "validFromMs" | "validToMs"> = {},
): { readonly cert: string; readonly key: string } {
  const key = generatePrivateKey();
  const rawSans = buildSubjectAltNames({ dns: options.dns ?? [], ip: options.ips ?? ["127.0.0.1"] });
  const issued = issueCertificate({
    issuer: ca,
    rawSubject: buildName({ commonName: "hub", organizations: [] }),
    spki: spkiOf(key),
    rawSans,
    usages: ["digital signature", "server auth"],
    notBefore: Date.now() + (options.validFromMs ?? -3_600_000),
    notAfter: Date.now() + (options.validToMs ?? 3_600_000),
    serial: randomBytes(16),
  });
  return { cert: issued.pem, key: exportSec1Pem(key) };
}

/** A client certificate for what a request asks, valid from `fromMs` to `toMs` from now. */
export function clientCertificate(
  ca: CertificateAuthority,
  csr: Pick<ParsedCsr, "rawSubject" | "spki">,
  validity: { readonly fromMs?: number; readonly toMs?: number } = {},
): string {
  return issueCertificate({
    issuer: ca,
    rawSubject: csr.rawSubject,
    spki: csr.spki,
    usages: ["digital signature", "client auth"],
    notBefore: Date.now() + (validity.fromMs ?? -300_000),
    notAfter: Date.now() + (validity.toMs ?? 3_600_000),
    serial: randomBytes(16),
  }).pem;
}

const collection = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const clusterInfo = "/api/v1/namespaces/kube-public/configmaps/cluster-info";

/** Starts a fake hub on a free port of 127.0.0.1. */
export async function startFakeHub(options: FakeHubOptions = {}): Promise<FakeHub> {
  const ca = options.ca ?? testCa();
  const watches = new Set<{ readonly name: string | undefined; readonly response: ServerResponse }>();
  let version = 100;

  const server = createServer({ ...serverCertificate(ca, options), requestCert: true, rejectUnauthorized: false });
  // Otherwise it would tidy up after a client that forgets its connections.
  server.keepAliveTimeout = 0;
  const sockets = new Set<Duplex>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.on("request", (request, response) => {
    const chunks: Buffer[] = [];
    hub.seen.push(seenOf(request));
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      response.setHeader("date", new Date(Date.now() + (options.aheadMs ?? 0)).toUTCString());
      if (hub.intercept?.(request, response) !== true) answer(request, response, Buffer.concat(chunks).toString());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const endpoint = `127.0.0.1:${(server.address() as AddressInfo).port}`;

  function answer(request: IncomingMessage, response: ServerResponse, body: string): void {
    const url = new URL(request.url ?? "/", "https://hub");
    const bearer = request.headers.authorization;
    const known = hub.tokens.some((token) => bearer === `Bearer ${formatToken(token)}`);
    if (bearer !== undefined && !known) return refuse(response, 401, "Unauthorized", "Unauthorized");
    if (url.pathname === clusterInfo) return sendClusterInfo(response);
    if (url.pathname === "/version") return json(response, 200, { major: "1", minor: hub.minor });
    const { clientCertificate } = seenOf(request);
    if (bearer === undefined && !clientCertificate)
      return refuse(response, 403, "Forbidden", 'User "system:anonymous" cannot do this');
    if (url.pathname === collection && request.method === "POST") return create(response, body);
    if (url.pathname === collection) return select(url, response);
    const stored = hub.requests.get(decodeURIComponent(url.pathname.slice(collection.length + 1)));
    if (stored === undefined) return refuse(response, 404, "NotFound", "not found");
    json(response, 200, objectOf(stored));
  }

  function sendClusterInfo(response: ServerResponse): void {
    if (hub.data === undefined) return refuse(response, 404, "NotFound", 'configmaps "cluster-info" not found');
    const metadata = { name: "cluster-info", namespace: "kube-public" };
    json(response, 200, { kind: "ConfigMap", apiVersion: "v1", metadata, data: hub.data });
  }

  function create(response: ServerResponse, body: string): void {
    const sent = JSON.parse(body) as {
      readonly metadata: { readonly name: string };
      readonly spec: { readonly request: string; readonly signerName: string; readonly usages: readonly string[] };
    };
    const { name } = sent.metadata;
    if (hub.requests.has(name)) return refuse(response, 409, "AlreadyExists", `${JSON.stringify(name)} already exists`);
    version += 1;
    const uid = randomBytes(8).toString("hex");
    const stored: StoredRequest = {
      name,
      uid,
      request: sent.spec.request,
      signerName: sent.spec.signerName,
      usages: sent.spec.usages,
      conditions: [],
      certificate: "",
      resourceVersion: version,
    };
    hub.requests.set(name, stored);
    json(response, 201, objectOf(stored));
    if (hub.auto) {
      hub.approve(name);
      hub.issue(name);
    }
  }

  function select(url: URL, response: ServerResponse): void {
    const name = /^metadata\.name=(.+)$/.exec(url.searchParams.get("fieldSelector") ?? "")?.[1];
    if (url.searchParams.get("watch") === "true") {
      response.writeHead(200, { "content-type": "application/json" });
      response.flushHeaders();
      const watch = { name, response };
      watches.add(watch);
      response.on("close", () => watches.delete(watch));
      const since = Number(url.searchParams.get("resourceVersion"));
      for (const stored of hub.requests.values()) if (stored.resourceVersion > since) send("MODIFIED", stored);
      return;
    }
    const items = [...hub.requests.values()].filter((stored) => name === undefined || stored.name === name);
    const kind = "CertificateSigningRequestList";
    const metadata = { resourceVersion: String(version) };
    json(response, 200, { kind, apiVersion: "certificates.k8s.io/v1", metadata, items: items.map(objectOf) });
  }

  function send(type: "MODIFIED" | "DELETED", stored: StoredRequest): void {
    for (const watch of watches) {
      if (watch.name === undefined || watch.name === stored.name) {
        watch.response.write(`${JSON.stringify({ type, object: objectOf(stored) })}\n`);
      }
    }
  }

  function change(name: string, write: (stored: StoredRequest) => void): void {
    const stored = hub.requests.get(name);
    if (stored === undefined) throw new TypeError(`there is no request ${name}`);
    write(stored);
    version += 1;
    stored.resourceVersion = version;
    send("MODIFIED", stored);
  }

  const hub: FakeHub = {
    url: `https://${endpoint}`,
    endpoint,
    ca,
    seen: [],
    requests: new Map(),
    data: undefined,
    tokens: options.tokens ?? [],
    minor: "36",
    auto: options.auto ?? false,
    intercept: undefined,
    sign: (csr) => clientCertificate(ca, csr),
    publish: (info = {}) => {
      const kubeconfig = clusterInfoKubeconfig({ server: info.server ?? hub.url, caPem: info.caPem ?? ca.pem });
      hub.data = signClusterInfo({ kubeconfig }, hub.tokens) ?? { kubeconfig };
    },
    condition: (name, condition) => change(name, (stored) => stored.conditions.push({ status: "True", ...condition })),
    approve: (name) => hub.condition(name, { type: "Approved", reason: "Test" }),
    issue: (name, pem) =>
      change(name, (stored) => {
        stored.certificate = pem ?? hub.sign(parseCsr(Buffer.from(stored.request, "base64")));
      }),
    remove: (name) => {
      const stored = hub.requests.get(name);
      hub.requests.delete(name);
      version += 1;
      if (stored !== undefined) send("DELETED", stored);
    },
    idle: async () => {
      while (sockets.size > 0) await new Promise((resolve) => setImmediate(resolve));
    },
    cut: () => {
      for (const { response } of watches) response.end();
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  hub.publish();
  return hub;
}

function seenOf(request: IncomingMessage): SeenRequest {
  const peer = (request.socket as TLSSocket).getPeerCertificate();
  return {
    method: request.method ?? "",
    path: request.url ?? "",
    authorization: request.headers.authorization,
    clientCertificate: Object.keys(peer).length > 0,
    serial: Object.keys(peer).length > 0 ? peer.serialNumber.toLowerCase() : "",
  };
}

function objectOf(stored: StoredRequest): object {
  const { name, uid, resourceVersion, request, signerName, usages, conditions, certificate } = stored;
  const { username = "system:bootstrap:abcdef" } = stored;
  return {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name, uid, resourceVersion: String(resourceVersion) },
    spec: { request, signerName, usages, username },
    status: {
      ...(conditions.length === 0 ? {} : { conditions }),
      ...(certificate === "" ? {} : { certificate: Buffer.from(certificate).toString("base64") }),
    },
  };
}

/** Sends a JSON reply. */
export function json(response: ServerResponse, code: number, body: unknown): void {
  response.writeHead(code, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

/** Sends a Status. */
export function refuse(response: ServerResponse, code: number, reason: string, message: string): void {
  json(response, code, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", reason, message, code });
}
