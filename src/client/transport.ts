import { Agent } from "node:https";
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import {
  checkServerIdentity,
  createSecureContext,
  type ConnectionOptions as TlsOptions,
  type TLSSocket,
} from "node:tls";
import { ConnectionError } from "./client.ts";
import { exchange } from "./exchange.ts";
import { connectThrough, requiredProxy } from "./proxy.ts";
import { systemErrorCode, systemErrorText } from "../apimachinery/system-error.ts";

/** The client's credentials; none of the three means anonymous. */
export interface ClientCredentials {
  /** Leaf first. */
  readonly clientCertPem?: string | undefined;
  readonly clientKeyPem?: string | undefined;
  /** Sent as a bearer token. */
  readonly token?: string | undefined;
}

/** The address of a server, and its trust anchors. */
export interface TransportOptions {
  /** `https://host[:port][/prefix]`. */
  readonly server: string;
  /** The only roots that are trusted; absent: those of the runtime. */
  readonly caPem?: string | undefined;
  /** Trusts any server certificate; only for reading data that is verified by other means. Excludes `caPem`. */
  readonly insecureSkipTlsVerify?: boolean | undefined;
  /** The name that the server's certificate must be valid for, where it is not the host of `server`. */
  readonly tlsServerName?: string | undefined;
  /** The proxy of every connection: `http://`, `https://`, `socks5://` or `socks5h://`; it may contain a password. Absent: none. */
  readonly proxyUrl?: string | undefined;
  /** The impersonated user of every request. */
  readonly impersonate?: Impersonation | undefined;
  /** Called before each request, so that rotated credentials take effect with the next one. */
  readonly credentials: () => ClientCredentials | Promise<ClientCredentials>;
  /** Receives the certificate that the server presented, as DER, before each reply. */
  readonly serverSeen?: ((leaf: Uint8Array) => void) | undefined;
}

/** One request. `path` begins with a slash and is already encoded. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<OutgoingHttpHeaders>;
  readonly body?: Buffer | undefined;
  readonly signal: AbortSignal;
  /** Default: the present result of `credentials`. */
  readonly credentials?: ClientCredentials | undefined;
}

/** HTTP/1.1 over TLS with connections kept alive. */
export interface Transport {
  /** Resolves with the head of the reply. @throws ConnectionError for every failure before that, the call's own abort included. */
  open(call: Call): Promise<IncomingMessage>;
  /** Closes all connections, those in use too. */
  close(): void;
}

interface Identity {
  readonly certificate: string | undefined;
  readonly key: string | undefined;
  readonly agent: Agent;
}

const socketsAtOnce = 64;
const tcpProbeMs = 15_000;

/** @throws ConnectionError INVALID_SERVER, INVALID_CA, INVALID_PROXY when the options cannot lead to a verified server. */
export function httpsTransport(options: TransportOptions): Transport {
  const target = serverTarget(options);
  const proxy = options.proxyUrl === undefined ? undefined : requiredProxy(options.proxyUrl);
  const closing = new AbortController();
  const agents = new Set<Agent>();
  let identity: Identity | undefined;

  function identityFor(credentials: ClientCredentials): Identity {
    const { clientCertPem: certificate, clientKeyPem: key } = credentials;
    if (identity !== undefined && identity.certificate === certificate && identity.key === key) return identity;
    if (identity !== undefined) drain(identity.agent);
    const agent = agentFor(options, credentials);
    if (proxy !== undefined) connectThrough(agent, proxy, { ...options, signal: closing.signal });
    agents.add(agent);
    identity = { certificate, key, agent };
    return identity;
  }

  async function open(call: Call): Promise<IncomingMessage> {
    const credentials = call.credentials ?? (await options.credentials());
    const { agent } = identityFor(credentials);
    const headers = { ...call.headers, ...identityHeaders(options, credentials) };
    try {
      const message = await exchange({
        host: target.host,
        port: target.port,
        method: call.method,
        path: `${target.prefix}${call.path}`,
        headers,
        body: call.body,
        agent,
        signal: call.signal,
        tcpProbeMs,
        // Reading again is harmless.
        staleRetries: call.method === "GET" ? 2 : 0,
      });
      if (options.serverSeen !== undefined) reportServerCertificate(message, options.serverSeen);
      return message;
    } catch (error) {
      throw connectionError(error, options.server);
    }
  }

  function close(): void {
    closing.abort();
    for (const agent of agents) agent.destroy();
    agents.clear();
  }

  return { open, close };
}

