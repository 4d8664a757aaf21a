import { request as plainRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as tlsRequest, type Agent } from "node:https";
import type { Socket } from "node:net";
import { rootCertificates, type SecureContextOptions } from "node:tls";
import { systemErrorText } from "../apimachinery/system-error.ts";
import { ConnectionError } from "./client.ts";
import { noAnswer, socks5 } from "./socks5.ts";
import type { Duplex } from "node:stream";

/** A proxy for connections; user and password are secret. */
export interface Proxy {
  readonly kind: "http" | "https" | "socks5";
  readonly host: string;
  readonly port: number;
  readonly user: string | undefined;
  readonly password: string;
  /** Scheme, host and port, for messages. */
  readonly shown: string;
}

/** The trust anchors for a TLS proxy. */
export interface ProxyTrust {
  readonly caPem?: string | undefined;
  readonly insecureSkipTlsVerify?: boolean | undefined;
}

/** The target of a connection. */
export interface TunnelTarget {
  readonly host: string;
  readonly port: number;
}

const schemes: Readonly<Record<string, { readonly kind: Proxy["kind"]; readonly port: number }>> = {
  "http:": { kind: "http", port: 80 },
  "https:": { kind: "https", port: 443 },
  "socks5:": { kind: "socks5", port: 1080 },
  // Names are always resolved by the proxy, as Go does.
  "socks5h:": { kind: "socks5", port: 1080 },
};

/** The timeout of the whole connection through a proxy, in milliseconds. */
const silenceMs = 30_000;

/** Parses the URL of a proxy; undefined where it is invalid, or its scheme is not supported. */
export function parseProxy(text: string): Proxy | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const scheme = url === undefined ? undefined : schemes[url.protocol];
  if (url === undefined || scheme === undefined || url.hostname === "") return undefined;
  const user = decoded(url.username);
  const password = decoded(url.password);
  if (user === undefined || password === undefined) return undefined;
  const port = url.port === "" ? scheme.port : Number(url.port);
  return {
    kind: scheme.kind,
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port,
    user: user === "" ? undefined : user,
    password,
    shown: `${scheme.kind}://${url.hostname}:${port}`,
  };
}

/** A connection to `target` through a proxy; nothing was sent on it. @throws ConnectionError PROXY that names the proxy, and ABORTED */
async function throughProxy(
  proxy: Proxy,
  target: TunnelTarget,
  options: ProxyTrust & { readonly signal: AbortSignal },
): Promise<Socket> {
  try {
    return proxy.kind === "socks5"
      ? await socks5(proxy, target, { signal: options.signal, silenceMs })
      : await httpConnect(proxy, target, options);
  } catch (error) {
    if (error instanceof ConnectionError) throw error;
    const why = systemErrorText(error, { operation: "connect", at: `the proxy ${proxy.shown}` });
    throw new ConnectionError("PROXY", `${why}; see proxy-url in the kubeconfig, or HTTPS_PROXY and NO_PROXY`, {
      cause: error,
    });
  }
}

function httpConnect(
  proxy: Proxy,
  { host, port }: TunnelTarget,
  { signal, ...trust }: ProxyTrust & { readonly signal: AbortSignal },
): Promise<Socket> {
  const authority = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const options: RequestOptions = {
    host: proxy.host,
    port: proxy.port,
    method: "CONNECT",
    path: authority,
    headers: { host: authority, ...authorization(proxy) },
    agent: false,
    signal,
    timeout: silenceMs,
  };
  return new Promise((resolve, reject) => {
    const request =
      proxy.kind === "http"
        ? plainRequest(options)
        : tlsRequest({ ...options, ...tlsOptions(trust), rejectUnauthorized: trust.insecureSkipTlsVerify !== true });
    request.once("connect", (reply: IncomingMessage, socket: Socket, head: Buffer) => {
      socket.setTimeout(0);
      if (reply.statusCode === 200) {
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
        return;
      }
      socket.destroy();
      reject(refused(proxy, authority, reply.statusCode ?? 0));
    });
    request.once("response", (reply) => {
      reply.destroy();
      reject(refused(proxy, authority, reply.statusCode ?? 0));
    });
    request.once("timeout", () => request.destroy(noAnswer(proxy)));
    request.once("error", reject);
    request.end();
  });
}

function refused(proxy: Proxy, authority: string, status: number): ConnectionError {
  const next =
    status === 407
      ? "it wants a user and a password: http://USER:PASSWORD@HOST:PORT"
      : "see what it allows, and which addresses NO_PROXY leaves out";
  return new ConnectionError(
    "PROXY",
    `the proxy ${proxy.shown} refuses to connect to ${authority} (status ${status}); ${next}`,
  );
}

function authorization({ user, password }: Proxy): Readonly<Record<string, string>> {
  if (user === undefined) return {};
  const credential = Buffer.from(`${user}:${password}`, "utf8").toString("base64");
  return { "proxy-authorization": `Basic ${credential}` };
}

/** The kubeconfig's CA, as with Go, or a public root may verify the proxy; only the former verifies the server behind it. */
function tlsOptions({ caPem }: ProxyTrust): SecureContextOptions {
  return { minVersion: "TLSv1.2", ...(caPem === undefined ? {} : { ca: [caPem, ...rootCertificates] }) };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

type Connect = Agent["createConnection"];

/** Parses the URL of a proxy. @throws ConnectionError INVALID_PROXY, which does not repeat the text: it may contain a password. */
export function requiredProxy(text: string): Proxy {
  const proxy = parseProxy(text);
  if (proxy === undefined) {
    throw new ConnectionError(
      "INVALID_PROXY",
      "the proxy must be a URL that begins with http://, https:// or socks5://",
    );
  }
  return proxy;
}

/** Routes each new connection of `agent` through the proxy, with TLS to the server itself inside. Connecting ends with `signal`. */
export function connectThrough(
  agent: Agent,
  proxy: Proxy,
  options: ProxyTrust & { readonly signal: AbortSignal },
): void {
  const direct = agent.createConnection.bind(agent);
  const tunnelled: Connect = (connection, connected) => {
    const { host, port } = connection as { readonly host?: string | null; readonly port?: number | string | null };
    throughProxy(proxy, { host: host ?? "", port: Number(port) }, options).then(
      // Over that socket the agent does what it does on its own: TLS with the server itself.
      (socket) => connected?.(null, direct(Object.assign(connection, { socket })) as Duplex),
      (error: Error) => connected?.(error, undefined as never),
    );
    return undefined;
  };
  agent.createConnection = tunnelled;
}
