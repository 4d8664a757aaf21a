import { lookup as lookupHost } from "node:dns/promises";
import { Agent } from "node:https";
import {
  type CallWebhook,
  type ServiceReference,
  type WebhookCall,
  WebhookCallError,
  type WebhookClientConfig,
} from "../apimachinery/webhook-call.ts";
import { exchange, wholeBody } from "../client/exchange.ts";
import { connectThrough, requiredProxy } from "../client/proxy.ts";
import { errorText } from "../apimachinery/error-text.ts";
import { untrusted } from "./kubeconfig-target.ts";

export interface WebhookCallerOptions {
  /** The address of a Service; undefined for an unknown one. Default: the DNS of the machine. */
  readonly resolveService?: (service: ServiceReference) => Promise<{ readonly host: string } | undefined>;
  /** The proxy for an `https://` server, as text that may contain a password; undefined for a direct connection. Default: none. */
  readonly proxyOf?: (server: string) => string | undefined;
  /** The maximum size of a response, in bytes; default 16 MiB. */
  readonly maxBytes?: number;
}

/** Where to connect, through which proxy, and what certificate to expect there. */
interface Endpoint {
  readonly url: URL;
  readonly proxy: string | undefined;
  /** The name in the certificate, where it differs from the address. */
  readonly serverName?: string;
  readonly host: string;
  readonly ca: string | undefined;
}

const defaultMaxBytes = 16 << 20;
/** The maximum number of concurrent calls to one target; further ones wait, within their timeout. */
const connectionsPerTarget = 64;
const idleMs = 30_000;

/**
 * Calls webhooks over HTTP/1.1 and TLS 1.2 or later, trusting only the CAs of the configuration. Connections are reused for calls to the
 * same target. A proxy forwards the TLS connection and cannot read the call; behind a proxy, the proxy resolves a Service, as with
 * kube-apiserver. Redirects are not followed, so that only the configured webhook is called. `close` ends the connections.
 */
export function webhookCaller(options: WebhookCallerOptions = {}): { readonly call: CallWebhook; close(): void } {
  const { maxBytes = defaultMaxBytes, resolveService = resolveByDns, proxyOf = () => undefined } = options;
  const agents = agentsByProxy();
  return {
    call: async (call) => {
      const signal = AbortSignal.timeout(call.timeoutMs);
      const endpoint = await endpointOf(call, { resolveService: within(signal, resolveService), proxyOf });
      const shown = `Post ${JSON.stringify(endpoint.url.href)}`;
      try {
        return await post(call, endpoint, { agent: agents.of(endpoint.proxy), signal, maxBytes });
      } catch (error) {
        throw signal.aborted
          ? new WebhookCallError("timeout", `${shown}: context deadline exceeded`)
          : failure(error, shown);
      }
    },
    close: agents.close,
  };
}

/** One agent for each proxy, and one for none, is enough: it never shares a connection between calls of different CAs, names or addresses. */
function agentsByProxy(): { readonly of: (proxy: string | undefined) => Agent; readonly close: () => void } {
  const known = new Map<string | undefined, Agent>();
  const closing = new AbortController();
  return {
    of: (proxy) => {
      const found = known.get(proxy);
      if (found !== undefined) return found;
      const agent = new Agent({
        keepAlive: true,
        maxSockets: connectionsPerTarget,
        maxFreeSockets: 8,
        timeout: idleMs,
      });
      if (proxy !== undefined) connectThrough(agent, requiredProxy(proxy), { signal: closing.signal });
      known.set(proxy, agent);
      return agent;
    },
    close: () => {
      closing.abort();
      for (const agent of known.values()) agent.destroy();
    },
  };
}

/** A resolver may take any time and cannot be cancelled; a call waits for it no longer than for the webhook. */
function within(
  signal: AbortSignal,
  resolveService: NonNullable<WebhookCallerOptions["resolveService"]>,
): NonNullable<WebhookCallerOptions["resolveService"]> {
  return ({ name, namespace, ...rest }) =>
    new Promise((resolve, reject) => {
      const late = new WebhookCallError("timeout", `lookup ${name}.${namespace}.svc: context deadline exceeded`);
      signal.addEventListener("abort", () => reject(late), { once: true });
      resolveService({ name, namespace, ...rest }).then(resolve, reject);
    });
}