/** A failure of node's net, tls or http as a ConnectionError with its code; the message has what happened at `server` and the next step. */
export function connectionError(error: unknown, server: string): ConnectionError {
  if (error instanceof ConnectionError) return error;
  const code = systemErrorCode(error) ?? "UNKNOWN";
  if (code === "ABORT_ERR") return new ConnectionError(code, "the call was aborted", { cause: error });
  return new ConnectionError(code, systemErrorText(error, { operation: "connect", at: server }), { cause: error });
}

interface Target {
  readonly host: string;
  readonly port: number;
  readonly prefix: string;
}

function serverTarget(options: TransportOptions): Target {
  const url = URL.canParse(options.server) ? new URL(options.server) : undefined;
  if (url === undefined || url.protocol !== "https:" || url.username !== "" || url.search !== "" || url.hash !== "") {
    throw new ConnectionError("INVALID_SERVER", `server ${JSON.stringify(options.server)} is not an https:// URL`);
  }
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? 443 : Number(url.port),
    prefix: url.pathname.replace(/\/+$/, ""),
  };
}

function identityHeaders(
  { impersonate }: TransportOptions,
  { token }: ClientCredentials,
): Readonly<OutgoingHttpHeaders> {
  return {
    ...(impersonate && impersonationHeaders(impersonate)),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
}

function agentFor(options: TransportOptions, credentials: ClientCredentials): Agent {
  const { caPem: ca, insecureSkipTlsVerify = false, tlsServerName } = options;
  const { clientCertPem: cert, clientKeyPem: key } = credentials;
  if (ca !== undefined && insecureSkipTlsVerify) {
    throw new TypeError("caPem and insecureSkipTlsVerify exclude each other");
  }
  // Node reads an empty `ca` as "the roots of the runtime"; here it must mean that no CA is trusted.
  if (ca !== undefined && !ca.includes("-----BEGIN CERTIFICATE-----")) {
    throw new ConnectionError("INVALID_CA", "the certificate authority holds no PEM certificate");
  }
  try {
    const secureContext = createSecureContext({ minVersion: "TLSv1.2", ca, cert, key });
    return new Agent({
      keepAlive: true,
      maxSockets: Infinity,
      maxFreeSockets: socketsAtOnce,
      secureContext,
      rejectUnauthorized: !insecureSkipTlsVerify,
      ALPNProtocols: ["http/1.1"],
      ...(tlsServerName === undefined ? {} : nameOptions(tlsServerName)),
    });
  } catch (error) {
    throw connectionError(error, options.server);
  }
}

/** TLS cannot send an address as a server name, but the certificate must still be for it. @see RFC 6066, section 3 */
function nameOptions(name: string): Pick<TlsOptions, "servername" | "checkServerIdentity"> {
  if (isIP(name) === 0) return { servername: name };
  return { servername: "", checkServerIdentity: (_host, certificate) => checkServerIdentity(name, certificate) };
}

// Requests in progress finish; idle connections of the old identity are closed at once, and used ones are not reused.
function drain(agent: Agent): void {
  agent.maxFreeSockets = 0;
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

function reportServerCertificate({ socket }: IncomingMessage, seen: (leaf: Uint8Array) => void): void {
  const leaf = (socket as TLSSocket).getPeerX509Certificate();
  if (leaf !== undefined) seen(leaf.raw);
}

/** As whom a client asks to act; the server decides whether it may. */
export interface Impersonation {
  readonly user: string;
  readonly uid?: string | undefined;
  readonly groups: readonly string[];
  readonly extra: ReadonlyMap<string, readonly string[]>;
}

/** The impersonation headers of a request. @see client-go transport/round_trippers.go */
export function impersonationHeaders({ user, uid, groups, extra }: Impersonation): OutgoingHttpHeaders {
  return {
    "impersonate-user": user,
    ...(uid === undefined ? {} : { "impersonate-uid": uid }),
    ...(groups.length === 0 ? {} : { "impersonate-group": [...groups] }),
    ...Object.fromEntries([...extra].map(([key, values]) => [`impersonate-extra-${escapedKey(key)}`, [...values]])),
  };
}

/** Bytes that a header name cannot contain are percent-encoded. */
function escapedKey(key: string): string {
  return [...Buffer.from(key.toLowerCase(), "utf8")]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[!#$&'*+\-.^_`|~0-9a-z]/.test(character)
        ? character
        : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    })
    .join("");
}