async function endpointOf(
  { config, announceTimeout, timeoutMs }: WebhookCall,
  { resolveService, proxyOf }: Required<Pick<WebhookCallerOptions, "resolveService" | "proxyOf">>,
): Promise<Endpoint> {
  const { url, service } = config;
  const ca = caOf(config);
  const query = announceTimeout === true ? `?timeout=${Math.ceil(timeoutMs / 1000)}s` : "";
  if (service !== undefined) {
    const serverName = `${service.name}.${service.namespace}.svc`;
    const target = new URL(`https://${serverName}:${service.port ?? 443}${service.path ?? ""}${query}`);
    const proxy = proxyOf(target.origin);
    if (proxy !== undefined) return { url: target, proxy, host: serverName, serverName, ca };
    const address = await resolveService(service);
    if (address === undefined) {
      const why = `no such host ${serverName}: this hub runs no Services; name the webhook by clientConfig.url`;
      throw new WebhookCallError("target", `Post ${JSON.stringify(target.href)}: dial tcp: ${why}`);
    }
    return { url: target, proxy, host: address.host, serverName, ca };
  }
  try {
    const target = new URL(`${url ?? ""}${query}`);
    if (target.protocol === "https:") {
      return { url: target, proxy: proxyOf(target.origin), host: target.hostname.replaceAll(/[[\]]/g, ""), ca };
    }
  } catch {
    // The error below covers an invalid URL.
  }
  throw new WebhookCallError("target", "webhook configuration must have either service or an https URL");
}

function caOf({ caBundle = "" }: WebhookClientConfig): string | undefined {
  if (caBundle === "") return undefined;
  const pem = Buffer.from(caBundle, "base64").toString("latin1");
  if (pem.includes("-----BEGIN CERTIFICATE-----")) return pem;
  throw new WebhookCallError("tls", "unable to load root certificates: unable to parse bytes as PEM block");
}

async function resolveByDns({ name, namespace }: ServiceReference): Promise<{ readonly host: string } | undefined> {
  try {
    const { address } = await lookupHost(`${name}.${namespace}.svc`);
    return { host: address };
  } catch {
    return undefined;
  }
}

interface Terms {
  readonly agent: Agent;
  readonly signal: AbortSignal;
  readonly maxBytes: number;
}

async function post(call: WebhookCall, endpoint: Endpoint, terms: Terms): Promise<unknown> {
  const { url, serverName, host, ca } = endpoint;
  const body = Buffer.from(JSON.stringify(call.body));
  const response = await exchange({
    method: "POST",
    agent: terms.agent,
    signal: terms.signal,
    host,
    port: url.port === "" ? 443 : Number(url.port),
    path: url.pathname + url.search,
    ...(serverName === undefined ? {} : { servername: serverName }),
    ...(ca === undefined ? {} : { ca }),
    minVersion: "TLSv1.2",
    rejectUnauthorized: true,
    headers: {
      host: url.host,
      "content-type": "application/json",
      accept: "application/json",
      "user-agent": "pratique-hub",
      ...(call.authorization === undefined ? {} : { authorization: call.authorization }),
    },
    body,
    staleRetries: 1,
  });
  if (response.statusCode !== 200 && response.statusCode !== 201) {
    response.destroy();
    throw new WebhookCallError("status", statusText(response.statusCode ?? 0));
  }
  const text = await wholeBody(response, terms.maxBytes);
  if (text === undefined) throw new WebhookCallError("body", `the answer is longer than ${terms.maxBytes} bytes`);
  return parsed(text.toString("utf8"));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The message of the parser would quote the response of the webhook.
    throw new WebhookCallError("body", "the answer is not JSON");
  }
}

const statusTexts: ReadonlyMap<number, string> = new Map([
  [401, "the server has asked for the client to provide credentials"],
  [403, "the server does not allow access to the requested resource"],
  [404, "the server could not find the requested resource"],
  [429, "the server has received too many requests and has asked us to try again later"],
]);

/** The message for a status code. Source: client-go's generic server responses, without the text of the webhook. */
function statusText(code: number): string {
  if (code >= 300 && code < 400) return `the webhook answered with a redirect (${code}), which is not followed`;
  if (code >= 500) return 'an error on the server ("unknown") has prevented the request from succeeding';
  return (
    statusTexts.get(code) ?? `the server responded with the status code ${code} but did not return more information`
  );
}

const distrusted: ReadonlyMap<string, string> = new Map([
  ...[...untrusted].map((code) => [code, "certificate signed by unknown authority"] as const),
  ["CERT_HAS_EXPIRED", "certificate has expired or is not yet valid"],
  ["CERT_NOT_YET_VALID", "certificate has expired or is not yet valid"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "certificate is valid for other names than this one"],
]);

const unreachable: ReadonlyMap<string, string> = new Map([
  ["ECONNREFUSED", "dial tcp: connect: connection refused"],
  ["ENOTFOUND", "dial tcp: lookup: no such host"],
  ["ECONNRESET", "EOF"],
  ["EPIPE", "EOF"],
  ["ERR_STREAM_PREMATURE_CLOSE", "EOF"],
]);

function failure(error: unknown, shown: string): WebhookCallError {
  if (error instanceof WebhookCallError) return error;
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
  const why = distrusted.get(code);
  if (why !== undefined) {
    return new WebhookCallError("tls", `${shown}: tls: failed to verify certificate: x509: ${why}`);
  }
  return new WebhookCallError(
    code.startsWith("ERR_SSL") || code === "EPROTO" ? "tls" : "unreachable",
    `${shown}: ${unreachable.get(code) ?? errorText(error)}`,
  );
}
